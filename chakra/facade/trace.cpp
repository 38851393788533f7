// Traces, builders and feeders of the facade.
#include "chakra/trace.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/facade/calls.h"
#include "chakra/feed/feed.h"
#include "chakra/io/io.h"

namespace chakra {
inline namespace v1 {
namespace {

// The public enumerations are those of the room, value by value.
static_assert(static_cast<int>(NodeType::comm_coll) == static_cast<int>(trace::NodeType::coll));
static_assert(static_cast<int>(NodeType::comp) == static_cast<int>(trace::NodeType::comp));
static_assert(static_cast<int>(CommType::barrier) == static_cast<int>(trace::CommType::barrier));
static_assert(static_cast<int>(CommType::unknown) == static_cast<int>(trace::CommType::unknown));
static_assert(static_cast<int>(EdgeKind::contention) == static_cast<int>(trace::EdgeKind::contention));
static_assert(sizeof(trace::NodeId) == sizeof(uint32_t) && sizeof(NodeType) == sizeof(trace::NodeType));

std::string shown(const trace::Attr& attr) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, attr.value);
}

}  // namespace

Trace TraceMaker::make(std::shared_ptr<const trace::Trace> trace) {
  Trace made;
  made.data_ = std::move(trace);
  return made;
}
const trace::Trace& TraceMaker::get(const Trace& trace) {
  static const trace::Trace none = trace::Builder().finish();
  return trace.data_ ? *static_cast<const trace::Trace*>(trace.data_.get()) : none;
}

namespace {

const trace::Trace& of(const Trace& trace) { return TraceMaker::get(trace); }
using trace::NodeId;

}  // namespace

Trace::Trace() = default;
size_t Trace::size() const { return of(*this).size(); }
int64_t Trace::rank() const { return of(*this).rank; }
int64_t Trace::base_ns() const { return of(*this).base_ns; }
std::span<const int64_t> Trace::start_ps() const { return of(*this).start_ps; }
std::span<const int64_t> Trace::dur_ps() const { return of(*this).dur_ps; }
std::span<const NodeType> Trace::type() const {
  const auto& types = of(*this).type;
  return {reinterpret_cast<const NodeType*>(types.data()), types.size()};
}
std::span<const uint64_t> Trace::num_ops() const { return of(*this).num_ops; }
std::span<const uint64_t> Trace::tensor_bytes() const { return of(*this).tensor_bytes; }
std::span<const uint32_t> Trace::name_code() const { return of(*this).name; }
size_t Trace::codes() const { return of(*this).strings.size(); }
std::string_view Trace::name_of(uint32_t code) const { return of(*this).strings[code]; }
uint64_t Trace::id(size_t row) const { return of(*this).id[row]; }
std::string_view Trace::name(size_t row) const { return of(*this).name_of(NodeId(row)); }
bool Trace::on_device(size_t row) const { return of(*this).on_device(NodeId(row)); }
bool Trace::has_start(size_t row) const { return of(*this).has_start(NodeId(row)); }

std::optional<Communication> Trace::communication(size_t row) const {
  const trace::Trace& t = of(*this);
  const trace::Comm* const comm = t.comm(NodeId(row));
  if (!comm) return std::nullopt;
  return Communication{static_cast<CommType>(comm->type),
                       comm->bytes,
                       std::string(t.strings[comm->group]),
                       comm->src,
                       comm->dst,
                       comm->tag,
                       comm->root};
}
std::optional<std::string> Trace::attribute(size_t row, std::string_view name) const {
  const trace::Trace& t = of(*this);
  for (const trace::Attr attr : t.attrs_of(NodeId(row)))
    if (t.strings[attr.name] == name) return shown(attr);
  return std::nullopt;
}
std::span<const uint32_t> Trace::waits_for(size_t row) const {
  const std::span<const NodeId> nodes = of(*this).deps.of(NodeId(row));
  return {reinterpret_cast<const uint32_t*>(nodes.data()), nodes.size()};
}
EdgeKind Trace::edge_kind(size_t row, size_t edge) const {
  const trace::Edges& deps = of(*this).deps;
  return static_cast<EdgeKind>(trace::kind_of(deps.kind[deps.begin[row] + edge]));
}
int64_t Trace::edge_lag_ps(size_t row, size_t edge) const {
  const trace::Edges& deps = of(*this).deps;
  return deps.lag_of(deps.begin[row] + edge);
}
std::span<const uint32_t> Trace::edge_begin() const { return of(*this).deps.begin; }
std::span<const uint32_t> Trace::edge_on() const {
  const auto& nodes = of(*this).deps.node;
  return {reinterpret_cast<const uint32_t*>(nodes.data()), nodes.size()};
}
std::vector<ProcessGroup> Trace::groups() const {
  std::vector<ProcessGroup> groups;
  for (const trace::ProcessGroup& group : of(*this).groups) groups.push_back({group.name, group.ranks});
  return groups;
}

