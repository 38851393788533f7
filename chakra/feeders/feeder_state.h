// State of mlcommons/chakra's feeder: nodes that are issuable, issued, freed or removed.
// Ids of the file are rows of an Index; nodes added by the program are kept separately.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chakra/feeders/include/et_feeder_node.h"
#include "chakra/feeders/index.h"

namespace Chakra {

struct FeederState : std::enable_shared_from_this<FeederState> {
  using Row = chakra::feeders::Index::Row;
  using NodePtr = std::shared_ptr<ETFeederNode>;

  enum Flag : uint8_t { kReady = 1, kIssued = 2, kFreed = 4, kRemoved = 8 };
  struct Added {
    NodePtr node;
    std::vector<uint64_t> missing;  ///< dependencies that are not freed yet
  };

  FeederState(const std::string& path, uint64_t cached_bytes);

  void add(NodePtr node);
  void remove(uint64_t id);
  NodePtr next();
  void push_back(uint64_t id);
  NodePtr lookup(uint64_t id);
  void free(uint64_t id);
  bool empty() const { return alive_ == 0 && leaving_.empty(); }
  /// Return the children in the file, including removed ones.
  std::vector<NodePtr> children(uint64_t id);

 private:
  uint8_t& flags(uint64_t id);
  bool known(uint64_t id) const { return index_->find(id) || outside_.contains(id); }
  bool in_feeder(uint64_t id);
  void require(uint64_t id);
  uint64_t missing(uint64_t id) const;
  NodePtr make(Row row);
  std::vector<Row> by_place(std::span<const Row> rows) const;
  void settle(uint64_t id);
  void make_ready(uint64_t id);
  void one_freed(uint64_t child, uint64_t parent);
  [[noreturn]] void explain();

  std::shared_ptr<chakra::feeders::Index> index_;
  std::vector<uint32_t> missing_;                   ///< by row: dependencies that are not freed yet
  std::vector<uint8_t> flags_;                      ///< by row
  absl::flat_hash_map<uint64_t, NodePtr> held_;     ///< returned to the caller and not removed
  absl::flat_hash_map<uint64_t, NodePtr> leaving_;  ///< removed while issuable: these are still issued
  absl::flat_hash_map<uint64_t, Added> added_;
  absl::flat_hash_map<uint64_t, uint8_t> outside_;                ///< flags of ids that are not in the file
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> waiters_;  ///< by id: nodes that wait, beyond the index
  std::vector<uint64_t> ready_;  ///< a heap, lowest id first; entries without the flag kReady are stale
  uint64_t alive_ = 0, waiting_ = 0;
  uint64_t unfreed_ = 0;  ///< nodes issued but not freed: these can make others issuable
};

}  // namespace Chakra
