// A Trace: the work of one rank, as a dependency graph held in columns. A node is a row; its
// NodeId is the row's number; strings are interned; edges are stored per node (CSR) with a parallel
// column of kinds. A Builder builds a Trace once, and the Trace does not change afterwards: code
// that computes values about nodes keeps a separate column beside the Trace. Copies share columns
// (base/column.h), so ranks with identical work take the memory of one rank.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/attrs.h"
#include "chakra/trace/columns.h"
#include "chakra/trace/dtype.h"
#include "chakra/trace/steps.h"

namespace chakra::trace {

using NodeId = Id<struct NodeTag>;  ///< a row; not the id in the file, which is Trace::id[row]
inline constexpr NodeId kNoNode{UINT32_MAX};
inline constexpr uint32_t kNoLane = UINT32_MAX;
inline constexpr uint32_t kNoRow = UINT32_MAX;

/// As in the published schema (docs/reference/formats/et.md); the values are those on disk.
enum class NodeType : uint8_t { invalid, metadata, mem_load, mem_store, comp, send, recv, coll };
inline constexpr std::array<std::string_view, 8> kNodeTypeNames{"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                                "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                                "COMM_RECV_NODE", "COMM_COLL_NODE"};
inline std::string_view name(NodeType type) { return kNodeTypeNames[static_cast<size_t>(type)]; }
constexpr bool is_comm(NodeType type) { return type >= NodeType::send; }

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
  unknown = 255  ///< not given in the file
};
inline constexpr std::array<std::string_view, 10> kCommTypeNames{
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};
inline std::string_view name(CommType type) {
  return type == CommType::unknown ? "UNKNOWN" : kCommTypeNames[static_cast<size_t>(type)];
}

/// Whether a collective of this type has a root rank.
inline bool has_root(CommType type) {
  return type == CommType::reduce || type == CommType::gather || type == CommType::scatter ||
         type == CommType::broadcast;
}

/// Return nccl-tests' algorithm bandwidth, as a multiple of comm_size / time: gathers count the data of all members.
double algorithm_factor(CommType type, uint32_t members);
/// Return nccl-tests' bus bandwidth, as a multiple of the algorithm bandwidth: the rate of the links.
double bus_factor(CommType type, uint32_t members);

/// Why a node waits for another. The values are those of the attribute dep_kinds on disk.
enum class EdgeKind : uint8_t {
  given,       ///< came with the file
  program,     ///< same CPU thread
  launch,      ///< CPU call -> device operation
  stream,      ///< same device queue
  event,       ///< recorded event -> device operation that waits for it
  sync,        ///< device operation -> blocking CPU call
  thread,      ///< fork or join between CPU threads, autograd included
  data,        ///< tensor or storage
  comm,        ///< completion of a collective or a message
  contention,  ///< waits for the device, not for data
};
struct EdgeKindRow {
  std::string_view name;
  std::string_view description;
};
inline constexpr std::array<EdgeKindRow, 10> kEdgeKinds{{
    {"given", "came with the file, which gives no reason"},
    {"program", "next on the same CPU thread"},
    {"launch", "CPU call to the device operation it launched"},
    {"stream", "next on the same device stream"},
    {"event", "device operation to one that waits for it through an event"},
    {"sync", "device operation to the CPU call that blocks on it"},
    {"thread", "fork or join between CPU threads"},
    {"data", "writer of a tensor to its reader"},
    {"comm", "CPU call to the communication that it starts, or completion of the communication to a waiting node"},
    {"contention", "waits for the device to be free"},
}};
inline std::string_view name(EdgeKind kind) { return kEdgeKinds[static_cast<size_t>(kind)].name; }
/// Set in a kind byte if the edge comes from a documented rule instead of a record.
inline constexpr uint8_t kInferred = 0x80;
constexpr EdgeKind kind_of(uint8_t byte) { return static_cast<EdgeKind>(byte & 0x7f); }

