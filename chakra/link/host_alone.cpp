// A host trace without a Kineto trace: what ran, in which order, and what it communicated, but not when.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

/// Communication on CPU threads (Gloo) runs beside the thread that asked for it: it follows from the call, and the
/// operator that waits for its tensors, or else the first that reads them, follows from it.
void join_host_comms(Linking& l, const std::vector<uint32_t>& item_of) {
  struct Filled {
    uint32_t comm = kNone;  // item
    uint32_t reader = kNone;
    bool waits = false;
  };
  std::vector<Filled> filled;
  absl::flat_hash_map<int64_t, uint32_t> pending;  // storage -> the last that fills it
  absl::flat_hash_map<uint32_t, std::vector<std::pair<uint32_t, std::vector<int64_t>>>> comms_of;  // by call
  for (const HostComm& comm : l.comms.host_comms) {
    if (comm.call == kNone) continue;
    l.graph.deps.push_back({item_of[comm.record], item_of[comm.call], trace::EdgeKind::comm, false, 0});
    const CommCallRow& row = *find_comm_call(l.text(l.host().ops[comm.call].name));
    if (comm.part() || row.out < 0) continue;
    std::vector<int64_t> storages;
    for (const TensorRef& tensor : read_comm_call(row, l.arguments_of(comm.call)).out)
      if (tensor.storage != 0) storages.push_back(tensor.storage);
    comms_of[comm.call].emplace_back(comm.record, std::move(storages));
  }
  const auto settle = [&](int64_t storage) {
    const auto found = pending.find(storage);
    if (found == pending.end()) return;
    const Filled& of = filled[found->second];
    if (of.reader != kNone) l.graph.deps.push_back({of.reader, of.comm, trace::EdgeKind::data, false, 0});
    pending.erase(found);
  };
  for (const uint32_t h : ops_by_id(l.host())) {
    if (l.host_comm(h)) continue;
    const std::string_view name = l.text(l.host().ops[h].name);
    const bool waits = is_comm_wait(name);
    if (!pending.empty())
      for (const TensorRef& tensor : parse_tensors(l.host().io(l.host().ops[h]).inputs.values))
        if (const auto found = pending.find(tensor.storage); found != pending.end())
          if (Filled& of = filled[found->second]; of.reader == kNone || (waits && !of.waits)) {
            of.reader = item_of[h];
            of.waits = waits;
          }
    if (const auto asked = comms_of.find(h); asked != comms_of.end())
      for (const auto& [record, storages] : asked->second)
        for (const int64_t storage : storages) {
          settle(storage);
          pending[storage] = static_cast<uint32_t>(filled.size());
          filled.emplace_back().comm = item_of[record];
        }
  }
  std::vector<int64_t> left;
  for (const auto& [storage, of] : pending) left.push_back(storage);
  std::sort(left.begin(), left.end());
  for (const int64_t storage : left) settle(storage);
}

}  // namespace

/// Items without times: each thread a chain of its operators in the order of their ids, which are given out as
/// operators begin. The first operator of a thread, and one after others have run meanwhile, may have been
/// started by any of them: it waits for the one before it, an inferred dependency.
void chain_host_ops(Linking& l) {
  l.report.has_host_trace = true;
  l.report.host_ops = static_cast<int64_t>(l.host().op_count);
  l.match.op_of_host.assign(l.host().ops.size(), kNone);
  l.find(
      "pytorch.host.alone", Severity::note,
      "without a Kineto trace, the trace has no times and no device operations; operators are ordered by their start");
  l.graph.chains.resize(l.host().threads.size());
  uint32_t before = kNone;
  uint32_t thread_before = kNone;
  std::vector<uint32_t> item_of(l.host().ops.size(), kNone);
  for (const uint32_t h : ops_by_id(l.host())) {
    const HostOp& op = l.host().ops[h];
    Item item;
    item.kind = Item::Kind::untimed;
    item.record = h;
    const auto id = static_cast<uint32_t>(l.graph.items.size());
    item.start = id;  // keeps the order; not a time
    l.graph.items.push_back(item);
    item_of[h] = id;
    if (const HostComm* comm = l.host_comm(h); comm && comm->call != kNone) continue;
    l.graph.chains[op.thread].push_back(id);
    if (before != kNone && thread_before != op.thread)
      l.graph.deps.push_back({id, before, trace::EdgeKind::thread, true, 0});
    before = id;
    thread_before = op.thread;
  }
  join_host_comms(l, item_of);
}

}  // namespace chakra::link
