// A host trace without a Kineto trace: what ran, in which order, and what it communicated, but not when.
#include "chakra/pytorch/linking.h"

namespace chakra::pytorch {

/// Items without times: each thread a chain of its operators in the order of their ids, which are given out as
/// operators begin. The first operator of a thread, and one after others have run meanwhile, may have been
/// started by any of them: it waits for the one before it, an inferred dependency.
void chain_host_ops(Linking& l) {
  l.report.has_host_trace = true;
  l.report.host_ops = static_cast<int64_t>(l.host.op_count);
  l.op_of_host.assign(l.host.ops.size(), kNone);
  l.find("pytorch.host.alone", Severity::note,
         "without a Kineto trace there are no times and nothing of the device; operators follow in the order in which "
         "they began");
  l.chains.resize(l.host.threads.size());
  uint32_t before = kNone;
  uint32_t thread_before = kNone;
  for (const uint32_t h : ops_by_id(l.host)) {
    const HostOp& op = l.host.ops[h];
    Item item;
    item.kind = Item::Kind::untimed;
    item.record = h;
    const auto id = static_cast<uint32_t>(l.items.size());
    item.start = id;  // keeps the order; not a time
    l.items.push_back(item);
    l.chains[op.thread].push_back(id);
    if (before != kNone && thread_before != op.thread) l.deps.push_back({id, before, trace::EdgeKind::thread, true, 0});
    before = id;
    thread_before = op.thread;
  }
}

}  // namespace chakra::pytorch
