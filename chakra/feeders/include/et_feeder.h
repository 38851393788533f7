// mlcommons/chakra's feeder: the nodes of one .et file by data_deps, lowest id first. The caller says what is done:
// freeChildrenNodes(id) frees those that wait for `id`, removeNode(id) forgets it.
#pragma once

// mlcommons/chakra's header brings these in, and programs rely on it.
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
  /// Reads the file once and keeps 24 bytes per node and 4 per edge; a node's bytes are read again when it is handed
  /// out. The file may be packed (gzip, zstd) or of another form: then the bytes stay in memory.
  /// Throws std::runtime_error: the errors of io::open_nodes; a duplicate id (feed.id.duplicate).
  ETFeeder(std::string filename);  // NOLINT: mlcommons/chakra's is not explicit
  /// `cached_bytes`: how much of the file is kept, at least a page of 64 KiB.
  ETFeeder(std::string filename, uint64_t cached_bytes);
  ~ETFeeder();
  ETFeeder(const ETFeeder&) = delete;
  ETFeeder& operator=(const ETFeeder&) = delete;

  static constexpr uint64_t kCachedBytes = uint64_t{2} << 20;

  /// A node of the user's own, or one that was removed. It becomes issuable when what it waits for has been freed,
  /// unless it was issued before.
  void addNode(std::shared_ptr<ETFeederNode> node);
  /// Forgets it: lookupNode() no longer finds it. One that is issuable is still issued, as by mlcommons/chakra's; an
  /// id that is not in the feeder is none of its business.
  void removeNode(uint64_t node_id);
  /// There are nodes that have not been removed, or were issuable then and have not been issued.
  bool hasNodesToIssue();
  /// The lowest id whose dependencies are freed; null while none is. Throws std::runtime_error where none can ever
  /// be: the rest waits for nodes that are not in the file (feed.dep.dangling), or for each other (feed.dep.cycle).
  std::shared_ptr<ETFeederNode> getNextIssuableNode();
  /// Makes it issuable (again), whatever it waits for. Throws as lookupNode.
  void pushBackIssuableNode(uint64_t node_id);
  /// The same object until it is removed. Throws std::out_of_range for a node that has been removed or is not in the
  /// file.
  std::shared_ptr<ETFeederNode> lookupNode(uint64_t node_id);
  /// The nodes that wait for this one need not do so any longer. Throws std::out_of_range for an unknown id.
  void freeChildrenNodes(uint64_t node_id);

 private:
  std::shared_ptr<FeederState> state_;
};

}  // namespace Chakra
