// mlcommons/chakra's feeder: the nodes of one .et file by data_deps, lowest id first. The caller reports
// progress: freeChildrenNodes(id) frees the nodes that wait for `id`, removeNode(id) drops the node.
#pragma once

// mlcommons/chakra's header includes these, and programs rely on it.
#include <cstdint>
#include <fstream>  // IWYU pragma: keep
#include <memory>   // IWYU pragma: keep
#include <queue>    // IWYU pragma: keep
#include <string>
#include <unordered_map>  // IWYU pragma: keep
#include <unordered_set>  // IWYU pragma: keep
#include <vector>         // IWYU pragma: keep

#include "chakra/feeders/include/et_feeder_node.h"

namespace Chakra {

struct FeederState;

class ETFeeder {
 public:
  /// Read the file once and keep 24 bytes per node and 4 per edge; the bytes of a node are read again when the
  /// node is returned. The file may be packed (gzip, zstd) or of another format: then all bytes stay in memory.
  /// Throws std::runtime_error: the errors of io::open_nodes; a duplicate id (feed.id.duplicate).
  ETFeeder(std::string filename);  // NOLINT: mlcommons/chakra's is not explicit
  /// `cached_bytes`: size of the file cache, at least a page of 64 KiB.
  ETFeeder(std::string filename, uint64_t cached_bytes);
  ~ETFeeder();
  ETFeeder(const ETFeeder&) = delete;
  ETFeeder& operator=(const ETFeeder&) = delete;

  static constexpr uint64_t kCachedBytes = uint64_t{2} << 20;

  /// Add a new node, or a removed one. The node becomes issuable when
  /// all its dependencies are freed, unless it was issued before.
  void addNode(std::shared_ptr<ETFeederNode> node);
  /// Drop a node: lookupNode() no longer finds it. An issuable node is
  /// still issued, as in mlcommons/chakra; an unknown id has no effect.
  void removeNode(uint64_t node_id);
  /// Return whether nodes remain that were not removed, or that were removed while issuable and not issued yet.
  bool hasNodesToIssue();
  /// Return the node of the lowest id with freed dependencies; null if there is none yet. Throws std::runtime_error if
  /// all remaining nodes wait for ids that are not in the file (feed.dep.dangling), or for each other (feed.dep.cycle).
  std::shared_ptr<ETFeederNode> getNextIssuableNode();
  /// Make a node issuable (again), regardless of its dependencies. Throws as lookupNode.
  void pushBackIssuableNode(uint64_t node_id);
  /// Return the node; the same object until it is removed. Throws
  /// std::out_of_range for a node that was removed or is not in the file.
  std::shared_ptr<ETFeederNode> lookupNode(uint64_t node_id);
  /// Free the nodes that wait for this one from that wait. Throws std::out_of_range for an unknown id.
  void freeChildrenNodes(uint64_t node_id);

 private:
  std::shared_ptr<FeederState> state_;
};

}  // namespace Chakra