// `trace.build` (1): a Builder got invalid data: a row that no node has, a node that waits for itself, a
// negative rank, time or lag, a collective without a type, an attribute before the first node

// ---- building ---------------------------------------------------------------------------------------------------

struct BuilderData {
  trace::Builder builder;
  std::optional<Error> wrong;  ///< the first mistake
  struct Edge {
    uint32_t row, on;
    EdgeKind kind;
    int64_t lag_ps;
  };
  std::vector<Edge> edges;  ///< whose nodes may come later

  trace::Trace& trace() { return builder.trace; }
  void refuse(std::string text) {
    if (!wrong) wrong = Error{Code::bad_input, "trace.build", std::move(text), {}};
  }
  NodeId add(NodeType type, std::string_view name, int64_t dur_ps) {
    if (dur_ps < 0) refuse(fmt::format("node {} takes {} ps", trace().size(), dur_ps));
    const NodeId node = builder.add(trace().size(), trace().strings.intern(name), static_cast<trace::NodeType>(type));
    trace().flags.edit(node) |= trace::kSaysCpuOrNot | (dur_ps > 0 ? trace::kHasDuration : 0);
    trace().dur_ps.edit(node) = std::max<int64_t>(dur_ps, 0);
    return node;
  }
  /// A column that nodes need not have.
  static void put(Column<uint64_t>& column, NodeId node, uint64_t value) {
    if (value == 0) return;
    column.resize(uint32_t{node} + size_t{1});
    column.edit(node) = value;
  }
  NodeId add_comm(NodeType type, std::string_view name, const Communication& what) {
    const NodeId node = add(type, name, 0);
    trace::Comm& comm = builder.comm(node);
    comm.type = static_cast<trace::CommType>(what.type);
    comm.bytes = what.bytes;
    comm.group = trace().strings.intern(what.group);
    comm.src = what.src;
    comm.dst = what.dst;
    comm.tag = what.tag;
    comm.root = what.root;
    return node;
  }
  bool has_node(std::string_view what) {
    if (trace().size() > 0) return true;
    refuse(fmt::format("{} before the first node", what));
    return false;
  }
  NodeId last() { return NodeId(trace().size() - 1); }
};

Builder::Builder(int64_t rank) : data_(std::make_unique<BuilderData>()) {
  if (rank < 0) data_->refuse(fmt::format("rank {}", rank));
  data_->trace().rank = rank;
  data_->trace().says_rank = true;
}
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;
Builder::~Builder() = default;

Builder& Builder::group(std::string_view name, const std::vector<int64_t>& ranks) {
  data_->trace().groups.push_back({std::string(name), "", "", ranks, static_cast<int64_t>(ranks.size())});
  return *this;
}
uint32_t Builder::compute(std::string_view name, int64_t dur_ps, uint64_t num_ops, uint64_t tensor_bytes) {
  const NodeId node = data_->add(NodeType::comp, name, dur_ps);
  BuilderData::put(data_->trace().num_ops, node, num_ops);
  BuilderData::put(data_->trace().tensor_bytes, node, tensor_bytes);
  return node;
}
uint32_t Builder::load(std::string_view name, uint64_t bytes) {
  const NodeId node = data_->add(NodeType::mem_load, name, 0);
  BuilderData::put(data_->trace().tensor_bytes, node, bytes);
  return node;
}
uint32_t Builder::store(std::string_view name, uint64_t bytes) {
  const NodeId node = data_->add(NodeType::mem_store, name, 0);
  BuilderData::put(data_->trace().tensor_bytes, node, bytes);
  return node;
}
uint32_t Builder::communicate(std::string_view name, const Communication& what) {
  if (what.type > CommType::barrier) data_->refuse(fmt::format("collective '{}' has no type", name));
  return data_->add_comm(NodeType::comm_coll, name, what);
}
uint32_t Builder::send(std::string_view name, int64_t to, uint64_t bytes, int64_t tag) {
  return data_->add_comm(NodeType::comm_send, name,
                         {.bytes = bytes, .src = data_->trace().rank, .dst = to, .tag = tag});
}
uint32_t Builder::receive(std::string_view name, int64_t from, uint64_t bytes, int64_t tag) {
  return data_->add_comm(NodeType::comm_recv, name,
                         {.bytes = bytes, .src = from, .dst = data_->trace().rank, .tag = tag});
}

