// The peer's feeder: the nodes of one .et file by their data_deps, lowest id first. Who uses it says what is done:
// freeChildrenNodes(id) frees those that wait for `id`, removeNode(id) forgets it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chakra/compat/include/et_feeder_node.h"

namespace Chakra {

class ETFeeder {
 public:
  /// Nodes are read ahead up to kWindowNodes, or up to window_bytes of memory, whichever is less, and beyond that
  /// while nothing else could run. The file may be packed (gzip, zstd).
  /// Throws std::runtime_error: the errors of io::open_nodes; an id that is there twice (feed.id.duplicate).
  ETFeeder(std::string filename);  // NOLINT: the peer's is not explicit
  ETFeeder(std::string filename, uint64_t window_bytes);
  ~ETFeeder();
  ETFeeder(const ETFeeder&) = delete;
  ETFeeder& operator=(const ETFeeder&) = delete;

  static constexpr uint64_t kWindowNodes = 1'048'576;
  static constexpr uint64_t kWindowBytes = uint64_t{512} << 20;

  /// A node of the user's own, or one that was removed. It becomes issuable when what it waits for has been freed,
  /// unless it was issued before.
  void addNode(std::shared_ptr<ETFeederNode> node);
  /// Throws std::out_of_range where lookupNode does.
  void removeNode(uint64_t node_id);
  /// There are nodes that have not been removed, or not been read.
  bool hasNodesToIssue();
  /// The lowest id whose dependencies are freed; null while none is. Throws std::runtime_error where none can ever
  /// be: what is left waits for nodes that are not in the file (feed.dep.dangling), or for itself (feed.dep.cycle).
  std::shared_ptr<ETFeederNode> getNextIssuableNode();
  /// Makes it issuable (again), whatever it waits for. Throws as lookupNode.
  void pushBackIssuableNode(uint64_t node_id);
  /// Throws std::out_of_range for a node that has been removed, has not been read yet, or is not in the file.
  std::shared_ptr<ETFeederNode> lookupNode(uint64_t node_id);
  /// The nodes that wait for this one need not do so any longer, also those that have not been read yet.
  /// Throws std::out_of_range for an id that has not been read.
  void freeChildrenNodes(uint64_t node_id);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace Chakra