/// Names of the nodes that represent time rather than an operation.
inline constexpr std::string_view kHostGap = "[chakra|host_gap]";
inline constexpr std::string_view kSyncRemainder = "[chakra|sync_remainder]";
inline constexpr std::string_view kUnrecorded = "[chakra|unrecorded]";
inline constexpr std::string_view kInitialCondition = "[chakra|initial_condition]";

/// Nodes that ran one after the other: a CPU thread or a device stream.
struct Lane {
  enum class Kind : uint8_t { thread, stream } kind = Kind::thread;
  int64_t process = 0;  ///< thread: pid; stream: device
  int64_t index = 0;    ///< thread: tid; stream: stream
};

struct ProcessGroup {
  std::string name;
  std::string description;
  std::string backend;
  std::vector<int64_t> ranks;  ///< ascending as given; empty: all ranks
  int64_t size = 0;
};

/// The data of a communication node. Strings belong to the trace's pool.
struct Comm {
  CommType type = CommType::unknown;
  uint64_t bytes = 0;  ///< comm_size: bytes that this rank contributes (all-gather: its shard; else all)
  uint64_t in_bytes = 0, out_bytes = 0;
  StringId dtype = 0;
  StringId group = 0;
  std::string_view in_split, out_split;  ///< "[1, 2]", in elements; empty: even
  int64_t sequence = -1;
  int64_t root = -1;
  int64_t src = -1, dst = -1, tag = -1;
  int64_t priority = 0;
  uint64_t involved = 0;       ///< involved_dim: bit d is set if network dimension d takes part
  uint8_t involved_count = 0;  ///< number of dimensions in involved_dim; 0: the attribute is absent
};

struct Edges {
  Column<uint32_t> begin;  ///< size() + 1 entries: node n's edges are [begin[n], begin[n+1])
  Column<NodeId> node;     ///< the node waited for
  Column<uint8_t> kind;    ///< parallel to node; empty for control edges
  Lags lag;                ///< by index in node

  std::span<const NodeId> of(NodeId n) const { return {node.data() + begin[n], node.data() + begin[n + 1]}; }
  Picoseconds lag_of(size_t edge) const { return lag[edge]; }
  /// Equal for edges that share their columns, as in copies. Unique among living edges that share no columns.
  using Identity = std::array<const void*, 3>;
  Identity identity() const { return {begin.data(), node.data(), lag.data()}; }
};

/// A defect in the file that the graph cannot express; `id` is the number in the file.
struct Defect {
  enum class Kind : uint8_t { duplicate_id, dangling_dep, dangling_ctrl, self_dep, negative_size } kind;
  NodeId node;
  uint64_t id;  ///< the duplicate or missing id
  bool operator==(const Defect&) const = default;
};

// Bits of Trace::flags.
inline constexpr uint8_t kOnCpu = 1;         ///< is_cpu_op
inline constexpr uint8_t kHasStart = 2;      ///< start_ps was measured
inline constexpr uint8_t kHasDuration = 4;   ///< dur_ps was measured or given
inline constexpr uint8_t kSaysCpuOrNot = 8;  ///< the file has is_cpu_op for this node

struct Trace {
  std::string file;
  int64_t rank = 0;
  bool says_rank = false;  ///< the file contains the rank, not only the file's name
  int64_t base_ns = 0;     ///< the zero of start_ps, in nanoseconds since 1970 if known

  StringPool strings;
  Arena texts;

  // One row per node; kColumns describes each column.
  Ids id;
  Column<StringId> name;
  Column<NodeType> type;
  Column<uint8_t> flags;
  Column<Picoseconds> start_ps, dur_ps;
  Column<NodeId> part_of;
  Column<uint32_t> lane, comm_row, io_row;
  Column<uint64_t> num_ops, tensor_bytes;
  Column<uint8_t> op_dtype;
  Column<size_t> attr_begin;  ///< size() + 1 positions in attrs

  Edges deps;  ///< data_deps: all ordering that must hold
  Edges ctrl;  ///< ctrl_deps: the call tree, caller of each node

  std::vector<Lane> lanes;
  Column<Comm> comms;
  Column<PackedIo> ios;  ///< in texts
  Attrs attrs;
  std::vector<ProcessGroup> groups;
  std::vector<Attr> metadata;  ///< of the file
  std::vector<Defect> defects;

