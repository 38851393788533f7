// FeederV3, which ASTRA-sim has used since August 2025: the nodes of one .et file by data_deps and ctrl_deps,
// with all free nodes available at once; the caller takes and finishes nodes. These headers and those of the
// first feeder (../et_feeder.h) both declare Chakra::ETFeeder: a source file must include only one of them.
#pragma once

// The original's header includes these, and programs rely on it.
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
  /// Read the file once and keep 24 bytes per node and 4 per edge; the bytes of a node are read again on
  /// demand. The file may be packed (gzip, zstd) or of another format: then all bytes stay in memory.
  /// Throws std::runtime_error: the errors of io::open_nodes; a duplicate id (feed.id.duplicate), a
  /// dependency that is not in the file (feed.dep.dangling), nodes that form a cycle (feed.dep.cycle).
  ETFeeder(const std::string& file_path);  // NOLINT: the original's is not explicit
  ~ETFeeder();
  ETFeeder(const ETFeeder&) = delete;
  ETFeeder& operator=(const ETFeeder&) = delete;

  ChakraGlobalMetadata global_metadata;

  DependancyResolver& getDependancyResolver() { return resolver_; }
  /// Return any node of the file, in any state. Throws std::runtime_error for a node that is not in the file.
  std::shared_ptr<ETFeederNode> lookupNode(const NodeId& node_id);

  /// Return whether there are free nodes.
  bool hasNodesToIssue();
  /// Take the free node of the lowest id; return null if no node is free.
  std::shared_ptr<ETFeederNode> getNextIssuableNode();
  void pushBackIssuableNode(const NodeId& node_id);  ///< push_back_node
  void freeChildrenNodes(const NodeId& node_id);     ///< finish_node

  /// Not supported: the graph is that of the file. Throws std::runtime_error.
  void addNode(std::shared_ptr<ETFeederNode> node);
  /// Does nothing.
  void removeNode(const NodeId& node_id);

  /// Return the feeder's number, from 0 in the order of construction.
  const ETFeederId& feeder_id() const { return id_; }

 private:
  friend class ETFeederNode;
  explicit ETFeeder(std::shared_ptr<chakra::feeders::Index> index);
  std::shared_ptr<const ChakraNode> parsed(NodeId node);

  std::shared_ptr<chakra::feeders::Index> index_;
  DependancyResolver resolver_;
  std::vector<std::shared_ptr<const ChakraNode>> cache_;  ///< by row modulo the cache size
  ETFeederId id_;
};

}  // namespace FeederV3
using ETFeeder = FeederV3::ETFeeder;
}  // namespace Chakra
