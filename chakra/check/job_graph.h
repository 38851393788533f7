// The ranks' graphs as one: matched collectives are one vertex, a receive waits for its send, and the rules of
// docs/explanation/simulation.md that always hold are edges, too. Inside check.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::check {

enum class Why : uint8_t { dependency, group, lane, message };

/// v waits for u: on `rank`, node `after` runs after node `before`. A message: `before` is of the sender.
struct Step {
  uint32_t vertex;  ///< that is waited for
  match::NodeRef before, after;
  Why why;
};

/// The collective in which a node takes part; null for other nodes and those without a match.
const match::Collective* collective_of(const trace::TraceSet& job, const match::Matching& matching, match::NodeRef at);

class JobGraph {
 public:
  /// Both must outlive it. Requires fewer than 2^32 - 1 nodes in all, and ranks whose own graphs have no circle.
  JobGraph(const trace::TraceSet& job, const match::Matching& matching);

  /// Vertices are numbered below this.
  uint32_t size() const { return base_.back(); }
  /// The first node of a vertex.
  match::NodeRef node_of(uint32_t vertex) const;
  bool is_comm(uint32_t vertex) const;
  /// Appends what a vertex waits for.
  void waits_of(uint32_t vertex, std::vector<Step>& steps) const;

 private:
  uint32_t vertex(trace::RankIndex r, trace::NodeId n) const;
  void order_groups();
  void order_lanes(trace::RankIndex r);
  void waits_of_node(match::NodeRef at, std::vector<Step>& steps) const;

  const trace::TraceSet& job_;
  const match::Matching& matching_;
  std::vector<uint32_t> base_;                            ///< per rank: its first vertex
  std::vector<std::vector<trace::NodeId>> group_before_;  ///< per rank and communication
  /// Per rank: node, and one that runs before it.
  std::vector<std::vector<std::pair<trace::NodeId, trace::NodeId>>> lane_before_;
};

/// A short circle of steps: each step's vertex is waited for by the one before, the first by the last. Empty: there is
/// none. Cost: O(vertices + edges), and a bounded search for a shorter one.
std::vector<Step> find_circle(const JobGraph& graph);

}  // namespace chakra::check
