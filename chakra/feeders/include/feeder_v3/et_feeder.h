// FeederV3, which ASTRA-sim has used since August 2025: the nodes of one .et file by their data_deps and ctrl_deps, all
// that are free at once, and the caller says which are taken and finished. These headers and those of the first feeder
// (../et_feeder.h) both name Chakra::ETFeeder: a source file includes one or the other.
#pragma once

// The original's header brings these in, and programs rely on it.
#include <fstream>     // IWYU pragma: keep
#include <functional>  // IWYU pragma: keep
#include <memory>
#include <string>
#include <tuple>  // IWYU pragma: keep
#include <vector>

#include "chakra/feeders/include/feeder_v3/common.h"
#include "chakra/feeders/include/feeder_v3/dependancy_solver.h"
#include "chakra/feeders/include/feeder_v3/et_feeder_node.h"

namespace Chakra {
namespace FeederV3 {

class ETFeeder {
 public:
  /// Reads the file once and keeps 24 bytes per node and 4 per edge; a node's bytes are read again when they are asked
  /// for. The file may be packed (gzip, zstd) or of another form: then the bytes stay in memory.
  /// Throws std::runtime_error: the errors of io::open_nodes; a duplicate id (feed.id.duplicate), a dependency that is
  /// not in the file (feed.dep.dangling), nodes that wait for each other (feed.dep.cycle).
  ETFeeder(const std::string& file_path);  // NOLINT: the original's is not explicit
  ~ETFeeder();
  ETFeeder(const ETFeeder&) = delete;
  ETFeeder& operator=(const ETFeeder&) = delete;

  ChakraGlobalMetadata global_metadata;

  DependancyResolver& getDependancyResolver() { return resolver_; }
  /// Any node of the file, whatever its state. Throws std::runtime_error for one that is not in the file.
  std::shared_ptr<ETFeederNode> lookupNode(const NodeId& node_id);

  /// There are free nodes.
  bool hasNodesToIssue();
  /// Takes the free node of the lowest id; null while none is free.
  std::shared_ptr<ETFeederNode> getNextIssuableNode();
  void pushBackIssuableNode(const NodeId& node_id);  ///< push_back_node
  void freeChildrenNodes(const NodeId& node_id);     ///< finish_node

  /// The graph is that of the file. Throws std::runtime_error.
  void addNode(std::shared_ptr<ETFeederNode> node);
  /// Nothing is removed.
  void removeNode(const NodeId& node_id);

  /// Counted from 0 in the order of construction.
  const ETFeederId& feeder_id() const { return id_; }

 private:
  friend class ETFeederNode;
  explicit ETFeeder(std::shared_ptr<chakra::feeders::Index> index);
  std::shared_ptr<const ChakraNode> parsed(NodeId node);

  std::shared_ptr<chakra::feeders::Index> index_;
  DependancyResolver resolver_;
  std::vector<std::shared_ptr<const ChakraNode>> cache_;  ///< by row modulo its size
  ETFeederId id_;
};

}  // namespace FeederV3
using ETFeeder = FeederV3::ETFeeder;
}  // namespace Chakra
