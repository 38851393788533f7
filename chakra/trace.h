// The trace of one rank: nodes in rows, properties of nodes in columns, and dependencies. A Builder makes a trace; a
// Feeder hands out the nodes of a file that may run.
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

/// Values of the field `type` on disk (docs/reference/formats/et.md).
enum class NodeType : uint8_t { invalid, metadata, mem_load, mem_store, comp, comm_send, comm_recv, comm_coll };
/// Values of the attribute `comm_type` on disk.
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
/// The reason of a dependency; numbered as `dep_kinds` on disk.
enum class EdgeKind : uint8_t { given, program, launch, stream, event, sync, thread, data, comm, contention };

/// Properties of a communication node.
struct Communication {
  CommType type = CommType::unknown;                ///< of collectives
  uint64_t bytes = 0;                               ///< that this rank contributes (all-gather: the shard; else all)
  std::string group = {};                           ///< the process group; "": all ranks
  int64_t src = -1, dst = -1, tag = -1, root = -1;  ///< -1: not recorded
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
  int64_t base_ns() const;  ///< origin of start_ps, in ns since 1970 where known

  // Columns, a value for each node. A column is valid as long as any copy of the trace.
  std::span<const int64_t> start_ps() const;  ///< 0 where has_start is false
  std::span<const int64_t> dur_ps() const;
  std::span<const NodeType> type() const;
  std::span<const uint64_t> num_ops() const;       ///< FLOPs; empty if no node has a value
  std::span<const uint64_t> tensor_bytes() const;  ///< read and written; empty if no node has a value
  std::span<const uint32_t> name_code() const;     ///< a code for each name: equal for equal names

  uint64_t id(size_t row) const;  ///< the id in the file
  std::string_view name(size_t row) const;
  size_t codes() const;                           ///< greater than every code of a name
  std::string_view name_of(uint32_t code) const;  ///< requires code < codes()
  bool on_device(size_t row) const;
  bool has_start(size_t row) const;  ///< the start was measured
  std::optional<Communication> communication(size_t row) const;
  /// Return an attribute without a column, as text; nullopt if the node does not have the attribute.
  std::optional<std::string> attribute(size_t row, std::string_view name) const;

  std::span<const uint32_t> waits_for(size_t row) const;  ///< rows of the dependencies
  EdgeKind edge_kind(size_t row, size_t edge) const;      ///< of waits_for(row)[edge]
  int64_t edge_lag_ps(size_t row, size_t edge) const;     ///< minimum delay after the end of that dependency
  // All edges: the edges of a row are [edge_begin()[row], edge_begin()[row + 1]) of edge_on(), as waits_for() returns.
  std::span<const uint32_t> edge_begin() const;
  std::span<const uint32_t> edge_on() const;
  std::vector<ProcessGroup> groups() const;

 private:
  friend struct TraceMaker;
  std::shared_ptr<const void> data_;
};

/// Make a trace, node by node. Calls may refer to nodes that are added later. finish() returns the first mistake as an
/// error.
class CHAKRA_API Builder {
 public:
  explicit Builder(int64_t rank);
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;
  ~Builder();

  /// Declare a process group. Traces that declare the same group must list the same ranks.
  Builder& group(std::string_view name, const std::vector<int64_t>& ranks);

  // Add a node, and return the row. The node runs on a device, unless host() follows.
  uint32_t compute(std::string_view name, int64_t dur_ps, uint64_t num_ops = 0, uint64_t tensor_bytes = 0);
  uint32_t load(std::string_view name, uint64_t bytes);                    ///< from memory or storage
  uint32_t store(std::string_view name, uint64_t bytes);                   ///< to memory or storage
  uint32_t communicate(std::string_view name, const Communication& what);  ///< a collective; the type must be known
  uint32_t send(std::string_view name, int64_t to, uint64_t bytes, int64_t tag = 0);
  uint32_t receive(std::string_view name, int64_t from, uint64_t bytes, int64_t tag = 0);

  // Properties of the last node.
  Builder& host();                                      ///< runs on the CPU
  Builder& on_thread(int64_t process, int64_t thread);  ///< runs on this thread of the CPU
  Builder& on_stream(int64_t device, int64_t stream);   ///< operations on the same stream run one after the other
  Builder& dtype(std::string_view name);                ///< of the FLOPs: "bf16"; docs/reference/formats/et.md
  Builder& starts_at(int64_t start_ps);                 ///< the measured start
  Builder& attribute(std::string_view name, std::string_view value);  ///< an attribute without a column
  Builder& attribute(std::string_view name, int64_t value);