  // Defined once, in trace.cpp: otherwise each source file with a Trace would compile these functions again.
  Trace();
  Trace(const Trace& other);
  Trace(Trace&& other) noexcept;
  Trace& operator=(const Trace& other);
  Trace& operator=(Trace&& other) noexcept;
  ~Trace();

  uint32_t size() const { return static_cast<uint32_t>(id.size()); }
  IdRange<NodeId> nodes() const { return ids<NodeId>(size()); }
  bool on_cpu(NodeId n) const { return flags[n] & kOnCpu; }
  bool has_start(NodeId n) const { return flags[n] & kHasStart; }
  std::string_view name_of(NodeId n) const { return strings[name[n]]; }
  const Comm* comm(NodeId n) const { return comm_row[n] == kNoRow ? nullptr : &comms[comm_row[n]]; }
  DType dtype_of(NodeId n) const { return op_dtype.empty() ? DType::unknown : static_cast<DType>(op_dtype[n]); }
  Attrs::Range attrs_of(NodeId n) const { return attrs.range(attr_begin[n], attr_begin[n + 1]); }
  /// Whether the node is a device operation: it is on a stream, or the file marks it as not on the CPU.
  bool on_device(NodeId n) const {
    return (lane[n] != kNoLane && lanes[lane[n]].kind == Lane::Kind::stream) ||
           (!on_cpu(n) && (flags[n] & kSaysCpuOrNot) && type[n] != NodeType::metadata);
  }
};

/// How a column is written. A column stored as an attribute is empty if no node has the
/// attribute, and needs no code for reading, writing, copying and comparing.
enum class Stored : uint8_t {
  by_hand,  ///< a field, several attributes, or a side table: by special code
  int64,    ///< as an attribute: a number from 0
  uint64,   ///< the same, in another member of the attribute's oneof
  dtype     ///< the name of a DType
};

/// A column of nodes: its meaning, its name on disk (docs/reference/formats/et.md), and its value for a new node.
template <class T>
struct ColumnRow {
  std::string_view name;
  Column<T> Trace::*column;
  T fill;
  Stored stored;
  std::string_view wire, meaning;

  constexpr bool is_attribute() const { return stored != Stored::by_hand; }
  T of(const Trace& trace, NodeId node) const {
    const Column<T>& values = trace.*column;
    return node < values.size() ? values[node] : fill;
  }
};

/// Every column but the ids and attr_begin, for building, reading, writing, copying, comparing and the contract.
inline constexpr std::tuple kColumns{
    ColumnRow<StringId>{"name", &Trace::name, 0, Stored::by_hand, "name", "name of the node; of Trace::strings"},
    ColumnRow<NodeType>{"type", &Trace::type, NodeType::invalid, Stored::by_hand, "type", "kind of node"},
    ColumnRow<uint8_t>{"flags", &Trace::flags, 0, Stored::by_hand, "is_cpu_op", "bits: kOnCpu, kHasStart and so on"},
    ColumnRow<Picoseconds>{"start_ps", &Trace::start_ps, 0, Stored::by_hand, "ts_ns", "when it began, since base_ns"},
    ColumnRow<Picoseconds>{"dur_ps", &Trace::dur_ps, 0, Stored::by_hand, "dur_ns", "how long it took"},
    ColumnRow<NodeId>{"part_of", &Trace::part_of, kNoNode, Stored::by_hand, "part_of",
                      "the node that it continues, or kNoNode"},
    ColumnRow<uint32_t>{"lane", &Trace::lane, kNoLane, Stored::by_hand, "tid, device, stream",
                        "into lanes, or kNoLane"},
    ColumnRow<uint32_t>{"comm_row", &Trace::comm_row, kNoRow, Stored::by_hand, "comm_*", "into comms, or kNoRow"},
    ColumnRow<uint32_t>{"io_row", &Trace::io_row, kNoRow, Stored::by_hand, "inputs, outputs", "into ios, or kNoRow"},
    ColumnRow<uint64_t>{"num_ops", &Trace::num_ops, 0, Stored::int64, "num_ops", "operations; a multiply-add counts 2"},
    ColumnRow<uint64_t>{"tensor_bytes", &Trace::tensor_bytes, 0, Stored::uint64, "tensor_size",
                        "bytes read and written"},
    ColumnRow<uint8_t>{"op_dtype", &Trace::op_dtype, 0, Stored::dtype, "op_dtype",
                       "DType that the operations are done in"},
};
/// Call visit(row) for each column.
template <class Visit>
constexpr void each_column(const Visit& visit) {
  std::apply([&](const auto&... row) { (visit(row), ...); }, kColumns);
}

