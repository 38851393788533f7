// Operators on threads of a backend's pool, matched by the records of communication that they belong to (pool.cpp).
#pragma once

#include <absl/container/flat_hash_set.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chakra/link/matching.h"

namespace chakra::link {

/// Gloo's threads for a group, which share a queue.
inline constexpr int64_t kThreadsOfGroup = 2;

/// Whether the operator of the Kineto trace is communication on a thread of a pool, not on the thread of the caller.
bool runs_on_pool(const Linking& l, const CpuOp& op);

/// What the pool does in an iteration.
struct PoolPart {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;  ///< rows of the Kineto trace and of the host trace, with records
  int64_t undecided = 0;  ///< communications that may be another one of the same name and sizes
};

class Pool {
 public:
  /// `threads`: rows of the host trace by id. `lanes`: threads of the Kineto trace. `ops`: their operators with names
  /// that the host trace knows, for every thread of the Kineto trace; must outlive the pool.
  Pool(const Linking& l, std::vector<std::vector<uint32_t>> threads, const std::vector<uint32_t>& lanes,
       const std::vector<std::vector<uint32_t>>& ops);
  /// Match the records and all operators of `threads` with communication that begins in [begin, next). nullopt if some
  /// do not match; why() has the reason.
  std::optional<PoolPart> find(int64_t begin, int64_t next);
  const std::string& why() const { return why_; }
  size_t threads() const { return threads_.size(); }
  /// Whether the Kineto trace has operators of the pool. Before PyTorch 2.6, it has the records alone; find() then
  /// matches these.
  bool has_operators() const { return has_operators_; }
  /// Operators of `threads`.
  int64_t host_ops() const;

 private:
  /// A communication on a thread of the Kineto trace: its record and, in `ops`, the operators up to the next record.
  struct Item {
    uint32_t record = 0, lane = 0;
    size_t first = 0, last = 0;
    std::vector<int64_t> sizes;  ///< elements of the tensors
  };
  struct HostRecord {
    uint32_t row = 0;
    std::vector<int64_t> sizes;
    size_t item = 0;
  };

  void list_items(uint32_t lane);
  int64_t start(uint32_t row) const;
  StringId name(const Item& item) const;
  uint64_t id(uint32_t h) const;
  bool runs_on_from_before(int64_t begin, int64_t next, size_t first);
  bool pair_records(size_t first, size_t last);
  bool pair_by_sizes(const std::vector<size_t>& records, const std::vector<size_t>& items);
  bool fits(const HostRecord& record, size_t thread) const;
  bool same_shapes(const HostRecord& record, size_t thread);
  bool same_tensor(const HostRecord& record, size_t thread) const;
  std::optional<size_t> thread_of(size_t r, int64_t& undecided);
  std::optional<PoolPart> attribute();
  int64_t count_undecided(int64_t begin, size_t from, size_t to) const;
  bool may_be_exchanged(size_t i, size_t later) const;

  const Linking& l_;
  ShapeComparer shapes_;
  std::vector<std::vector<uint32_t>> threads_;
  std::vector<uint32_t> lanes_;
  const std::vector<std::vector<uint32_t>>& ops_;
  std::vector<Item> items_;             ///< by start
  std::vector<uint32_t> items_before_;  ///< operators before the first record of their thread
  std::vector<size_t> by_call_;         ///< positions in records_, in the order of their calls
  std::vector<int64_t> calls_;          ///< starts of calls of collectives
  std::vector<HostRecord> records_;     ///< by id
  std::vector<size_t> done_;            ///< per thread: operators that are matched
  bool has_operators_ = false;
  std::string why_;
};

}  // namespace chakra::link
