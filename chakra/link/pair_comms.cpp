// Which call of c10d asked for which record of a backend that communicates on CPU threads.
// Reads: names, record-function ids, times, threads and tensors. Fills: Linking::host_comms, carries_out, beside; moves
// records of messages, which last on beside the thread that asked for them, to separate threads.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

using trace::CommType;
using trace::NodeType;

/// A call that takes longer than this to begin the record of its message was interrupted in between.
constexpr int64_t kInterruptedNs = 200'000;

/// Whether a backend may carry out a call of one kind by what it records as another: Gloo reduces and scatters by an
/// all-reduce.
bool carries_out(const CommCallRow& call, CommKind record) {
  if (call.by_messages) return record.type == NodeType::send || record.type == NodeType::recv;
  if (call.kind.type == record.type && call.kind.collective == record.collective) return true;
  return call.kind.collective == CommType::reduce_scatter &&
         (record.collective == CommType::all_reduce || record.collective == CommType::reduce ||
          record.collective == CommType::scatter || record.collective == CommType::all_to_all);
}

struct Entry {
  uint32_t op = 0;
  int64_t rf_id = 0, start = 0, end = 0;
  uint32_t lane = 0;
  CommKind kind;
  std::vector<int64_t> storages;  ///< ascending
  int64_t elements = -1;          ///< that go in, as far as sizes say
  const CommCallRow* row = nullptr;
  std::vector<std::pair<NodeType, CommType>> parts;  ///< of a call: the records that are known to be its
};

int64_t add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

void finish(Entry& entry, std::vector<Entry>& to) {
  std::erase(entry.storages, 0);  // not said
  std::sort(entry.storages.begin(), entry.storages.end());
  to.push_back(std::move(entry));
}

bool same_tensors(const Entry& call, const Entry& record) {
  return std::any_of(record.storages.begin(), record.storages.end(), [&](int64_t storage) {
    return std::binary_search(call.storages.begin(), call.storages.end(), storage);
  });
}

/// A backend may carry out one call in several parts: a monitored barrier by a message for each rank, a
/// reduce-scatter by other collectives, a coalesced call by one for each tensor.
bool may_have_parts(const Entry& call) {
  return call.row->by_messages || call.kind.collective == CommType::reduce_scatter ||
         contains(call.row->name, "coalesced");
}

bool has_part(const Entry& call, CommKind kind) {
  return std::find(call.parts.begin(), call.parts.end(), std::pair(kind.type, kind.collective)) != call.parts.end();
}

/// Whether the call may have asked for the record, and has no such record yet.
bool lacks(const Entry& call, const Entry& record) {
  return carries_out(*call.row, record.kind) &&
         (call.parts.empty() || (may_have_parts(call) && !has_part(call, record.kind)));
}

class CommPairing {
 public:
  explicit CommPairing(Linking& l) : l_(l), host_alone_(l.profile().file.empty()) {}

  void run() {
    if (!host_alone_) find_backend_threads();
    collect();
    join();
    if (!host_alone_) begin_with_calls(), move_messages();
    std::sort(l_.comms.host_comms.begin(), l_.comms.host_comms.end(),
              [](const HostComm& a, const HostComm& b) { return a.record < b.record; });
  }

 private:
  std::string_view name_of(uint32_t op) const {
    return l_.text(host_alone_ ? l_.host().ops[op].name : l_.profile().ops[op].name);
  }

  void collect() {
    const size_t count = host_alone_ ? l_.host().ops.size() : l_.profile().ops.size();
    for (uint32_t op = 0; op < count; ++op) {
      const std::string_view name = name_of(op);
      const CommCallRow* row = find_comm_call(name);
      const bool record = !row && is_host_comm(name);
      if (!row && (!record || is_annotation(op))) continue;
      Entry entry;
      entry.op = op;
      entry.row = row;
      if (host_alone_) {
        entry.rf_id = l_.host().ops[op].rf_id;
        entry.start = static_cast<int64_t>(l_.host().ops[op].id);
        entry.lane = l_.host().ops[op].thread;
      } else {
        const CpuOp& o = l_.profile().ops[op];
        const uint32_t host = l_.match.host_of_op[op];
        entry.rf_id = o.rf_id == 0 && host != kNone ? l_.host().ops[host].rf_id : o.rf_id;
        entry.start = o.start_ns;
        entry.end = o.end_ns();
        entry.lane = o.lane;
      }
      if (row) add_call(entry);
      else add_record(entry);
    }
    const auto earlier = [](const Entry& a, const Entry& b) {
      return std::tie(a.start, a.op) < std::tie(b.start, b.op);
    };
    std::sort(calls_.begin(), calls_.end(), earlier);
    std::sort(records_.begin(), records_.end(), earlier);
  }

