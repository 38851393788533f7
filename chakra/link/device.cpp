// Which runtime call launched which device operation, from which operator, and the order in which the
// streams ran them.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

#include "chakra/base/row_map.h"
#include "chakra/link/device_parts.h"
#include "chakra/link/matching.h"

namespace chakra::link {
namespace {

/// Times of one stream, by one clock, contradict each other by no more than the rounding of large doubles.
constexpr int64_t kRoundingNs = 500;

/// Rows of `records` per lane, by start; where starts tie, the longer (the caller) first.
template <class R>
std::vector<std::vector<uint32_t>> by_lane(const std::vector<R>& records, size_t lanes) {
  std::vector<std::vector<uint32_t>> rows(lanes);
  for (uint32_t i = 0; i < records.size(); ++i) rows[records[i].lane].push_back(i);
  for (auto& lane : rows)
    sort_rows(lane, [&](uint32_t a, uint32_t b) {
      const R &x = records[a], &y = records[b];
      if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
      if (x.dur_ns != y.dur_ns) return x.dur_ns > y.dur_ns;
      return x.byte < y.byte;
    });
  return rows;
}

void join_by_correlation(Linking& l) {
  Profile& p = l.profile();
  RowMap call_of(p.calls, &number_of);
  int64_t twice = 0, first_byte = 0;
  for (uint32_t i = 0; i < p.calls.size(); ++i) {
    if (p.calls[i].correlation < 0) continue;
    uint32_t& call = call_of[p.calls[i].correlation];
    if (call != kNone) {
      if (twice == 0) first_byte = p.calls[i].byte;
      ++twice;  // a driver call inside the runtime call of the same number: the inner one launches
      if (p.calls[i].start_ns < p.calls[call].start_ns) continue;
    }
    call = i;
  }
  if (twice > 0)
    l.find("pytorch.kineto.correlation_twice", Severity::note,
           fmt::format("{} runtime calls share their correlation with another one, the first at {} @{}",
                       show_count(twice), p.file, first_byte));

  l.waits.roles.assign(p.calls.size(), {});
  l.device.call_of_op.assign(p.device_ops.size(), kNone);
  std::vector<uint32_t> count(p.calls.size(), 0);
  for (uint32_t i = 0; i < p.device_ops.size(); ++i)
    if (const int64_t correlation = p.device_ops[i].correlation; correlation >= 0)
      l.device.call_of_op[i] = call_of.find(correlation);
  join_by_order(l);
  for (uint32_t i = 0; i < p.device_ops.size(); ++i)
    if (l.device.call_of_op[i] != kNone) ++count[l.device.call_of_op[i]];
  // Grouped by call, each group by start.
  uint32_t next = 0;
  std::vector<uint32_t> fill(p.calls.size());
  for (uint32_t c = 0; c < p.calls.size(); ++c) {
    fill[c] = next;
    if (count[c] > 0) {
      l.waits.roles[c].first_op = next;
      l.waits.roles[c].last_op = next + count[c];
    }
    next += count[c];
  }
  l.device.op_order.resize(next);
  for (uint32_t i = 0; i < p.device_ops.size(); ++i)
    if (l.device.call_of_op[i] != kNone) l.device.op_order[fill[l.device.call_of_op[i]]++] = i;
  for (uint32_t c = 0; c < p.calls.size(); ++c) {
    CallRole& role = l.waits.roles[c];
    if (role.launched() > 1)
      std::sort(l.device.op_order.begin() + role.first_op, l.device.op_order.begin() + role.last_op,
                [&](uint32_t a, uint32_t b) {
                  return std::pair(p.device_ops[a].start_ns, a) < std::pair(p.device_ops[b].start_ns, b);
                });
    role.graph = role.launched() > 0 && launches_graph(l.text(p.calls[c].name));
  }
}

/// One sweep per thread over operators and calls: who is inside whom.
void find_enclosing(Linking& l) {
  const Profile& p = l.profile();
  l.threads.parent_op.assign(p.ops.size(), kNone);
  l.threads.enclosing_op.assign(p.calls.size(), kNone);
  std::vector<uint32_t> open;
  for (size_t thread = 0; thread < p.threads.size(); ++thread) {
    open.clear();
    size_t call = 0;
    const auto& ops = l.threads.ops[thread];
    const auto& calls = l.threads.calls[thread];
    const auto calls_until = [&](int64_t time) {
      for (; call < calls.size() && p.calls[calls[call]].start_ns < time; ++call) {
        while (!open.empty() && p.ops[open.back()].end_ns() <= p.calls[calls[call]].start_ns) open.pop_back();
        if (!open.empty()) l.threads.enclosing_op[calls[call]] = open.back();
      }
    };
    for (const uint32_t op : ops) {
      calls_until(p.ops[op].start_ns);
      while (!open.empty() && p.ops[open.back()].end_ns() <= p.ops[op].start_ns) open.pop_back();
      if (!open.empty()) l.threads.parent_op[op] = open.back();
      open.push_back(op);
    }
    calls_until(std::numeric_limits<int64_t>::max());
  }
}

/// The one before on a stream is the last to end of those that had ended. Others may still have run:
/// operations of a graph, and kernels that programmatic dependent launch lets begin before the end of the
/// one before them.
void order_stream(Linking& l, const std::vector<uint32_t>& stream) {
  const auto end_of = [&](uint32_t op) { return l.profile().device_ops[op].end_ns(); };
  using Entry = std::pair<int64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> running;  // by end
  std::vector<uint32_t> begun;  // by start; those at its back that ended are dropped
  uint32_t last = kNone;
  for (const uint32_t op : stream) {
    const int64_t begin = l.profile().device_ops[op].start_ns + kRoundingNs;
    for (; !running.empty() && running.top().first <= begin; running.pop())
      if (last == kNone || running.top().first > end_of(last)) last = running.top().second;
    while (!begun.empty() && end_of(begun.back()) <= begin) begun.pop_back();
    l.device.previous[op] = last;
    if (!begun.empty()) l.device.overlaps.push_back({op, begun.back(), true});
    running.push({end_of(op), op});
    begun.push_back(op);
  }
}

/// Calls that launched nothing, although calls of that name do in this recording; of a recording without any device
/// operation, those whose name says so.
void find_idle_launches(Linking& l) {
  const bool none = l.profile().device_ops.empty();
  absl::flat_hash_set<StringId> launching;
  for (size_t call = 0; call < l.waits.roles.size(); ++call)
    if (l.waits.roles[call].launched() > 0) launching.insert(l.profile().calls[call].name);
  std::map<StringId, int64_t> idle;
  int64_t count = 0;
  for (size_t call = 0; call < l.waits.roles.size(); ++call)
    if (l.waits.roles[call].launched() == 0 && (launching.contains(l.profile().calls[call].name) ||
                                                (none && is_launch(l.text(l.profile().calls[call].name))))) {
      ++idle[l.profile().calls[call].name];
      ++count;
    }
  if (count == 0) return;
  std::string names;
  for (const auto& [name, of] : idle) names += fmt::format("{}{} {}", names.empty() ? "" : ", ", of, l.text(name));
  l.find("pytorch.device.no_operation", none ? Severity::warning : Severity::note,
         fmt::format("{} launching calls have no device operation in the recording{}: {}", show_count(count),
                     none ? ", which has no device operations at all (also record ProfilerActivity.CUDA)" : "", names));
}

/// Names repeat, so each is looked up once.
void find_comm_kernels(Linking& l) {
  absl::flat_hash_map<StringId, const CommKernelRow*> rows;
  for (const DeviceOp& op : l.profile().device_ops) {
    const auto [row, added] = rows.try_emplace(op.name);
    if (added) row->second = comm_kernel(l.text(op.name));
    l.device.comm_kernel.push_back(row->second);
  }
}

}  // namespace

/// Ids are given out as operators begin, so where starts tie they tell the caller from the callee. Without
/// them the longer is the caller.
void sort_thread_ops(Linking& l) {
  const std::vector<CpuOp>& ops = l.profile().ops;
  l.threads.ops = by_lane(ops, l.profile().threads.size());
  for (auto& thread : l.threads.ops) {
    const auto by = [&](auto id) {
      sort_rows(thread, [&](uint32_t a, uint32_t b) {
        return std::pair(ops[a].start_ns, id(ops[a])) < std::pair(ops[b].start_ns, id(ops[b]));
      });
    };
    if (std::all_of(thread.begin(), thread.end(), [&](uint32_t op) { return ops[op].rf_id != 0; }))
      by([](const CpuOp& op) { return op.rf_id; });
    else if (std::all_of(thread.begin(), thread.end(), [&](uint32_t op) { return ops[op].external_id >= 0; }))
      by([](const CpuOp& op) { return op.external_id; });
  }
}

void attach_device_ops(Linking& l) {
  const Profile& p = l.profile();
  sort_thread_ops(l);
  l.threads.calls = by_lane(p.calls, p.threads.size());
  l.device.stream_ops = by_lane(p.device_ops, p.streams.size());
  for (const trace::Lane& stream : p.streams) l.device.several_devices |= stream.process != p.streams[0].process;
  l.device.ops_by_end.resize(p.device_ops.size());
  std::iota(l.device.ops_by_end.begin(), l.device.ops_by_end.end(), 0);
  sort_rows(l.device.ops_by_end, [&](uint32_t a, uint32_t b) {
    return std::pair(p.device_ops[a].end_ns(), a) < std::pair(p.device_ops[b].end_ns(), b);
  });
  find_enclosing(l);
  find_comm_kernels(l);
  join_by_correlation(l);

  l.threads.launches.assign(p.threads.size(), {});
  for (size_t thread = 0; thread < p.threads.size(); ++thread)
    for (const uint32_t call : l.threads.calls[thread])
      if (l.waits.roles[call].launched() > 0) l.threads.launches[thread].push_back(call);

  l.device.previous.assign(p.device_ops.size(), kNone);
  for (const auto& stream : l.device.stream_ops) order_stream(l, stream);

  find_idle_launches(l);
  l.report.device_ops = static_cast<int64_t>(p.device_ops.size());
  for (uint32_t i = 0; i < p.device_ops.size(); ++i) {
    const uint32_t call = l.device.call_of_op[i];
    if (call == kNone) ++l.report.launched_before;
    else if (l.threads.enclosing_op[call] != kNone) ++l.report.attached_device_ops;
  }
}

}  // namespace chakra::link