Builder& Builder::host() {
  if (data_->has_node("host()")) data_->trace().flags.edit(data_->last()) |= trace::kOnCpu;
  return *this;
}
Builder& Builder::on_thread(int64_t process, int64_t thread) {
  host();
  if (!data_->has_node("a thread")) return *this;
  const uint32_t lane = data_->builder.lane({trace::Lane::Kind::thread, process, thread});
  data_->trace().lane.edit(data_->last()) = lane;
  return *this;
}
Builder& Builder::on_stream(int64_t device, int64_t stream) {
  if (!data_->has_node("a stream")) return *this;
  const uint32_t lane = data_->builder.lane({trace::Lane::Kind::stream, device, stream});
  data_->trace().lane.edit(data_->last()) = lane;
  return *this;
}
Builder& Builder::dtype(std::string_view name) {
  const trace::DType type = trace::dtype_of(name);
  if (type == trace::DType::unknown) data_->refuse(fmt::format("no type {}", quote(name)));
  if (!data_->has_node("a type")) return *this;
  Column<uint8_t>& column = data_->trace().op_dtype;
  column.resize(data_->trace().size());
  column.edit(data_->last()) = static_cast<uint8_t>(type);
  return *this;
}
Builder& Builder::starts_at(int64_t start_ps) {
  if (!data_->has_node("a start")) return *this;
  data_->trace().start_ps.edit(data_->last()) = start_ps;
  data_->trace().flags.edit(data_->last()) |= trace::kHasStart;
  return *this;
}
Builder& Builder::attribute(std::string_view name, std::string_view value) {
  if (data_->has_node("an attribute")) data_->builder.attr({data_->trace().strings.intern(name), value});
  return *this;
}
Builder& Builder::attribute(std::string_view name, int64_t value) {
  if (data_->has_node("an attribute")) data_->builder.attr({data_->trace().strings.intern(name), value});
  return *this;
}
Builder& Builder::wait(uint32_t row, uint32_t on, EdgeKind kind, int64_t lag_ps) {
  if (row == on) data_->refuse(fmt::format("node {} waits for itself", row));
  if (lag_ps < 0) data_->refuse(fmt::format("node {} waits {} ps", row, lag_ps));
  if (kind > EdgeKind::contention) data_->refuse(fmt::format("no kind {} of edges", static_cast<int>(kind)));
  data_->edges.push_back({row, on, kind, lag_ps});
  return *this;
}

Result<Trace> Builder::finish() {
  const int64_t rank = data_->trace().rank;
  const auto data = std::exchange(data_, std::make_unique<BuilderData>());
  data_->trace().rank = rank;
  data_->trace().says_rank = true;
  const uint32_t nodes = data->trace().size();
  for (const BuilderData::Edge& edge : data->edges) {
    if (edge.row >= nodes || edge.on >= nodes)
      data->refuse(fmt::format("node {} waits for node {}, but there are only {}", edge.row, edge.on, nodes));
    if (data->wrong) return Failure(*data->wrong);
    data->builder.dep(NodeId(edge.row), NodeId(edge.on), static_cast<uint8_t>(edge.kind), edge.lag_ps);
  }
  if (data->wrong) return Failure(*data->wrong);
  return TraceMaker::make(std::make_shared<const trace::Trace>(std::move(data->builder).finish()));
}

// ---- feeding ----------------------------------------------------------------------------------------------------

struct FeederData {
  feed::StreamFeeder feeder;
  io::NodeRecord record = {};
  Feeder::Node node = {};
};

Feeder::Feeder(std::unique_ptr<FeederData> data) : data_(std::move(data)) {}
Feeder::Feeder(Feeder&&) noexcept = default;
Feeder& Feeder::operator=(Feeder&&) noexcept = default;
Feeder::~Feeder() = default;

namespace {
Result<feed::Policy> policy_of(Feeder::Order order) {
  switch (order) {
    case Feeder::Order::id: return feed::Policy::id;
    case Feeder::Order::critical_path: return feed::Policy::critical_path;
    case Feeder::Order::fifo: return feed::Policy::fifo;
    case Feeder::Order::file: return feed::Policy::file;
  }
  return fail(Code::usage, "cli.usage", "no such order of nodes");
}
}  // namespace