  /// Make `row` start at least `lag_ps` after the end of `on`.
  Builder& wait(uint32_t row, uint32_t on, EdgeKind kind = EdgeKind::data, int64_t lag_ps = 0);

  /// Return the trace. Errors: trace.build for the first mistake, such as a negative time, an unknown row, a node that
  /// waits for itself, or an attribute without a node. The builder is then empty. Cost: O(nodes + edges).
  Result<Trace> finish();

 private:
  std::unique_ptr<struct BuilderData> data_;
};

/// Hand out the nodes of a trace of any size as soon as all dependencies are done; the program reports completed nodes.
/// The file is read while the program runs; memory does not grow with the file (docs/how-to/feed.md).
class CHAKRA_API Feeder {
 public:
  /// The order among several ready nodes.
  enum class Order : uint8_t {
    id,             ///< lowest id first
    critical_path,  ///< longest path of durations through the nodes in memory first
    fifo,           ///< order in which nodes became ready
    file            ///< first in the file first; nodes are read when no other node is ready: the fastest order
  };
  struct Options {
    uint64_t budget_bytes = uint64_t{64} << 20;  ///< of nodes in memory; one node always fits
    Order order = Order::file;
  };
  struct Node {
    uint64_t id = 0;
    std::string_view name;  ///< lives until the next call of next()
    NodeType type = NodeType::invalid;
    int64_t dur_ps = 0;  ///< 0 if unknown
    uint64_t num_ops = 0;
    uint64_t comm_bytes = 0;  ///< of a communication node
  };

  /// `path` as for open(), of one rank. Errors: as for reading, such as io.job.several.
  static Result<Feeder> open(const std::string& path, const Options& options);
  static Result<Feeder> open(const std::string& path) { return open(path, {}); }
  Feeder(Feeder&&) noexcept;
  Feeder& operator=(Feeder&&) noexcept;
  ~Feeder();

  /// Return a node with all dependencies done. Null: no node is ready; then finished() is true, or done() of a running
  /// node must come first. Errors: as for reading; feed.id.duplicate, feed.dep.dangling, feed.dep.cycle.
  Result<const Node*> next();
  Result<void> done(uint64_t id);  ///< Errors: feed.not_running
  bool finished() const;           ///< all nodes are read and done
  uint64_t nodes_done() const;

 private:
  explicit Feeder(std::unique_ptr<struct FeederData> data);
  std::unique_ptr<struct FeederData> data_;
};

/// Hand out the rows of a trace in memory, with the earliest start of each: the maximum of end plus lag over the
/// dependencies.
class CHAKRA_API RowFeeder {
 public:
  struct Ready {
    uint32_t row = 0;
    int64_t time_ps = 0;
  };
  /// Errors: sim.trace.defect for a trace that cannot be simulated, sim.stuck.cycle for a cycle of dependencies. Cost:
  /// O(nodes + edges).
  static Result<RowFeeder> of(const Trace& trace);
  RowFeeder(RowFeeder&&) noexcept;
  RowFeeder& operator=(RowFeeder&&) noexcept;
  ~RowFeeder();

  /// Append the rows without dependencies, ascending.
  void start(std::vector<Ready>& ready);
  /// Report the end of a row: append the rows that may start now, ascending. Errors: feed.not_running for a row that
  /// was not handed out or is done.
  Result<void> done(uint32_t row, int64_t time_ps, std::vector<Ready>& ready);
  /// Likewise for several rows and the end of each row, in this order. After an error, no row is done. Errors:
  /// feed.not_running, also for a duplicate row; feed.batch for two lists of unequal length.
  Result<void> done(std::span<const uint32_t> rows, std::span<const int64_t> times_ps, std::vector<Ready>& ready);
  uint32_t remaining() const;  ///< nodes that are not done
  /// Return the queue of each row; -1: no queue. A queue runs one node at a time, and the simulator takes the lowest
  /// ready row first. Queues are the threads and streams of the trace; then the processor, the device, the memory and
  /// the sends of the rank; then one for each group of collectives, whose rows run in ascending order.
  std::vector<int64_t> queues() const;

 private:
  explicit RowFeeder(std::unique_ptr<struct RowFeederData> data);
  std::unique_ptr<struct RowFeederData> data_;
};

}  // namespace v1
}  // namespace chakra
