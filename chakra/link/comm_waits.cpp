// What waits for communication that CPU threads carry out.
// Reads: host_comms, chains, tensors of operators. Fills: deps of the kinds comm and data; shrinks gaps, cuts items.
//
// A backend's thread was idle until c10d's call asked for the communication. Who waited for it is
// - an operator whose business is to wait (wait_tensor), for the communication of whose output it takes the tensors;
// - the call itself, where it returns with the communication done (monitored_barrier_);
// - the gap of the calling thread in which the communication ended, unless much followed in that gap, its tensors are
//   read later, and either the thread waited for another communication in between or the gap is all of an annotation
//   that began after the call and is never a wait: then the operator that reads them, or what follows the gap, waited;
// - the gap before the first operator that reads its tensors.
// What ended after the waiter went on was not waited for.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <tuple>

#include "chakra/link/chain_editor.h"

namespace chakra::link {
namespace {

using trace::EdgeKind;

constexpr int64_t kCommWaitNs = 50'000;     ///< shorter gaps are no waits for communication
constexpr int64_t kLateRecordNs = 500'000;  ///< how much later than the completion a record may end
constexpr int64_t kSoonNs = 300'000;        ///< after a wait of any length
constexpr int64_t kSoonPart = 5;            ///< or this part of a long one

struct Comm {
  uint32_t record = 0, call = 0;
  int64_t start = 0, end = 0;
  bool sends = false, blocks = false, part = false;
  bool awaited = false;           ///< by an operator that waits
  std::vector<int64_t> storages;  ///< of what comes out
};

std::vector<int64_t> storages_of(const Linking& l, const HostComm& comm, const CommCallRow& row) {
  std::vector<TensorRef> tensors;
  if (l.match.host_of_op[comm.call] != kNone) tensors = read_comm_call(row, l.arguments_of(comm.call)).out;
  if (tensors.empty() && l.match.host_of_op[comm.record] != kNone)
    tensors = read_comm_record(l.arguments_of(comm.record));
  std::vector<int64_t> storages;
  for (const TensorRef& tensor : tensors)
    if (tensor.storage != 0) storages.push_back(tensor.storage);
  return storages;
}

std::vector<int64_t> inputs_of(const Linking& l, uint32_t op) {
  std::vector<int64_t> storages;
  for (const TensorRef& tensor : parse_tensors(l.host().io(l.host().ops[l.match.host_of_op[op]]).inputs.values))
    storages.push_back(tensor.storage);
  return storages;
}

bool starts_before(const Profile& p, uint32_t a, uint32_t b) {
  return std::tuple(p.ops[a].start_ns, p.ops[a].lane, a) < std::tuple(p.ops[b].start_ns, p.ops[b].lane, b);
}

using Readers = absl::flat_hash_map<int64_t, std::vector<uint32_t>>;  ///< storage -> operators

/// Which operators have a storage that some communication fills among their inputs, by start.
Readers index_readers(const Linking& l, const std::vector<Comm>& comms) {
  const Profile& p = l.profile();
  Readers readers;
  for (const Comm& comm : comms)
    for (const int64_t storage : comm.storages) readers[storage];
  if (readers.empty()) return readers;
  for (uint32_t op = 0; op < p.ops.size(); ++op) {
    if (l.match.host_of_op[op] == kNone || p.ops[op].host_comm || l.graph.items[l.graph.item_of_op[op]].inside)
      continue;
    for (const int64_t storage : inputs_of(l, op))
      if (const auto found = readers.find(storage);
          found != readers.end() && (found->second.empty() || found->second.back() != op))
        found->second.push_back(op);
  }
  for (auto& [storage, ops] : readers)
    std::sort(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) { return starts_before(p, a, b); });
  return readers;
}

bool is_piece(const Item& it) { return it.kind == Item::Kind::op || it.kind == Item::Kind::op_rest; }

/// Whether a gap ends so soon after communication that it may have been the wait for it.
bool is_soon(int64_t begin, int64_t comm_end, int64_t end) {
  return end - comm_end <= std::max(kSoonNs, (end - begin) / kSoonPart);
}

class CommWaits : ChainEditor {
 public:
  explicit CommWaits(Linking& l) : ChainEditor(l), p_(l.profile()) {}

  void run() {
    collect();
    for (const Comm& comm : comms_) begin_after(comm);
    find_blocking_calls();
    find_wait_operators();
    note_ends_in_gaps();
    for (const Comm& comm : comms_)
      if (!comm.awaited) wait_for(comm);
  }

 private:
  // ---- what there is -------------------------------------------------------------------------------------