  void add_call(Entry& entry) {
    const CommCall call = read_comm_call(*entry.row, l_.arguments_of(entry.op));
    entry.kind = call.kind;
    for (const std::vector<TensorRef>* side : {&call.in, &call.out})
      for (const TensorRef& tensor : *side) entry.storages.push_back(tensor.storage);
    const std::vector<TensorRef>& moved = call.in.empty() ? call.out : call.in;
    if (!moved.empty()) entry.elements = 0;
    for (const TensorRef& tensor : moved) entry.elements = add(entry.elements, tensor.elements);
    finish(entry, calls_);
  }

  void add_record(Entry& entry) {
    entry.kind = comm_kind(after_colon(name_of(entry.op)));
    const ArgumentTexts texts = record_arguments(entry.op);
    const std::vector<TensorRef> tensors = read_comm_record(texts);
    if (!tensors.empty()) entry.elements = 0;
    for (const TensorRef& tensor : tensors) {
      entry.storages.push_back(tensor.storage);
      entry.elements = add(entry.elements, tensor.elements);
    }
    finish(entry, records_);
  }
  ArgumentTexts record_arguments(uint32_t op) const {
    if (!host_alone_ && l_.match.host_of_op[op] == kNone && l_.profile().ops[op].comm != trace::kNoRow) {
      const CommRecord& record = l_.profile().comms[l_.profile().ops[op].comm];
      return {{}, record.dims, record.types};
    }
    return l_.arguments_of(op);
  }

  // ---- who asked for what --------------------------------------------------------------------------------

  /// Record-function ids are given out when a call is made, and so is that of its record, right behind. Without ids
  /// (and what they leave over) it is the earliest call of that kind that moves as much.
  void join() {
    std::vector<size_t> by_id, rest;
    for (size_t r = 0; r < records_.size(); ++r) (records_[r].rf_id != 0 ? by_id : rest).push_back(r);
    std::sort(by_id.begin(), by_id.end(), [&](size_t a, size_t b) { return records_[a].rf_id < records_[b].rf_id; });
    std::vector<size_t> call_by_id;
    for (size_t c = 0; c < calls_.size(); ++c)
      if (calls_[c].rf_id != 0) call_by_id.push_back(c);
    std::sort(call_by_id.begin(), call_by_id.end(),
              [&](size_t a, size_t b) { return calls_[a].rf_id < calls_[b].rf_id; });
    call_of_.assign(records_.size(), SIZE_MAX);
    size_t next = 0;  // the first call behind the record
    for (const size_t r : by_id) {
      while (next < call_by_id.size() && calls_[call_by_id[next]].rf_id < records_[r].rf_id) ++next;
      call_of_[r] = latest_call(call_by_id, next, records_[r]);
      if (call_of_[r] == SIZE_MAX) rest.push_back(r);
      else take(r);
    }
    std::sort(rest.begin(), rest.end());
    for (const size_t r : rest) {
      call_of_[r] = earliest_call(records_[r]);
      take(r);
    }
    number();
  }

