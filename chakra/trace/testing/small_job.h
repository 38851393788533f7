// Traces of generated jobs, node by node, for tests.
#pragma once

#include <utility>
#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::trace::testing {

/// Builds traces of generated jobs: no measured start times, no lanes unless asked for.
struct Job {
  std::vector<Builder> builders;

  explicit Job(size_t ranks) : builders(ranks) {
    for (size_t r = 0; r < ranks; ++r) builders[r].trace.rank = static_cast<int64_t>(r);
  }
  NodeId add(size_t rank, NodeType type, std::vector<NodeId> deps) {
    Builder& b = builders[rank];
    const NodeId n = b.add(b.trace.size() + 1, b.trace.strings.intern("node"), type);
    for (const NodeId on : deps) b.dep(n, on, 0);
    return n;
  }
  NodeId compute(size_t rank, Picoseconds dur, std::vector<NodeId> deps = {}) {
    const NodeId n = add(rank, NodeType::comp, std::move(deps));
    builders[rank].trace.dur_ps.edit(n) = dur;
    builders[rank].trace.flags.edit(n) |= kHasDuration | kSaysCpuOrNot;
    return n;
  }
  NodeId collective(size_t rank, CommType type, uint64_t bytes, std::vector<NodeId> deps = {}, const char* group = "") {
    const NodeId n = add(rank, NodeType::coll, std::move(deps));
    Comm& comm = builders[rank].comm(n);
    comm.type = type;
    comm.bytes = bytes;
    comm.group = builders[rank].trace.strings.intern(group);
    return n;
  }
  NodeId message(size_t rank, NodeType type, int64_t peer, uint64_t bytes, std::vector<NodeId> deps = {},
                 int64_t tag = 0) {
    const NodeId n = add(rank, type, std::move(deps));
    Comm& comm = builders[rank].comm(n);
    comm.bytes = bytes;
    (type == NodeType::send ? comm.dst : comm.src) = peer;
    comm.tag = tag;
    return n;
  }
  TraceSet finish() {
    TraceSet set;
    for (Builder& b : builders) set.ranks.push_back(std::move(b).finish());
    return set;
  }
};

}  // namespace chakra::trace::testing