  void collect() {
    for (const HostComm& comm : l_.comms.host_comms) {
      if (comm.call == kNone || p_.ops[comm.call].lane == p_.ops[comm.record].lane) continue;
      const CpuOp& record = p_.ops[comm.record];
      const CommCallRow& row = *find_comm_call(l_.text(p_.ops[comm.call].name));
      Comm c;
      c.record = comm.record;
      c.call = comm.call;
      c.start = record.start_ns;
      c.end = record.end_ns();
      c.part = comm.part();
      c.blocks = row.by_messages;
      c.sends = row.kind.type == trace::NodeType::send;
      c.awaited = c.part;
      if (!c.sends && !c.part && l_.recording.has_host) c.storages = storages_of(l_, comm, row);
      comms_.push_back(std::move(c));
    }
    std::sort(comms_.begin(), comms_.end(),
              [](const Comm& a, const Comm& b) { return std::tie(a.end, a.record) < std::tie(b.end, b.record); });
    for (uint32_t comm = 0; comm < comms_.size(); ++comm) {
      asked_by_[p_.ops[comms_[comm].call].lane].push_back(comm);
      for (const int64_t storage : comms_[comm].storages) fills_[storage].push_back(comm);
    }
    for (auto& [storage, of] : fills_)
      std::stable_sort(of.begin(), of.end(), [&](uint32_t a, uint32_t b) {
        return p_.ops[comms_[a].call].start_ns < p_.ops[comms_[b].call].start_ns;
      });
    readers_ = index_readers(l_, comms_);
  }

  // ---- its beginning and its end -------------------------------------------------------------------------

  /// What remains of the backend's gap is the hand-over. The communication may begin before the call returns: then the
  /// call is cut there.
  void begin_after(const Comm& comm) {
    const CpuOp &c = p_.ops[comm.record], &call = p_.ops[comm.call];
    const auto& chain = l_.graph.chains[call.lane];
    uint32_t on = l_.graph.item_of_op[comm.call];
    while (item(on).inside) on = item(on).of;  // what is called when communication ends, on its thread
    for (size_t at = position_at(call.lane, call.start_ns); at < chain.size(); ++at) {
      const Item& it = item(chain[at]);
      if (it.start >= c.start_ns || it.start >= call.end_ns()) break;
      if (it.start >= call.start_ns) on = chain[at];
    }
    if (item(on).start < c.start_ns && item(on).end() > c.start_ns) cut(on, c.start_ns);
    const uint32_t gap = gap_at(c.lane, c.start_ns);
    if (gap != kNone) shrink_gap(gap, item(on).end());
    dep(gap != kNone ? gap : l_.graph.item_of_op[comm.record], on, EdgeKind::comm, false);
  }

  uint32_t last_piece(uint32_t self) {
    uint32_t last = self;
    const CpuOp& op = p_.ops[item(self).record];
    const auto& chain = l_.graph.chains[item(self).lane];
    for (size_t at = position_at(op.lane, item(self).end()); at < chain.size() && item(chain[at]).start <= op.end_ns();
         ++at)
      if (item(chain[at]).continues() && item(chain[at]).of == self) last = chain[at];
    return last;
  }

  /// The item that is over when the communication had completed, at `time`: its record may go on.
  uint32_t completed(const Comm& comm, int64_t time) {
    const uint32_t last = last_piece(l_.graph.item_of_op[comm.record]);
    if (item(last).start < time && item(last).end() > time) cut(last, time);
    return last;
  }

  // ---- operators that wait -------------------------------------------------------------------------------

  /// The piece of an operator in which `time` lies keeps only what follows. Whether there is one.
  bool wait_inside(uint32_t op, int64_t time, const Comm& comm) {
    const uint32_t lane = p_.ops[op].lane;
    for (size_t at = position_at(lane, time); at < l_.graph.chains[lane].size(); ++at) {
      const uint32_t id = l_.graph.chains[lane][at];
      Item& it = item(id);
      if (it.start >= time) return false;
      if (it.record != op || !is_piece(it.kind == Item::Kind::sync_remainder ? item(it.of) : it)) continue;
      uint32_t waiter = id;
      if (it.kind == Item::Kind::sync_remainder) {
        it.dur = it.end() - time;
        it.start = time;
      } else {
        Item rest = it;
        rest.kind = Item::Kind::sync_remainder;
        rest.start = time;
        rest.dur = it.end() - time;
        rest.of = id;
        it.dur = 0;
        waiter = static_cast<uint32_t>(l_.graph.items.size());
        l_.graph.items.push_back(rest);
        l_.graph.chains[lane].insert(l_.graph.chains[lane].begin() + static_cast<ptrdiff_t>(at) + 1, waiter);
      }
      dep(waiter, completed(comm, time), EdgeKind::comm, !l_.recording.has_host);
      return true;
    }
    return false;
  }