  /// Of the calls before place `end`, the last that fits: one with the record's tensors, if any of the last has them.
  size_t latest_call(const std::vector<size_t>& by_id, size_t end, const Entry& record) const {
    constexpr size_t kFarthest = 16;  // calls that other threads make between a call and its record
    size_t fits = SIZE_MAX, part = SIZE_MAX;
    for (size_t i = end; i-- > 0 && end - i <= kFarthest;) {
      const Entry& call = calls_[by_id[i]];
      if (!carries_out(*call.row, record.kind) || (!call.parts.empty() && !may_have_parts(call))) continue;
      const bool same = same_tensors(call, record), first = fits == SIZE_MAX && part == SIZE_MAX;
      if (same && (first || lacks(call, record))) return by_id[i];
      if (fits == SIZE_MAX && lacks(call, record)) fits = by_id[i];
      if (part == SIZE_MAX) part = by_id[i];
    }
    return fits != SIZE_MAX ? fits : part;
  }

  size_t earliest_call(const Entry& record) {
    if (record.kind.type != NodeType::coll) return call_around(record);
    Search& search = searches_[{record.kind.type, record.kind.collective}];
    size_t fits = SIZE_MAX;
    bool none_before = true;
    for (size_t c = search.from; c < calls_.size() && calls_[c].start <= record.start; ++c) {
      const Entry& call = calls_[c];
      if (!lacks(call, record)) {
        if (none_before) search.from = c + 1;
        continue;
      }
      none_before = false;
      if (call.elements == record.elements || same_tensors(call, record)) return search.last = c;
      if (fits == SIZE_MAX) fits = c;
    }
    if (fits != SIZE_MAX) return search.last = fits;
    return search.last != SIZE_MAX && may_have_parts(calls_[search.last]) ? search.last : SIZE_MAX;
  }

  /// A message begins inside its call, on its thread.
  size_t call_around(const Entry& record) const {
    const auto behind = std::upper_bound(calls_.begin(), calls_.end(), record.start,
                                         [](int64_t time, const Entry& call) { return time < call.start; });
    for (auto at = behind; at != calls_.begin();) {
      const Entry& call = *--at;
      if (call.lane != record.lane) continue;
      const bool free = call.parts.empty() || may_have_parts(call);
      const bool fits = record.start <= call.end && free && carries_out(*call.row, record.kind);
      return fits ? static_cast<size_t>(at - calls_.begin()) : SIZE_MAX;
    }
    return SIZE_MAX;
  }

  void take(size_t record) {
    if (const size_t call = call_of_[record]; call != SIZE_MAX) {
      const CommKind kind = records_[record].kind;
      calls_[call].parts.emplace_back(kind.type, kind.collective);
    }
  }

  void number() {
    std::map<size_t, size_t> last;  // of a call's records, the one that ends last: the call is done then
    for (size_t r = 0; r < records_.size(); ++r)
      if (const size_t c = call_of_[r]; c != SIZE_MAX) {
        const auto order = [&](size_t row) {
          return std::tuple(records_[row].end, records_[row].rf_id, records_[row].start);
        };
        const auto [found, added] = last.emplace(c, r);
        if (!added && order(r) > order(found->second)) found->second = r;
      }
    for (size_t r = 0; r < records_.size(); ++r) {
      HostComm comm;
      comm.record = records_[r].op;
      if (const size_t c = call_of_[r]; c != SIZE_MAX) {
        comm.call = calls_[c].op;
        comm.turn = static_cast<uint32_t>(c + 1);
        if (last[c] != r) comm.whole = records_[last[c]].op;
      } else if (is_nothing(records_[r])) {
        if (!host_alone_) note_annotation(comm.record);
        continue;
      }
      l_.comms.host_comms.push_back(comm);
    }
  }

  // ---- threads -------------------------------------------------------------------------------------------

  /// People call their annotations what they like: a record without tensors, on a thread that does other things, is
  /// none. A message begins inside its call, and a host trace has all records on the thread that asked: there join()
  /// tells.
  bool is_annotation(uint32_t op) {
    if (host_alone_ || l_.threads.carries_out[l_.profile().ops[op].lane] ||
        !read_comm_record(record_arguments(op)).empty())
      return false;
    if (comm_kind(after_colon(name_of(op))).type != NodeType::coll) return false;
    note_annotation(op);
    return true;
  }
  /// The same of a record for which no call was found.
  bool is_nothing(const Entry& record) const {
    if (record.elements >= 0) return false;
    return host_alone_ ? record.kind.collective != CommType::barrier
                       : !l_.threads.carries_out[l_.profile().ops[record.op].lane];
  }
  void note_annotation(uint32_t op) {
    l_.profile().ops[op].host_comm = false;
    l_.profile().ops[op].annotation = true;
  }

