// The container: all ranks of a job in one file, in columns, with an index, so that a rank or a window of its
// nodes can be read alone. Ranks that differ little from one before them (their master) are stored as that
// difference. docs/formats/container.md is the contract.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::io {

class RecordSource;

class Container;
using ContainerPtr = std::shared_ptr<Container>;

/// Reads a container. It checks the bytes that it reads: a changed byte is an error that names the block.
class Container : public std::enable_shared_from_this<Container> {
 public:
  /// Reads the directory. Errors: base.file.open, base.file.read, io.container.not_one, io.container.version,
  /// io.container.truncated, io.container.damaged.
  static Result<ContainerPtr> open(const std::string& path);
  /// The same of a file as if it ended after `bytes`.
  static Result<ContainerPtr> open_beginning(const std::string& path, uint64_t bytes);
  ~Container();

  const std::vector<int64_t>& ranks() const { return ranks_; }  ///< ascending

  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  /// The metadata and `count` nodes from `first` on, in the order of the file. The source keeps the container.
  /// Errors, also of next(): io.container.rank (no such rank), io.container.damaged, base.file.read.
  /// Cost: only the blocks that hold these nodes are read.
  Result<std::unique_ptr<RecordSource>> open_rank(int64_t rank, int64_t first = 0, int64_t count = kAll);

  struct RankInfo {
    int64_t nodes = 0;
    int64_t bytes = 0;   ///< of its own blocks and its entry
    int64_t master = 0;  ///< the rank that it is stored as a difference from; itself if it stands alone
  };
  Result<RankInfo> info(int64_t rank);
  int64_t size() const;     ///< of the file, bytes
  int64_t touched() const;  ///< bytes read so far, those for opening included
  /// Reads everything once. Errors: those of open_rank.
  Result<void> verify();

  struct State;  ///< of the implementation
  State& state() { return *state_; }

 private:
  explicit Container(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  std::vector<int64_t> ranks_;
};

/// Writes a container, rank by rank. Memory: the columns of the rank and of its possible masters.
class Packer {
 public:
  static constexpr int64_t kGroupNodes = 128;  ///< nodes that are read together

  /// A new file, which appears with finish(). Errors: base.file.create.
  static Result<Packer> create(const std::string& path, int64_t group_nodes = kGroupNodes);
  /// Ranks behind those that a container holds already; its blocks stay as and where they are. The file stays as it
  /// was until finish() puts a longer one in its place. Waits while another process adds to it. Errors: those of
  /// Container, base.file.create, base.file.write. Cost: a copy of the file.
  static Result<Packer> append(const std::string& path);
  Packer(Packer&&) noexcept;
  ~Packer();

  /// A rank, by default the one that the source says, or 0. Returns its nodes. Errors: io.container.rank_twice,
  /// io.job.rank (the source says another), those of copy_records and of writing.
  Result<int64_t> add(std::optional<int64_t> rank, RecordSource& source);
  /// Errors: base.file.write.
  Result<void> finish();

  struct State;

 private:
  explicit Packer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Repaired {
  int64_t ranks = 0;
  int64_t bytes = 0;  ///< of the file as it is now
  int64_t cut = 0;    ///< bytes after these that were cut off; 0: the container was whole
};

/// Cuts a container whose index cannot be read behind the last older index with which all before it can be read: a
/// file that was cut, or to which adding was interrupted, is then as it was before. Where the index is good and a block
/// is not, or no older index is left, the file stays as it is. Errors: those of Container for the whole file,
/// base.file.write. Cost: O(bytes), for each of at most 16 indices that are tried.
Result<Repaired> repair_container(const std::string& path);

}  // namespace chakra::io