/// Check the contract of every Trace, by CHAKRA_ASSERTs: columns have a row per node, edges and rows of side
/// tables exist. A function that makes or changes a trace must end with this check; a function that takes a
/// trace must begin with the check. Cost: O(1); with CHAKRA_SLOW_ASSERTIONS O(nodes + edges).
void assert_whole(const Trace& trace);
void assert_whole(const Edges& edges, uint32_t nodes);

/// Collects nodes and edges in any order and builds a Trace.
class Builder {
 public:
  /// The caller may fill in everything but edges here directly.
  Trace trace;

  NodeId add(uint64_t id, StringId name, NodeType type);
  /// Add an attribute to the node added last. The text is copied.
  void attr(const Attr& attr) { trace.attrs.add(kept(attr, trace.texts)); }
  uint32_t lane(const Lane& lane);  ///< finds or adds
  Comm& comm(NodeId node);          ///< finds or adds

  void dep(NodeId node, NodeId on, uint8_t kind, Picoseconds lag = 0) { deps_.add(node, on, kind, lag); }
  void ctrl(NodeId node, NodeId parent) { ctrls_.add(node, parent); }
  // Edges by the ids of the file, which may refer to later nodes or to missing nodes.
  void dep_by_id(NodeId node, uint64_t on, uint8_t kind, Picoseconds lag) { deps_by_id_.add(node, on, kind, lag); }
  void ctrl_by_id(NodeId node, uint64_t parent) { ctrls_by_id_.add(node, parent); }
  /// Announce `deps` deps and `ctrls` callers of a node, by id.
  void expect_by_id(size_t deps, size_t ctrls) {
    deps_by_id_.reserve(deps);
    ctrls_by_id_.reserve(ctrls);
  }
  void part_by_id(NodeId node, uint64_t whole) { parts_by_id_.add(node, whole); }

  /// Return the trace. Duplicate ids, references to missing ids and edges of a node to itself become Trace::defects.
  /// Cost: O(nodes + edges).
  Trace finish() &&;

 private:
  /// Edges in any order, in columns: there are millions, few with a lag.
  struct EdgeList {
    Column<NodeId> node;
    Column<uint64_t> on;
    Column<uint8_t> kind;
    std::vector<std::pair<size_t, Picoseconds>> lag;  ///< by edge

    void add(NodeId from, uint64_t to, uint8_t how = 0, Picoseconds late = 0) {
      if (late != 0) lag.emplace_back(node.size(), late);
      node.push_back(from);
      on.push_back(to);
      kind.push_back(how);
    }
    bool empty() const { return node.empty(); }
    /// Reserve room for exactly `more` further edges, if more than all so far: otherwise vectors grow on demand.
    void reserve(size_t more) {
      if (more <= node.size()) return;
      node.reserve(node.size() + more);
      on.reserve(on.size() + more);
      kind.reserve(kind.size() + more);
    }
    template <class Visit>
    void for_each(const Visit& visit) const {
      for (size_t e = 0, l = 0; e < node.size(); ++e) {
        const bool late = l < lag.size() && lag[l].first == e;
        visit(node[e], on[e], kind[e], late ? lag[l++].second : 0);
      }
    }
  };
  EdgeList deps_, ctrls_, deps_by_id_, ctrls_by_id_, parts_by_id_;
  using LaneKey = std::tuple<Lane::Kind, int64_t, int64_t>;  // process, index
  std::map<LaneKey, uint32_t> lanes_;
  std::optional<std::pair<LaneKey, uint32_t>> last_lane_;

