// The graphs of all ranks as one graph: a matched collective is one vertex, a receive waits for the matching send. The
// unconditional rules of docs/explanation/simulation.md are edges, too. Inside check.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::check {

enum class Why : uint8_t { dependency, group, lane, message };

/// v waits for u: on `rank`, node `after` runs after node `before`. For a message, `before` is on the sender.
struct Step {
  uint32_t vertex;  ///< the awaited vertex
  match::NodeRef before, after;
  Why why;
};

/// Return the collective of a node; null for other nodes and for nodes without a match.
const match::Collective* collective_of(const trace::TraceSet& job, const match::Matching& matching, match::NodeRef at);

class JobGraph {
 public:
  /// Both arguments must outlive the graph. Requires fewer than 2^32 - 1 nodes in total, and ranks with acyclic graphs.
  JobGraph(const trace::TraceSet& job, const match::Matching& matching);

  /// Return the number of vertices.
  uint32_t size() const { return base_.back(); }
  /// Return the first node of a vertex.
  match::NodeRef node_of(uint32_t vertex) const;
  bool is_comm(uint32_t vertex) const;
  /// Append the dependencies of a vertex.
  void waits_of(uint32_t vertex, std::vector<Step>& steps) const;

 private:
  uint32_t vertex(trace::RankIndex r, trace::NodeId n) const;
  void order_groups();
  void order_lanes(trace::RankIndex r);
  void waits_of_node(match::NodeRef at, std::vector<Step>& steps) const;

  const trace::TraceSet& job_;
  const match::Matching& matching_;
  std::vector<uint32_t> base_;                            ///< per rank: the first vertex
  std::vector<std::vector<trace::NodeId>> group_before_;  ///< per rank and communication
  /// Per rank: node, and a node that runs earlier.
  std::vector<std::vector<std::pair<trace::NodeId, trace::NodeId>>> lane_before_;
};

/// Return a short cycle: the vertex of each step is awaited by the previous step, the first by the last. Empty: no
/// cycle. Cost: O(vertices + edges), and a bounded search for a shorter cycle.
std::vector<Step> find_circle(const JobGraph& graph);

}  // namespace chakra::check