Result<Feeder> Feeder::open(const std::string& path, const Options& options) {
  CHAKRA_ASSIGN(trace::NodeSource nodes, io::open_nodes(path, {.durations = true}));
  CHAKRA_ASSIGN(const feed::Policy policy, policy_of(options.order));
  feed::StreamFeeder feeder(std::move(nodes), {.budget_bytes = options.budget_bytes, .policy = policy});
  return Feeder(std::unique_ptr<FeederData>(new FeederData{std::move(feeder)}));
}
Result<const Feeder::Node*> Feeder::next() {
  CHAKRA_ASSIGN(const trace::StreamedNode* const found, data_->feeder.next());
  if (!found) return nullptr;
  CHAKRA_TRY(io::decode(found->message, data_->record));
  const io::NodeRecord& record = data_->record;
  const auto number = [&](std::string_view name) {
    uint64_t value = 0;
    for (const io::AttrRecord& attr : record.attrs)
      if (attr.name == name && attr.as_natural(value)) return value;
    return uint64_t{0};
  };
  const NodeType type = record.type <= static_cast<uint64_t>(NodeType::comm_coll) ? static_cast<NodeType>(record.type)
                                                                                  : NodeType::invalid;
  data_->node = {found->id, record.name, type, found->duration, number("num_ops"), number("comm_size")};
  return &data_->node;
}
Result<void> Feeder::done(uint64_t id) { return data_->feeder.done(id); }
bool Feeder::finished() const { return data_->feeder.finished(); }
uint64_t Feeder::nodes_done() const { return data_->feeder.stats().done; }

// ---- rows of a trace in memory ----------------------------------------------------------------------------------

struct RowFeederData {
  Trace trace;  ///< which the feeder walks
  feed::Feeder feeder;
  std::vector<feed::Ready> ready = {};  ///< of one call

  bool is_running(uint32_t row) const { return row < trace.size() && feeder.is_ready(NodeId(row)); }
  void hand_out(std::vector<RowFeeder::Ready>& to) {
    for (const feed::Ready& each : ready) to.push_back({each.node, each.time});
    ready.clear();
  }
};

namespace {
Failure not_running(uint32_t row) {
  return fail(Code::usage, "feed.not_running", fmt::format("row {} was not issued, or is done", row));
}
}  // namespace

RowFeeder::RowFeeder(std::unique_ptr<RowFeederData> data) : data_(std::move(data)) {}
RowFeeder::RowFeeder(RowFeeder&&) noexcept = default;
RowFeeder& RowFeeder::operator=(RowFeeder&&) noexcept = default;
RowFeeder::~RowFeeder() = default;

Result<RowFeeder> RowFeeder::of(const Trace& trace) {
  CHAKRA_TRY(feed::check_defects(TraceMaker::get(trace)));
  CHAKRA_TRY(trace::running_order(TraceMaker::get(trace), "sim.stuck.cycle"));
  return RowFeeder(std::unique_ptr<RowFeederData>(new RowFeederData{trace, feed::Feeder(TraceMaker::get(trace))}));
}
void RowFeeder::start(std::vector<Ready>& ready) {
  data_->feeder.start(data_->ready);
  data_->hand_out(ready);
}
Result<void> RowFeeder::done(uint32_t row, int64_t time_ps, std::vector<Ready>& ready) {
  if (!data_->is_running(row)) return not_running(row);
  data_->feeder.done(NodeId(row), time_ps, data_->ready);
  data_->hand_out(ready);
  return {};
}
Result<void> RowFeeder::done(std::span<const uint32_t> rows, std::span<const int64_t> times_ps,
                             std::vector<Ready>& ready) {
  if (rows.size() != times_ps.size())
    return fail(Code::usage, "feed.batch", fmt::format("{} rows have {} ends", rows.size(), times_ps.size()));
  std::vector<uint32_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if ((i > 0 && sorted[i] == sorted[i - 1]) || !data_->is_running(sorted[i])) return not_running(sorted[i]);
  for (size_t i = 0; i < rows.size(); ++i) data_->feeder.done(NodeId(rows[i]), times_ps[i], data_->ready);
  data_->hand_out(ready);
  return {};
}
uint32_t RowFeeder::remaining() const { return data_->feeder.remaining(); }
std::vector<int64_t> RowFeeder::queues() const {
  const trace::Trace& t = TraceMaker::get(data_->trace);
  std::vector<feed::Queues::Turn> turns;
  for (const trace::Comm& comm : t.comms) turns.push_back({comm.group, static_cast<uint32_t>(turns.size())});
  const feed::Queues queues(t, turns);
  std::vector<int64_t> made;
  made.reserve(t.size());
  for (const NodeId n : t.nodes()) {
    const uint32_t queue = queues.of(n);
    made.push_back(queue == feed::Queues::kNone ? -1 : int64_t{queue});
  }
  return made;
}

}  // namespace v1
}  // namespace chakra