  void resolve_ids();
  void note(const Defect& defect);
};

/// Return the edges that `for_each(visit)` passes to visit(node, on, kind, lag). `for_each` is called twice
/// and must pass the same edges; the edges of a node keep their order. Cost: O(nodes + edges).
template <class ForEach>
Edges make_edges(uint32_t nodes, bool with_kind, const ForEach& for_each) {
  Edges edges;
  edges.begin.assign(nodes + 1, 0);
  const std::span<uint32_t> begin = edges.begin.edit();
  bool ascend = true;  // as from a reader
  NodeId last(0);
  for_each([&](NodeId node, NodeId, uint8_t, Picoseconds) {
    ++begin[node + 1];
    ascend &= node >= last;
    last = node;
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  edges.node.resize(begin.back());
  if (with_kind) edges.kind.resize(begin.back());
  const std::span<NodeId> to = edges.node.edit();
  const std::span<uint8_t> kinds = edges.kind.edit();
  std::vector<std::pair<uint32_t, Picoseconds>> lags;
  std::vector<uint32_t> next;  // where the next edge of a node goes
  if (!ascend) next.assign(begin.begin(), begin.end() - 1);
  uint32_t end = 0;
  for_each([&](NodeId node, NodeId on, uint8_t kind, Picoseconds lag) {
    const uint32_t at = ascend ? end++ : next[node]++;
    to[at] = on;
    if (with_kind) kinds[at] = kind;
    if (lag != 0) lags.emplace_back(at, lag);
  });
  edges.lag = Lags(edges.node.size(), lags);
  return edges;
}

/// Parse a list of numbers as in Comm::in_split: "[1, 2]" or "1, 2". False if not such a list, or if the sum overflows.
bool parse_split(std::string_view text, std::vector<uint64_t>& split);

/// A node of a trace that is read piece by piece, because the trace is too large for memory.
struct StreamedNode {
  uint64_t id = 0;
  std::vector<uint64_t> deps;  ///< ids of the nodes waited for, in any order; duplicates are allowed
  Picoseconds duration = 0;    ///< 0 if unknown
  std::string message;         ///< the node as its source has it; from io::open_nodes: the input of io::decode
};
/// Fill in the next node, in any order of ids; false after the last node.
using NodeSource = std::function<Result<bool>(StreamedNode& node)>;

/// The index of a rank in the containers of a job's ranks; the rank's number is Trace::rank.
using RankIndex = Id<struct RankTag>;
inline constexpr RankIndex kNoRank{UINT32_MAX};

/// The traces of a job, by ascending rank.
struct TraceSet {
  std::vector<Trace> ranks;
  IdRange<RankIndex> indices() const { return ids<RankIndex>(ranks.size()); }
  const Trace* find(int64_t rank) const;
};

/// Call work once for each rank of a job. Large jobs use all cores: the work for a rank must write only to the place of
/// that rank.
void each_rank(const TraceSet& job, const std::function<void(RankIndex)>& work);

/// A job by classes of ranks that run the same trace except for communication partners. In the trace
/// of a class, the group of a communication node is the name of a slot, and the src and dst of a
/// message are numbers of peer slots. `groups` names the slots that a rank's trace describes; each
/// rank lists the contents of its slots. A group that is not a slot stands for itself ("": all ranks).
/// Roots are as in any trace: ranks with other roots belong to another class.
struct ClassJob {
  std::vector<Trace> classes;
  std::vector<std::vector<std::string>> group_slots;  ///< per class: the names, unique and not empty
  std::vector<uint32_t> peer_slots;                   ///< per class: the number
  std::vector<ProcessGroup> groups;                   ///< of the job

  struct Rank {
    int64_t rank = 0;
    uint32_t cls = 0;
    uint32_t first_group = 0;  ///< in group_of: one for each group slot of its class
    uint32_t first_peer = 0;   ///< in peer_of: one for each peer slot of its class
  };
  std::vector<Rank> ranks;         ///< ascending
  std::vector<uint32_t> group_of;  ///< into groups
  std::vector<int64_t> peer_of;    ///< ranks
};

/// Return the complete trace of ranks[index]: with its rank, groups and peers. Cost: O(nodes + edges).
Trace concrete(const ClassJob& job, size_t index);
/// Return the traces of all ranks. Cost: O(nodes of all ranks).
TraceSet expand(const ClassJob& job);
/// The inverse: ranks share a class if their traces are equal in every byte except file names, group names and peers;
/// concrete() restores each trace. Slots are numbered by first use; groups that no node uses come last. Classes are in
/// the order of their first ranks. Cost: O(nodes of all ranks); memory: again one trace of each class.
ClassJob by_class(TraceSet&& job);

/// Nodes in an order in which each node follows all nodes it waits for; among ready nodes, the lowest row comes first.
/// If there is a cycle, `order` lacks the nodes of the cycle and all dependent nodes, and `cycle` walks round it once.
/// Cost: O(nodes + edges); O(nodes log nodes) if dependencies point to later rows.
struct Order {
  std::vector<NodeId> order;
  std::vector<NodeId> cycle;
};
Order topological_order(const Edges& edges);  ///< requires whole edges
/// Return all nodes in such an order. Errors, under the caller's tag: a node waits for itself, directly or in a cycle.
Result<std::vector<NodeId>> running_order(const Trace& trace, std::string_view tag);

/// Return the waiting nodes of each node: `edges` reversed (kinds and lags left out).
Edges reversed(const Edges& edges);

/// Return the end of each node if all nodes start as soon as their dependencies allow, from time 0:
/// end[n] = durations[n] + max(0, end[dep] + lag over dependencies).
/// Requires a complete order, as above, and a duration per node.
std::vector<Picoseconds> earliest_ends(const Trace& trace, std::span<const NodeId> order,
                                       std::span<const Picoseconds> durations);

/// Why a node ended when it did: the node, then the dependency with the latest end plus
/// lag (the first of several), and so on back to a node without dependencies.
struct ChainLink {
  NodeId node = kNoNode;
  uint32_t edge = kNoRow;  ///< the edge, an index into deps, to the next link's node; kNoRow: the last link
};
/// Return the chain from `from`. Requires deps without a cycle, and an end per node. Cost: O(edges of the chain).
std::vector<ChainLink> latest_chain(const Trace& trace, NodeId from, std::span<const Picoseconds> ends);

/// Return the end of each node with a measured time, including all nodes it called on the same
/// lane: an operator ends with its last piece, an annotation with the last node inside. Relative
/// to base_ns; nodes without a measured start give 0. Cost: O(nodes + edges).
std::vector<Picoseconds> inclusive_ends(const Trace& trace);

/// Return the communication of which a node is a piece; else the node itself. Linking may cut a record, and a backend
/// may split a call into several records. Either way there is one communication: the node that has its type and bytes.
/// The other pieces do not count as work.
inline NodeId whole_communication(const Trace& trace, NodeId node) {
  const NodeId whole = trace.part_of[node];
  return whole != kNoNode && is_comm(trace.type[whole]) ? whole : node;
}
inline bool is_piece_of_communication(const Trace& trace, NodeId node) {
  return whole_communication(trace, node) != node;
}

/// From the start to the end of a communication with all its pieces; without a measured start, the duration from 0.
struct CommSpan {
  Picoseconds start = 0, end = 0;  ///< relative to base_ns
  bool measured = false;
  Picoseconds length() const { return end - start; }
};
/// Return the spans by row of Trace::comms, for the node with that row. Cost: O(nodes).
std::vector<CommSpan> communication_spans(const Trace& trace);

/// Return the node that represents each node in a figure: a continuation is shown as the node it continues.
/// A gap is not shown; the next node on its thread represents the gap. Cost: O(nodes + edges).
std::vector<NodeId> shown_nodes(const Trace& trace);

}  // namespace chakra::trace
