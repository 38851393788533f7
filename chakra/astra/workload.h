// The ranks and their nodes: ready nodes, and the use of each rank's resources (docs/reference/compat.md, 6).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "chakra/feed/feed.h"
#include "chakra/trace/trace.h"

namespace chakra::astra {

struct Run;

enum Resource : uint8_t { kNoResource, kCpu, kCompute, kComm };
constexpr size_t kResources = 4;

/// The data of a node that a run needs, kept together: each node is visited once, in a scattered order.
struct Task {
  Picoseconds time = -1;  ///< duration, if it depends on the node alone
  uint32_t recipe = 0;    ///< of a collective, into RankQueues::recipes
  trace::NodeType type = trace::NodeType::invalid;
  Resource needs = kNoResource;
  bool operator==(const Task&) const = default;
};

/// Nodes that are ready and have not begun, by ascending id.
class ReadyNodes {
 public:
  struct Node {
    uint64_t id;
    trace::NodeId node;
    bool operator<(const Node& other) const { return id != other.id ? id < other.id : node < other.node; }
  };
  bool empty() const { return heap_.empty(); }
  bool contains(trace::NodeId node) const;
  void add(Node node);
  Node take_first();
  void take_all(std::vector<Node>& to) {
    to.insert(to.end(), heap_.begin(), heap_.end());
    heap_.clear();
  }

 private:
  std::vector<Node> heap_;
};

struct Rank {
  Rank(const trace::Trace& t, feed::Graphs& graphs) : trace(&t), feeder(t, true, &graphs) {}

  const trace::Trace* trace;
  feed::Feeder feeder;
  Column<Task> tasks;  ///< by node
  std::array<ReadyNodes, kResources> ready;
  std::array<bool, kResources> busy{};  ///< each runs one operation at a time
  Picoseconds finish = 0, computed = 0;
};

/// Return the duration in whole microseconds, as other tools read it; at least 1 ns.
Picoseconds measured(const trace::Trace& t, trace::NodeId n);

/// Add the trace of the next rank. Errors: sim.trace.defect, sim.stuck.cycle. Cost: O(nodes + edges).
Result<void> add_rank(Run& run, const trace::Trace& t);
/// Begin all ready nodes with a free resource, by ascending id.
void issue(Run& run, uint32_t r);
void node_done(Run& run, uint32_t r, trace::NodeId n);

}  // namespace chakra::astra