  /// Threads on which nothing runs outside of records.
  void find_backend_threads() {
    Profile& p = l_.profile();
    l_.threads.carries_out.assign(p.threads.size(), 0);
    std::vector<std::vector<std::pair<int64_t, int64_t>>> spans(p.threads.size());
    for (const CpuOp& op : p.ops)
      if (op.host_comm) spans[op.lane].emplace_back(op.start_ns, op.end_ns()), l_.threads.carries_out[op.lane] = 1;
    for (auto& of : spans) std::sort(of.begin(), of.end());
    for (const CpuOp& op : p.ops) {
      if (op.host_comm || !l_.threads.carries_out[op.lane]) continue;
      const auto& of = spans[op.lane];
      const auto behind = std::upper_bound(of.begin(), of.end(), std::pair(op.start_ns, INT64_MAX));
      if (behind == of.begin() || std::prev(behind)->second < op.start_ns) l_.threads.carries_out[op.lane] = 0;
    }
  }

  /// A backend gives a message to the network before it begins to record it. Where the thread was interrupted in
  /// between, the message can be there before its record begins: it began with the call.
  void begin_with_calls() {
    for (const HostComm& comm : l_.comms.host_comms) {
      if (comm.call == kNone || comm.part()) continue;
      CpuOp& record = l_.profile().ops[comm.record];
      const CpuOp& call = l_.profile().ops[comm.call];
      if (find_comm_call(name_of(comm.call))->kind.type != NodeType::send || record.lane != call.lane ||
          record.start_ns - call.start_ns <= kInterruptedNs)
        continue;
      const int64_t end = record.end_ns();
      record.start_ns = call.start_ns + 1;  // the call's first moment is what asks for it
      record.dur_ns = end - record.start_ns;
    }
  }

  /// A message's record lasts from the call to the end of the wait for it, while its thread goes on. Move the records
  /// to as many separate threads as records run at a time.
  void move_messages() {
    Profile& p = l_.profile();
    struct Lane {
      uint32_t thread;
      int64_t free;
    };
    std::map<uint32_t, std::vector<Lane>> lanes;  // by the thread that asked
    l_.threads.beside.assign(p.threads.size(), 0);
    std::vector<uint32_t> moved;
    for (const HostComm& comm : l_.comms.host_comms)
      if (!l_.threads.carries_out[p.ops[comm.record].lane]) moved.push_back(comm.record);
    std::sort(moved.begin(), moved.end(),
              [&](uint32_t a, uint32_t b) { return std::tie(p.ops[a].start_ns, a) < std::tie(p.ops[b].start_ns, b); });
    for (const uint32_t record : moved) {
      CpuOp& op = p.ops[record];
      std::vector<Lane>& own = lanes[op.lane];
      auto at = std::find_if(own.begin(), own.end(), [&](const Lane& lane) { return lane.free <= op.start_ns; });
      if (at == own.end()) {
        trace::Lane thread = p.threads[op.lane];
        const std::string name = fmt::format("messages of thread {}, {}", thread.index, own.size() + 1);
        thread.index = -1 - static_cast<int64_t>(l_.trace.strings.intern(name));
        own.push_back({static_cast<uint32_t>(p.threads.size()), 0});
        p.threads.push_back(thread);
        l_.threads.beside.push_back(1);
        l_.threads.carries_out.push_back(1);
        at = std::prev(own.end());
      }
      at->free = op.end_ns();
      op.lane = at->thread;
    }
  }

  Linking& l_;
  bool host_alone_;
  std::vector<Entry> calls_, records_;
  std::vector<size_t> call_of_;  ///< records_ -> calls_
  struct Search {
    size_t from = 0, last = SIZE_MAX;  ///< calls before it have what they asked for; the last that was found
  };
  std::map<std::pair<NodeType, CommType>, Search> searches_;
};

}  // namespace

void find_host_comms(Linking& l) { CommPairing(l).run(); }

}  // namespace chakra::link
