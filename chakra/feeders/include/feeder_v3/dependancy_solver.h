// FeederV3's state of a graph: a node is pending, taken (take_node) or finished (finish_node).
// A pending node is free when all its dependencies, by data_deps and ctrl_deps, have finished.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>  // IWYU pragma: keep (the original's header brings it in)
#include <unordered_set>
#include <vector>

#include "chakra/feeders/include/feeder_v3/common.h"

namespace chakra::feeders {
class Index;
}

namespace Chakra::FeederV3 {

class DependancyResolver;

/// The graph by data_deps alone, by ctrl_deps alone, or by both. Sets are built on demand.
class _DependancyLayer {
 public:
  enum class Kind : uint8_t { data, ctrl, enabled };
  _DependancyLayer(const DependancyResolver& resolver, Kind kind) : resolver_(&resolver), kind_(kind) {}

  /// Cost: O(free nodes) for the enabled layer, else O(nodes).
  std::unordered_set<NodeId> get_dependancy_free_nodes() const;
  const std::unordered_set<NodeId>& get_ongoing_nodes() const;
  /// Throw std::out_of_range for a node that has finished or is not in the file. Parents: only unfinished ones.
  std::unordered_set<NodeId> get_children(NodeId node) const;
  std::unordered_set<NodeId> get_parents(NodeId node) const;

 private:
  const DependancyResolver* resolver_;
  Kind kind_;
};

class DependancyResolver {
 public:
  explicit DependancyResolver(std::shared_ptr<chakra::feeders::Index> index);
  DependancyResolver(const DependancyResolver&) = delete;
  DependancyResolver& operator=(const DependancyResolver&) = delete;

  /// Throws std::runtime_error for a node that is not free.
  void take_node(const NodeId& node);
  /// Throw std::runtime_error for a node that is not taken.
  void push_back_node(const NodeId& node);
  void finish_node(const NodeId& node);

  /// In no order: sort the nodes if the order matters.
  const std::unordered_set<NodeId>& get_dependancy_free_nodes() const { return free_; }
  const std::unordered_set<NodeId>& get_ongoing_nodes() const { return ongoing_; }
  const _DependancyLayer& get_data_dependancy() const { return data_; }
  const _DependancyLayer& get_ctrl_dependancy() const { return ctrl_; }
  const _DependancyLayer& get_enabled_dependancy() const { return enabled_; }

 private:
  friend class _DependancyLayer;
  friend class ETFeeder;
  void set_free(NodeId node);
  /// Return the free node of the lowest id. Requires a free node.
  NodeId lowest_free();

  std::shared_ptr<chakra::feeders::Index> index_;
  std::vector<uint32_t> missing_;  ///< by row: unfinished dependencies
  std::vector<bool> finished_;     ///< by row
  std::unordered_set<NodeId> free_, ongoing_;
  std::vector<NodeId> heap_;  ///< of free_ by ascending id, may have stale entries; kept after the first use
  bool ordered_ = false;
  _DependancyLayer data_{*this, _DependancyLayer::Kind::data}, ctrl_{*this, _DependancyLayer::Kind::ctrl},
      enabled_{*this, _DependancyLayer::Kind::enabled};
};

}  // namespace Chakra::FeederV3