  void find_blocking_calls() {
    for (Comm& comm : comms_)
      if (comm.blocks) comm.awaited = wait_inside(comm.call, comm.end, comm) || comm.part;
  }

  void find_wait_operators() {
    std::vector<uint32_t> waits;
    for (uint32_t op = 0; op < p_.ops.size(); ++op)
      if (is_comm_wait(l_.text(p_.ops[op].name)) && !item(l_.graph.item_of_op[op]).inside) waits.push_back(op);
    std::sort(waits.begin(), waits.end(), [&](uint32_t a, uint32_t b) { return starts_before(p_, a, b); });
    for (const uint32_t wait : waits) {
      const CpuOp& op = p_.ops[wait];
      Comm* comm = l_.match.host_of_op[wait] != kNone ? comm_of_tensors(wait) : comm_that_ended_in(op);
      if (!comm) continue;
      comm->awaited = true;
      const int64_t end = comm->end > op.end_ns() && comm->end <= op.end_ns() + kLateRecordNs ? op.end_ns() : comm->end;
      if (end > op.end_ns()) comm->awaited = false;  // the waiter went on
      else if (end <= op.start_ns || !wait_inside(wait, end, *comm))
        if (end <= item(l_.graph.item_of_op[wait]).start)
          dep(l_.graph.item_of_op[wait], last_piece(l_.graph.item_of_op[comm->record]), EdgeKind::data, false);
    }
  }

  /// The last one that was asked for before the operator began, of those that fill one of its tensors.
  Comm* comm_of_tensors(uint32_t wait) {
    Comm* best = nullptr;
    for (const int64_t storage : inputs_of(l_, wait)) {
      const auto of = fills_.find(storage);
      if (of == fills_.end()) continue;
      const auto behind = std::partition_point(of->second.begin(), of->second.end(), [&](uint32_t comm) {
        return p_.ops[comms_[comm].call].start_ns < p_.ops[wait].start_ns;
      });
      if (behind == of->second.begin()) continue;
      Comm& last = comms_[*std::prev(behind)];
      if (!best || p_.ops[last.call].start_ns > p_.ops[best->call].start_ns) best = &last;
    }
    return best && !best->awaited ? best : nullptr;
  }
  /// Without tensors: of those the thread asked for, the one that ended last inside the operator.
  Comm* comm_that_ended_in(const CpuOp& wait) {
    const std::vector<uint32_t>& own = asked_by_[wait.lane];
    auto at =
        std::partition_point(own.begin(), own.end(), [&](uint32_t comm) { return comms_[comm].end <= wait.end_ns(); });
    while (at != own.begin()) {
      Comm& comm = comms_[*--at];
      if (comm.end <= wait.start_ns) break;
      if (!comm.awaited && !comm.sends && p_.ops[comm.call].start_ns < wait.start_ns) return &comm;
    }
    return nullptr;
  }

  // ---- gaps ----------------------------------------------------------------------------------------------

  bool may_be_wait(uint32_t gap) { return gap != kNone && (item(gap).waited || item(gap).dur >= kCommWaitNs); }

  /// When communication ended while the thread that had asked for it was idle.
  void note_ends_in_gaps() {
    for (const Comm& comm : comms_) {
      const uint32_t lane = p_.ops[comm.call].lane, gap = gap_at(lane, comm.end);
      if (comm.awaited || !may_be_wait(gap)) continue;
      const int64_t start = item(gap).start;
      gap_begin_[gap] = start;
      ends_[lane].push_back(comm.end);
      if (const uint32_t annotation = only_gap_of(gap, start, comm);
          annotation != kNone && is_soon(start, comm.end, item(gap).end()))
        named_waits_.insert(p_.ops[annotation].name);
    }
    for (auto& [lane, ends] : ends_) std::sort(ends.begin(), ends.end());
  }

  void wait_for(const Comm& comm) {
    uint32_t before = kNone;
    const uint32_t lane = p_.ops[comm.call].lane, gap = gap_at(lane, comm.end);
    const uint32_t reader = first_reader(comm, before);
    if (may_be_wait(gap) && waited_in(gap, comm, reader, before)) {
      shrink_gap(gap, comm.end);
      dep(gap, last_piece(l_.graph.item_of_op[comm.record]), EdgeKind::comm, true);
      if (reader == kNone || p_.ops[reader].lane == lane || p_.ops[reader].start_ns < comm.end) return;
    } else if (reader != kNone && before != kNone && comm.end > item(before).start) {
      const int64_t time = std::min(comm.end, item(before).end());
      const uint32_t last = completed(comm, time);
      shrink_gap(before, time);
      return dep(before, last, EdgeKind::comm, true);
    }
    uint32_t waiter = reader != kNone ? l_.graph.item_of_op[reader] : kNone;
    if (waiter == kNone && may_be_wait(gap)) waiter = item_behind(gap);
    if (waiter != kNone) dep(waiter, last_piece(l_.graph.item_of_op[comm.record]), EdgeKind::data, reader == kNone);
  }

