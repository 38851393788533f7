// The container: all ranks of a job in one file, in columns, with an index, so that a rank or a window of its
// nodes can be read alone. Ranks that differ little from one before them (their master) are stored as that
// difference. docs/reference/formats/container.md is the contract.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/schema/schema.h"

namespace chakra::pack {

class Container;
using ContainerPtr = std::shared_ptr<Container>;
struct Stored;  // of the implementation

/// The metadata and some nodes of a rank, in the order of the file. It keeps the container.
class RankReader {
 public:
  RankReader(RankReader&&) noexcept;
  ~RankReader();
  /// The metadata's message. Valid as long as the reader. Errors: io.container.damaged, base.file.read.
  Result<std::string_view> metadata();
  /// The next node, valid until the following call; false behind the last. Errors: as metadata().
  Result<bool> next(schema::NodeRecord& record);
  /// Where in the file the block begins that was read last.
  Place place() const;

 private:
  friend class Container;
  struct State;
  explicit RankReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

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
  /// The metadata and `count` nodes from `first` on. Errors: io.container.rank (no such rank), io.container.damaged,
  /// base.file.read. Cost: only the blocks that hold these nodes are read.
  Result<RankReader> open_rank(int64_t rank, int64_t first = 0, int64_t count = kAll);

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

  Stored& stored() { return *stored_; }

 private:
  explicit Container(std::unique_ptr<Stored> stored);
  std::unique_ptr<Stored> stored_;
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

  /// Begins a rank with the message of its metadata. A rank that was begun and not ended is dropped.
  void begin_rank(std::string_view metadata);
  /// The next node of the rank. Errors: io.et.damaged (a list that is none).
  Result<void> node(const schema::NodeRecord& record);
  /// Writes the rank, which was read from `source`. Errors: io.container.rank_twice, base.file.write.
  Result<void> end_rank(int64_t rank, const std::string& source);
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

}  // namespace chakra::pack
