// Operators that a backend's pool of threads runs, where only the order of names matches. Which thread of the pool
// takes a communication differs from step to step, so threads do not match. In the Kineto trace, the record of a
// communication ("gloo:all_gather") is on the thread that runs it, before its operators. The host trace has the record
// on the thread of the caller; its operators follow in one piece, on a thread of the pool.
#include "chakra/link/pool.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

namespace chakra::link {
namespace {

/// Records of one name begin in the order of their calls, except for those that run at the same time.
/// A record of other sizes than its place in the order has is looked for among this many.
constexpr size_t kMostAtATime = 64;

std::vector<int64_t> sizes_of(const ArgumentTexts& texts) {
  std::vector<int64_t> sizes;
  for (const TensorRef& tensor : read_comm_record(texts)) sizes.push_back(tensor.elements);
  return sizes;
}

std::string_view inputs_of(const HostTrace& host, uint32_t h) { return host.io(host.ops[h]).inputs.values; }

}  // namespace

bool runs_on_pool(const Linking& l, const CpuOp& op) {
  if (!op.host_comm) return false;
  const trace::NodeType type = comm_kind(after_colon(l.text(op.name))).type;
  return type != trace::NodeType::send && type != trace::NodeType::recv;  // those are on the thread of the caller
}

Pool::Pool(const Linking& l, std::vector<std::vector<uint32_t>> threads, const std::vector<uint32_t>& lanes,
           const std::vector<std::vector<uint32_t>>& ops)
    : l_(l), shapes_(l), threads_(std::move(threads)), lanes_(lanes), ops_(ops) {
  for (const uint32_t lane : lanes_) list_items(lane);
  has_operators_ = !items_before_.empty() ||
                   std::any_of(items_.begin(), items_.end(), [](const Item& item) { return item.last > item.first; });
  std::stable_sort(items_.begin(), items_.end(),
                   [&](const Item& a, const Item& b) { return start(a.record) < start(b.record); });
  absl::flat_hash_set<StringId> names;
  for (const Item& item : items_) names.insert(name(item));
  for (const uint32_t h : ops_by_id(l_.host())) {
    const HostOp& op = l_.host().ops[h];
    if (!is_host_comm(l_, op) || !names.contains(op.name)) continue;
    const trace::Tensors inputs = l_.host().io(op).inputs;
    by_call_.push_back(records_.size());
    records_.push_back({h, sizes_of({inputs.values, l_.text(inputs.shapes), l_.text(inputs.types)}), 0});
  }
  // A record gets its record-function id when the call is made, and its place in the file when it begins.
  const auto rf_id = [&](size_t r) { return l_.host().ops[records_[r].row].rf_id; };
  if (std::all_of(by_call_.begin(), by_call_.end(), [&](size_t r) { return rf_id(r) != 0; }))
    std::stable_sort(by_call_.begin(), by_call_.end(), [&](size_t a, size_t b) { return rf_id(a) < rf_id(b); });
  for (const CpuOp& op : l_.profile().ops)
    if (const CommCallRow* row = find_comm_call(l_.text(op.name)); row && !row->by_messages)
      calls_.push_back(op.start_ns);
  std::sort(calls_.begin(), calls_.end());
}

void Pool::list_items(uint32_t lane) {
  const std::vector<uint32_t>& ops = ops_[lane];
  size_t at = 0;
  const size_t first = items_.size();
  for (const uint32_t row : l_.threads.ops[lane]) {
    const CpuOp& op = l_.profile().ops[row];
    if (op.host_comm) {
      ArgumentTexts texts;
      if (op.comm != trace::kNoRow) texts = {{}, l_.profile().comms[op.comm].dims, l_.profile().comms[op.comm].types};
      items_.push_back({row, lane, at, at, sizes_of(texts)});
    } else if (at < ops.size() && ops[at] == row) {
      ++at;
      if (items_.size() > first) items_.back().last = at;
      else items_before_.push_back(row);
    }
  }
}

int64_t Pool::host_ops() const {
  size_t count = 0;
  for (const std::vector<uint32_t>& thread : threads_) count += thread.size();
  return static_cast<int64_t>(count);
}

int64_t Pool::start(uint32_t row) const { return l_.profile().ops[row].start_ns; }
StringId Pool::name(const Item& item) const { return l_.profile().ops[item.record].name; }
uint64_t Pool::id(uint32_t h) const { return l_.host().ops[h].id; }

std::optional<PoolPart> Pool::find(int64_t begin, int64_t next) {
  const auto first =
      std::partition_point(items_.begin(), items_.end(), [&](const Item& item) { return start(item.record) < begin; });
  const auto last =
      std::partition_point(first, items_.end(), [&](const Item& item) { return start(item.record) < next; });
  if (runs_on_from_before(begin, next, static_cast<size_t>(first - items_.begin()))) return std::nullopt;
  const auto from = static_cast<size_t>(first - items_.begin()), to = static_cast<size_t>(last - items_.begin());
  if (!pair_records(from, to)) return std::nullopt;
  std::optional<PoolPart> part = attribute();
  if (part) part->undecided += count_undecided(begin, from, to);
  return part;
}

/// Communications that another thread may have taken from the queue before an equal one of a later call, but begun
/// after it. `begin`: of the iteration, whose communications are the items [from, to).
int64_t Pool::count_undecided(int64_t begin, size_t from, size_t to) const {
  int64_t count = 0;
  const auto first_call = std::lower_bound(calls_.begin(), calls_.end(), begin);
  for (size_t i = from; i < to; ++i) {
    const auto called =
        static_cast<size_t>(std::upper_bound(first_call, calls_.end(), start(items_[i].record)) - first_call);
    const size_t end = std::min(to, from + called);
    for (size_t k = i + 1; k < end; ++k)
      if (may_be_exchanged(i, k)) {
        ++count;
        break;
      }
  }
  return count;
}

bool Pool::may_be_exchanged(size_t i, size_t later) const {
  const Item &a = items_[i], &b = items_[later];
  if (a.lane == b.lane || name(a) != name(b) || a.sizes != b.sizes) return false;
  if (static_cast<int64_t>(lanes_.size()) > kThreadsOfGroup) return true;  // queues of several groups
  size_t before = later;
  while (before-- > 0)
    if (items_[before].lane == b.lane) break;
  if (before == SIZE_MAX) return true;
  const Record& last = l_.profile().ops[items_[before].record];
  return before < i && last.end_ns() <= start(a.record);  // else its thread was busy
}

/// Whether an operator in the iteration belongs to a communication that began before the iteration: the host trace has
/// either none of it, or its end.
bool Pool::runs_on_from_before(int64_t begin, int64_t next, size_t first) {
  const auto inside = [&](uint32_t row) {
    if (start(row) < begin || start(row) >= next) return false;
    why_ = fmt::format("{} runs for a communication that an earlier iteration began",
                       quote(l_.text(l_.profile().ops[row].name)));
    return true;
  };
  if (std::any_of(items_before_.begin(), items_before_.end(), inside)) return true;
  absl::flat_hash_set<uint32_t> seen;  // lanes: only the last communication before may last until then
  for (size_t i = first; i-- > 0 && seen.size() < lanes_.size();) {
    const Item& item = items_[i];
    if (!seen.insert(item.lane).second) continue;
    const std::vector<uint32_t>& ops = ops_[item.lane];
    if (std::any_of(ops.begin() + static_cast<int64_t>(item.first), ops.begin() + static_cast<int64_t>(item.last),
                    inside))
      return true;
  }
  return false;
}

/// Give each record of the host trace one of the items [first, last): of the same name, in order.
bool Pool::pair_records(size_t first, size_t last) {
  absl::flat_hash_map<StringId, std::pair<std::vector<size_t>, std::vector<size_t>>> by_name;  // of the host, items
  for (const size_t r : by_call_) by_name[l_.host().ops[records_[r].row].name].first.push_back(r);
  for (size_t i = first; i < last; ++i) by_name[name(items_[i])].second.push_back(i);
  for (const auto& [name, both] : by_name) {
    const auto& [records, items] = both;
    if (records.size() != items.size()) {
      why_ = fmt::format("the host trace has {} records {}, the iteration {}", records.size(), quote(l_.text(name)),
                         items.size());
      return false;
    }
    if (pair_by_sizes(records, items)) continue;
    for (size_t k = 0; k < records.size(); ++k) records_[records[k]].item = items[k];
  }
  return true;
}

bool Pool::pair_by_sizes(const std::vector<size_t>& records, const std::vector<size_t>& items) {
  std::vector<char> taken(items.size(), 0);
  size_t begin = 0;  // all items before it are taken
  for (const size_t r : records) {
    while (begin < items.size() && taken[begin]) ++begin;
    const size_t end = std::min(items.size(), begin + kMostAtATime);
    size_t k = begin;
    while (k < end && (taken[k] || items_[items[k]].sizes != records_[r].sizes)) ++k;
    if (k == end) return false;
    taken[k] = 1;
    records_[r].item = items[k];
  }
  return true;
}

/// Whether the operators of an item come next on a thread of the host trace, after its record.
bool Pool::fits(const HostRecord& record, size_t thread) const {
  const Item& item = items_[record.item];
  const std::vector<uint32_t>& rows = threads_[thread];
  const size_t count = item.last - item.first;
  if (rows.size() - done_[thread] < count || id(rows[done_[thread]]) < id(record.row)) return false;
  for (size_t i = 0; i < count; ++i)
    if (l_.host().ops[rows[done_[thread] + i]].name != l_.profile().ops[ops_[item.lane][item.first + i]].name)
      return false;
  return true;
}

bool Pool::same_shapes(const HostRecord& record, size_t thread) {
  const Item& item = items_[record.item];
  for (size_t i = 0; i < item.last - item.first; ++i)
    if (shapes_.differ(ops_[item.lane][item.first + i], threads_[thread][done_[thread] + i])) return false;
  return true;
}

bool Pool::same_tensor(const HostRecord& record, size_t thread) const {
  const Item& item = items_[record.item];
  const std::vector<TensorRef> wanted = parse_tensors(inputs_of(l_.host(), record.row));
  for (size_t i = 0; i < item.last - item.first; ++i)
    for (const TensorRef& tensor : parse_tensors(inputs_of(l_.host(), threads_[thread][done_[thread] + i])))
      if (std::any_of(wanted.begin(), wanted.end(), [&](const TensorRef& other) { return other.id == tensor.id; }))
        return true;
  return false;
}

/// The thread of the host trace whose next operators are those of record `r`. Of several, those of its sizes and with
/// its tensors, then the one that began first.
std::optional<size_t> Pool::thread_of(size_t r, int64_t& undecided) {
  std::vector<size_t> threads;
  for (size_t t = 0; t < threads_.size(); ++t)
    if (done_[t] < threads_[t].size() && fits(records_[r], t)) threads.push_back(t);
  const auto keep = [&](const auto& holds) {
    std::vector<size_t> kept;
    if (threads.size() < 2) return;
    std::copy_if(threads.begin(), threads.end(), std::back_inserter(kept), holds);
    if (!kept.empty()) threads = std::move(kept);
  };
  keep([&](size_t t) { return same_shapes(records_[r], t); });
  keep([&](size_t t) { return same_tensor(records_[r], t); });
  if (threads.empty()) return std::nullopt;
  const size_t found = *std::min_element(threads.begin(), threads.end(), [&](size_t a, size_t b) {
    return id(threads_[a][done_[a]]) < id(threads_[b][done_[b]]);
  });
  if (threads.size() > 1)
    for (size_t later = r + 1; later < records_.size(); ++later) {
      if (id(records_[later].row) > id(threads_[found][done_[found]])) break;
      const Item& item = items_[records_[later].item];
      if (item.last == item.first || !fits(records_[later], found)) continue;
      ++undecided;
      break;
    }
  return found;
}

std::optional<PoolPart> Pool::attribute() {
  PoolPart part;
  done_.assign(threads_.size(), 0);
  for (size_t r = 0; r < records_.size(); ++r) {
    const Item& item = items_[records_[r].item];
    part.pairs.emplace_back(item.record, records_[r].row);
    if (item.first == item.last) continue;
    const std::optional<size_t> thread = thread_of(r, part.undecided);
    if (!thread) {
      const HostOp& op = l_.host().ops[records_[r].row];
      why_ = fmt::format("no thread of the host trace has the {} operators of {} (node {}) next",
                         item.last - item.first, quote(l_.text(op.name)), op.id);
      return std::nullopt;
    }
    for (size_t i = item.first; i < item.last; ++i)
      part.pairs.emplace_back(ops_[item.lane][i], threads_[*thread][done_[*thread]++]);
  }
  for (size_t t = 0; has_operators_ && t < threads_.size(); ++t)
    if (done_[t] < threads_[t].size()) {
      const HostOp& op = l_.host().ops[threads_[t][done_[t]]];
      why_ = fmt::format("{} (node {}) belongs to no communication", quote(l_.text(op.name)), op.id);
      return std::nullopt;
    }
  return part;
}

}  // namespace chakra::link