  /// The next item of the thread, or kNone.
  uint32_t item_behind(uint32_t id) {
    const auto next = find_in_chain(id) + 1;
    return next == l_.graph.chains[item(id).lane].end() ? kNone : *next;
  }

  /// Whether a thread waited in the gap in which the communication ended, and did not only happen to be idle.
  bool waited_in(uint32_t gap, const Comm& comm, uint32_t reader, uint32_t before) {
    const int64_t end = item(gap).end();
    const auto begin = gap_begin_.find(gap);
    const int64_t start = begin == gap_begin_.end() ? item(gap).start : begin->second;
    if (is_soon(start, comm.end, end)) return true;
    if (is_named_work(gap, start, comm)) return false;
    const uint32_t lane = item(gap).lane;
    if (reader == kNone || before == gap || p_.ops[reader].lane != lane) return true;
    const std::vector<int64_t>& ends = ends_[lane];
    const auto later = std::upper_bound(ends.begin(), ends.end(), end);
    return later == ends.end() || *later > p_.ops[reader].start_ns;
  }

  /// The annotation that began after the call and holds nothing but this gap, or kNone.
  uint32_t only_gap_of(uint32_t gap, int64_t start, const Comm& comm) {
    const uint32_t around = item(gap).of;
    if (around == kNone || item(around).kind != Item::Kind::annotation) return kNone;
    const uint32_t op = item(around).record;
    const bool whole = item(around).start == start && item(gap).end() >= p_.ops[op].end_ns();
    return whole && p_.ops[op].start_ns >= p_.ops[comm.call].end_ns() ? op : kNone;
  }
  /// Whether the program named what it did in the gap, and this name is never that of a wait: of no annotation of that
  /// name does the gap end soon after communication.
  bool is_named_work(uint32_t gap, int64_t start, const Comm& comm) {
    const uint32_t annotation = only_gap_of(gap, start, comm);
    return annotation != kNone && !named_waits_.contains(p_.ops[annotation].name);
  }

  /// The first operator that begins after the call, has a tensor that the communication fills among its inputs, and
  /// begins after its end or after an idle time in which it completed (then `gap`). kNone: none, or no host trace.
  uint32_t first_reader(const Comm& comm, uint32_t& gap) {
    const int64_t from = std::max(comm.start, p_.ops[comm.call].end_ns());
    uint32_t best = kNone;
    for (const int64_t storage : comm.storages) {
      const std::vector<uint32_t>& ops = readers_[storage];
      auto at = std::lower_bound(ops.begin(), ops.end(), from,
                                 [&](uint32_t op, int64_t t) { return p_.ops[op].start_ns < t; });
      for (; at != ops.end() && (best == kNone || starts_before(p_, *at, best)); ++at) {
        const uint32_t before = gap_before(*at, from);
        const bool late = p_.ops[*at].start_ns < comm.end;
        if (late && (before == kNone || comm.end > item(before).end() + kLateRecordNs)) continue;  // only looked at
        best = *at;
        gap = before;
        break;
      }
    }
    return best;
  }

  /// The gap directly before an operator, or before the outermost one around it that began after `from`.
  uint32_t gap_before(uint32_t op, int64_t from) {
    for (uint32_t around = l_.threads.parent_op[op]; around != kNone && p_.ops[around].start_ns >= from;
         around = l_.threads.parent_op[around])
      if (!p_.ops[around].annotation) op = around;
    const auto& chain = l_.graph.chains[p_.ops[op].lane];
    for (auto at = find_in_chain(l_.graph.item_of_op[op]); at != chain.begin();) {
      const Item& it = item(*--at);
      if (it.kind == Item::Kind::gap) return may_be_wait(*at) ? *at : kNone;
      if (it.kind != Item::Kind::annotation) return kNone;
    }
    return kNone;
  }

  const Profile& p_;
  std::vector<Comm> comms_;                                        ///< by end
  absl::flat_hash_map<int64_t, std::vector<uint32_t>> fills_;      ///< storage -> comms_, by their calls
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> asked_by_;  ///< thread -> comms_
  Readers readers_;
  absl::flat_hash_map<uint32_t, int64_t> gap_begin_;          ///< before waits were taken out of it
  absl::flat_hash_map<uint32_t, std::vector<int64_t>> ends_;  ///< per thread: of communication, in gaps
  absl::flat_hash_set<StringId> named_waits_;                 ///< annotations in which threads wait
};

}  // namespace

void find_comm_waits(Linking& l) {
  if (!l.comms.host_comms.empty()) CommWaits(l).run();
}

}  // namespace chakra::link
