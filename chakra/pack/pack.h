// The container: all ranks of a job in one file, in columns, with an index, so that a rank or
// a window of its nodes can be read alone. A rank that differs little from an earlier rank (its
// master) is stored as a difference. docs/reference/formats/container.md is the contract.
#pragma once

#include <cstdint>
#include <functional>
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

/// The metadata and some nodes of a rank, in the order of the file. The reader keeps the container alive.
class RankReader {
 public:
  RankReader(RankReader&&) noexcept;
  ~RankReader();
  /// Return the metadata's message, valid as long as the reader. Errors: io.container.damaged, base.file.read.
  Result<std::string_view> metadata();
  /// Read the next node, valid until the following call; false after the last. Errors: as metadata().
  Result<bool> next(schema::NodeRecord& record);
  /// Return where in the file the last read block begins.
  Place place() const;

 private:
  friend class Container;
  struct State;
  explicit RankReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Reads a container and checks all bytes read: a changed byte is an error that names the block.
class Container : public std::enable_shared_from_this<Container> {
 public:
  /// Read the directory. Errors: base.file.open, base.file.read, io.container.not_one,
  /// io.container.version, io.container.truncated, io.container.damaged.
  static Result<ContainerPtr> open(const std::string& path);
  /// Open a file as if the file ended after `bytes`.
  static Result<ContainerPtr> open_beginning(const std::string& path, uint64_t bytes);
  ~Container();

  const std::vector<int64_t>& ranks() const { return ranks_; }  ///< ascending

  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  /// Open the metadata and `count` nodes from `first` on. Errors: io.container.rank (no such rank),
  /// io.container.damaged, base.file.read. Cost: reads only the blocks with these nodes.
  Result<RankReader> open_rank(int64_t rank, int64_t first = 0, int64_t count = kAll);

  struct RankInfo {
    int64_t nodes = 0;
    int64_t bytes = 0;   ///< of the rank's blocks and directory entry
    int64_t master = 0;  ///< the rank that this rank is stored as a difference from; itself if stored alone
    bool equal = false;  ///< the rank has the metadata and nodes of its master, or is the master
  };
  Result<RankInfo> info(int64_t rank);

  /// An attribute whose values in a rank differ from those in the rank's master.
  struct ChangedAttr {
    struct Value {
      std::string text;  ///< of members with text
      int64_t integer = 0;
    };
    std::string name;
    uint32_t member = 0;                          ///< of the attribute's oneof
    std::vector<std::pair<Value, Value>> values;  ///< the master's; the rank's. Other values are equal
  };
  /// The difference of a rank from its master.
  struct Likeness {
    int64_t master = 0;
    bool only_values = false;  ///< the nodes differ in the values of `attrs` only
    std::vector<ChangedAttr> attrs;
  };
  /// Errors: as open_rank(). Cost: O(columns).
  Result<Likeness> likeness(int64_t rank);
  int64_t size() const;     ///< of the file, bytes
  int64_t touched() const;  ///< bytes read so far, including those for opening
  /// Read everything once. Errors: those of open_rank.
  Result<void> verify();

  Stored& stored() { return *stored_; }

 private:
  explicit Container(std::unique_ptr<Stored> stored);
  std::unique_ptr<Stored> stored_;
  std::vector<int64_t> ranks_;
};

/// A rank as columns, for Packer::add(). Several threads can fill ranks of one packer side by side.
class RankWriter {
 public:
  RankWriter(RankWriter&&) noexcept;
  ~RankWriter();
  /// Add the next node of the rank. Errors: io.et.damaged (an invalid list).
  Result<void> node(const schema::NodeRecord& record);

 private:
  friend class Packer;
  struct State;
  explicit RankWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a container, rank by rank. The file depends on the ranks and on the order of adding them only.
/// Memory: the columns of the rank and of its possible masters.
class Packer {
 public:
  static constexpr int64_t kGroupNodes = 128;  ///< nodes that are read together

  /// Create a new file, which appears with finish(). Errors: base.file.create.
  static Result<Packer> create(const std::string& path, int64_t group_nodes = kGroupNodes);
  /// Add ranks after the ranks in an existing container, whose blocks stay unchanged and in place. The file
  /// stays unchanged until finish() replaces the file by a longer one. Waits while another process adds ranks.
  /// Errors: those of Container, base.file.create, base.file.write. Cost: a copy of the file.
  static Result<Packer> append(const std::string& path);
  Packer(Packer&&) noexcept;
  ~Packer();

  /// Begin a rank with the message of its metadata. The packer must outlive the rank, and must not
  /// add a rank while another thread fills this one.
  RankWriter begin_rank(std::string_view metadata) const;
  /// Add a rank, which was read from `source`. Errors: io.container.rank_twice, base.file.write.
  Result<void> add(RankWriter written, int64_t rank, const std::string& source);
  /// Add a rank with this metadata and the nodes of the earlier rank `of`. Return false, and add no rank, if the
  /// columns of `of` or of its master are not in memory. Errors: as add(). Cost: O(nodes / group_nodes).
  Result<bool> repeat_rank(int64_t rank, int64_t of, std::string_view metadata, const std::string& source);
  /// Errors: base.file.write.
  Result<void> finish();

  struct State;

 private:
  explicit Packer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Repaired {
  int64_t ranks = 0;
  int64_t bytes = 0;  ///< of the repaired file
  int64_t cut = 0;    ///< bytes cut off after the repaired file; 0: the container was intact
};

/// Cut off a container with an unreadable index after the last older index for which everything before is readable.
/// A truncated file, or a file after an interrupted append, is thereby restored to its earlier state. If the
/// index is intact but a block is damaged, or no older index is left, the file stays unchanged. Errors: those of
/// Container for the whole file, base.file.write. Cost: O(bytes), for each of at most 16 indices.
Result<Repaired> repair_container(const std::string& path);

}  // namespace chakra::pack
