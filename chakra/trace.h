// One rank's trace: nodes in rows, what each has in columns, and who waits for whom. A Builder makes one, a Feeder
// hands out the nodes of a file that may run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/result.h"

namespace chakra {
inline namespace v1 {

/// The values are those of the field `type` on disk (docs/reference/formats/et.md).
enum class NodeType : uint8_t { invalid, metadata, mem_load, mem_store, comp, comm_send, comm_recv, comm_coll };
/// Likewise of comm_type.
enum class CommType : uint8_t {
  all_reduce,
  reduce,
  all_gather,
  gather,
  scatter,
  broadcast,
  all_to_all,
  reduce_scatter,
  reduce_scatter_block,
  barrier,
  unknown = 255
};
/// Why a node waits for another; the values are those of dep_kinds on disk.
enum class EdgeKind : uint8_t { given, program, launch, stream, event, sync, thread, data, comm, contention };

/// What a communication node moves.
struct Communication {
  CommType type = CommType::unknown;                ///< of collectives
  uint64_t bytes = 0;                               ///< that this rank puts in (all-gather: its shard; else all of it)
  std::string group = {};                           ///< its process group; "": all ranks
  int64_t src = -1, dst = -1, tag = -1, root = -1;  ///< -1: not said
};
struct ProcessGroup {
  std::string name;
  std::vector<int64_t> ranks;  ///< empty: all
};

/// A copy costs a pointer. Rows count from 0, in the order of the file. Functions of a row require row < size().
class CHAKRA_API Trace {
 public:
  Trace();  ///< without nodes

  size_t size() const;  ///< nodes
  int64_t rank() const;
  int64_t base_ns() const;  ///< what start_ps counts from, in ns since 1970 where that is known

  // Columns, a value for each node. They live as long as any copy of the trace.
  std::span<const int64_t> start_ps() const;  ///< 0 where has_start is false
  std::span<const int64_t> dur_ps() const;
  std::span<const NodeType> type() const;
  std::span<const uint64_t> num_ops() const;       ///< operations; empty where no node says it
  std::span<const uint64_t> tensor_bytes() const;  ///< read and written; empty where no node says it
  std::span<const uint32_t> name_code() const;     ///< equal where the names are

  uint64_t id(size_t row) const;  ///< in the file
  std::string_view name(size_t row) const;
  size_t codes() const;                           ///< those of names are below it
  std::string_view name_of(uint32_t code) const;  ///< requires code < codes()
  bool on_device(size_t row) const;
  bool has_start(size_t row) const;  ///< its start was measured
  std::optional<Communication> communication(size_t row) const;
  /// An attribute that has no column, as text; nothing where the node has none.
  std::optional<std::string> attribute(size_t row, std::string_view name) const;

  std::span<const uint32_t> waits_for(size_t row) const;  ///< rows
  EdgeKind edge_kind(size_t row, size_t edge) const;      ///< of waits_for(row)[edge]
  int64_t edge_lag_ps(size_t row, size_t edge) const;     ///< so much later than that node's end
  // All edges: those of a row are [edge_begin()[row], edge_begin()[row + 1]) of edge_on(), which waits_for() shows.
  std::span<const uint32_t> edge_begin() const;
  std::span<const uint32_t> edge_on() const;
  std::vector<ProcessGroup> groups() const;

 private:
  friend struct TraceMaker;
  std::shared_ptr<const void> data_;
};

/// Makes a trace, node by node. A node that is named may be one that comes later. The first mistake is the error of
/// finish().
class CHAKRA_API Builder {
 public:
  explicit Builder(int64_t rank);
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;
  ~Builder();

  /// The group exists on every rank that has it in a list.
  Builder& group(std::string_view name, const std::vector<int64_t>& ranks);

  // Nodes; each gives its row. On a device, unless host() follows.
  uint32_t compute(std::string_view name, int64_t dur_ps, uint64_t num_ops = 0, uint64_t tensor_bytes = 0);
  uint32_t load(std::string_view name, uint64_t bytes);                    ///< from memory or storage
  uint32_t store(std::string_view name, uint64_t bytes);                   ///< likewise, to it
  uint32_t communicate(std::string_view name, const Communication& what);  ///< a collective: type is not unknown
  uint32_t send(std::string_view name, int64_t to, uint64_t bytes, int64_t tag = 0);
  uint32_t receive(std::string_view name, int64_t from, uint64_t bytes, int64_t tag = 0);

  // Of the node that was made last.
  Builder& host();                                      ///< it runs on the CPU
  Builder& on_thread(int64_t process, int64_t thread);  ///< likewise, on this thread
  Builder& on_stream(int64_t device, int64_t stream);   ///< operations of a stream run one after the other
  Builder& dtype(std::string_view name);                ///< of its operations: "bf16"; docs/reference/formats/et.md
  Builder& starts_at(int64_t start_ps);                 ///< its measured start
  Builder& attribute(std::string_view name, std::string_view value);  ///< of its own
  Builder& attribute(std::string_view name, int64_t value);

  /// `row` starts at the earliest `lag_ps` after `on` has ended.
  Builder& wait(uint32_t row, uint32_t on, EdgeKind kind = EdgeKind::data, int64_t lag_ps = 0);

  /// Errors: trace.build for a negative rank or time, for a row that no node has, for a node that waits for itself, and
  /// for attributes before the first node. The builder is then empty. Cost: O(nodes + edges).
  Result<Trace> finish();

 private:
  std::unique_ptr<struct BuilderData> data_;
};

/// Hands out the nodes of a trace of any size whose dependencies are done, and is told when they are. The file is read
/// while the program runs; memory does not grow with it (docs/how-to/feed.md).
class CHAKRA_API Feeder {
 public:
  /// Which of several nodes comes first.
  enum class Order : uint8_t {
    id,             ///< lowest id first
    critical_path,  ///< longest path of durations through the nodes in memory first
    fifo            ///< as they became ready
  };
  struct Options {
    uint64_t budget_bytes = uint64_t{64} << 20;  ///< of nodes in memory; one node always fits
    Order order = Order::id;
  };
  struct Node {
    uint64_t id = 0;
    std::string_view name;  ///< lives until the next call of next()
    NodeType type = NodeType::invalid;
    int64_t dur_ps = 0;  ///< 0 where it is not known
    uint64_t num_ops = 0;
    uint64_t comm_bytes = 0;  ///< of communication
  };

  /// `path` as for open(), of one rank. Errors: those of reading, such as io.job.several.
  static Result<Feeder> open(const std::string& path, const Options& options);
  static Result<Feeder> open(const std::string& path) { return open(path, {}); }
  Feeder(Feeder&&) noexcept;
  Feeder& operator=(Feeder&&) noexcept;
  ~Feeder();

  /// A node whose dependencies are all done. Null when none is ready: then either finished() is true, or done() of a
  /// running node must come first. Errors: those of reading, feed.id.duplicate, feed.dep.dangling, feed.dep.cycle.
  Result<const Node*> next();
  Result<void> done(uint64_t id);  ///< Errors: feed.not_running
  bool finished() const;           ///< all nodes have been read and are done
  uint64_t nodes_done() const;

 private:
  explicit Feeder(std::unique_ptr<struct FeederData> data);
  std::unique_ptr<struct FeederData> data_;
};

/// Hands out the rows of a trace in memory, with the time from which each may start: the latest end of what it waits
/// for, and the lag of that edge.
class CHAKRA_API RowFeeder {
 public:
  struct Ready {
    uint32_t row = 0;
    int64_t time_ps = 0;
  };
  /// Errors: sim.trace.defect for a trace that no simulation can run, sim.stuck.cycle for nodes that wait for each
  /// other. Cost: O(nodes + edges).
  static Result<RowFeeder> of(const Trace& trace);
  RowFeeder(RowFeeder&&) noexcept;
  RowFeeder& operator=(RowFeeder&&) noexcept;
  ~RowFeeder();

  /// Appends the rows that wait for nothing, ascending.
  void start(std::vector<Ready>& ready);
  /// The node ended: appends the rows that may start now, ascending. Errors: feed.not_running for a row that was not
  /// handed out or is done.
  Result<void> done(uint32_t row, int64_t time_ps, std::vector<Ready>& ready);
  uint32_t remaining() const;  ///< nodes that are not done

 private:
  explicit RowFeeder(std::unique_ptr<struct RowFeederData> data);
  std::unique_ptr<struct RowFeederData> data_;
};

}  // namespace v1
}  // namespace chakra
