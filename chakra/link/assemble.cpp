// Items and dependencies -> Trace: ids in the order of time, attributes, the call tree.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "chakra/link/comm_nodes.h"
#include "chakra/link/linking.h"

namespace chakra::pytorch {
namespace {

using trace::Builder;
using trace::NodeId;
using trace::NodeType;

/// Items such that each stands after all it depends on and what is before it on its thread, and else by
/// start. Measured times that contradict each other could make a circle; then the dependencies of the
/// earliest item in it that a rule inferred go, or all of it but its place on its thread.
class Orderer {
 public:
  explicit Orderer(Linking& l) : l_(l), items_(l.items), deps_(l.deps) {
    const size_t count = items_.size();
    missing_.assign(count, 0);
    next_.assign(count, kNone);
    for (const auto& chain : l.chains)
      for (size_t i = 1; i < chain.size(); ++i) {
        next_[chain[i - 1]] = chain[i];
        ++missing_[chain[i]];
      }
    begin_.assign(count + 1, 0);
    for (const Dependency& d : deps_) ++begin_[d.on + 1], ++missing_[d.item];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    dependents_.resize(deps_.size());
    std::vector<uint32_t> fill(begin_.begin(), begin_.end() - 1);
    for (uint32_t d = 0; d < deps_.size(); ++d) dependents_[fill[deps_[d].on]++] = d;
    dropped_.assign(deps_.size(), 0);
    placed_.assign(count, 0);
  }

  std::vector<uint32_t> run() {
    std::vector<uint32_t> order;
    order.reserve(items_.size());
    for (uint32_t i = 0; i < items_.size(); ++i)
      if (missing_[i] == 0) ready_.push({items_[i].start, i});
    while (order.size() < items_.size()) {
      if (ready_.empty()) break_circle();
      const uint32_t item = ready_.top().second;
      ready_.pop();
      placed_[item] = 1;
      order.push_back(item);
      if (next_[item] != kNone) release(next_[item]);
      for (uint32_t i = begin_[item]; i < begin_[item + 1]; ++i)
        if (!dropped_[dependents_[i]]) release(deps_[dependents_[i]].item);
    }
    if (drops_ > 0) {
      size_t kept = 0;
      for (size_t d = 0; d < deps_.size(); ++d)
        if (!dropped_[d]) deps_[kept++] = deps_[d];
      deps_.resize(kept);
      l_.find(
          "pytorch.time.circle", Severity::warning,
          fmt::format("the measured times contradict each other: {} dependencies were left out", show_count(drops_)));
    }
    return order;
  }

 private:
  void release(uint32_t item) {
    if (--missing_[item] == 0) ready_.push({items_[item].start, item});
  }

  bool holds(uint32_t d) const { return !dropped_[d] && !placed_[deps_[d].item] && !placed_[deps_[d].on]; }

  void break_circle() {
    if (by_item_.empty()) {
      by_item_.resize(deps_.size());
      std::iota(by_item_.begin(), by_item_.end(), 0);
      std::sort(by_item_.begin(), by_item_.end(), [&](uint32_t a, uint32_t b) {
        const uint32_t x = deps_[a].item, y = deps_[b].item;
        return std::tuple(items_[x].start, x, a) < std::tuple(items_[y].start, y, b);
      });
    }
    while (ready_.empty()) {
      while (!holds(by_item_[at_])) ++at_;  // what does not hold now never will again
      const uint32_t first = deps_[by_item_[at_]].item;
      const int64_t before = drops_;
      drop(first, true);
      if (drops_ == before) drop(first, false);
    }
  }

  void drop(uint32_t item, bool inferred_only) {
    for (size_t i = at_; i < by_item_.size() && deps_[by_item_[i]].item == item; ++i) {
      const uint32_t d = by_item_[i];
      if (!holds(d) || (inferred_only && !deps_[d].inferred)) continue;
      dropped_[d] = 1;
      ++drops_;
      release(item);
    }
  }

  Linking& l_;
  const std::vector<Item>& items_;
  std::vector<Dependency>& deps_;
  std::vector<uint32_t> missing_;             ///< per item: what it still waits for
  std::vector<uint32_t> next_;                ///< per item: the next on its thread
  std::vector<uint32_t> begin_, dependents_;  ///< dependencies by what they wait for
  std::vector<char> dropped_, placed_;
  using Entry = std::pair<int64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready_;
  std::vector<uint32_t> by_item_;  ///< dependencies by the start of who waits; made when there is a circle
  size_t at_ = 0;
  int64_t drops_ = 0;
};

class Assembler {
 public:
  Assembler(Linking& l, Builder& builder) : l_(l), k_(l.kineto), b_(builder), t_(builder.trace), comms_(l) {}

  trace::Trace run(int64_t rank) {
    const auto intern = [&](std::string_view text) { return t_.strings.intern(text); };
    host_gap_ = intern(trace::kHostGap);
    remainder_ = intern(trace::kSyncRemainder);
    initial_ = intern(trace::kInitialCondition);
    unrecorded_ = intern(trace::kUnrecorded);
    correlation_ = intern("correlation");
    source_ = intern("source");
    rf_id_ = intern("rf_id");
    t_.rank = rank;
    t_.base_ns = k_.base_ns + l_.zero_ns + l_.begin_ns;
    t_.metadata = l_.host.metadata;
    if (l_.has_host) t_.metadata.push_back({intern("linked_iteration"), std::max<int64_t>(0, l_.report.iteration)});
    keep_device_names(k_.device_names, k_.streams, t_);

    // What is not needed any more makes room for what follows, all the way.
    drop_linking_state();
    {
      const std::vector<uint32_t> order = Orderer(l_).run();
      number_nodes(order);
    }
    trace::Edges deps = take_deps(), ctrl = callers();
    take_items();
    make_other_columns();
    for (NodeId node = 0; node < nodes_; ++node) {
      if (node == nodes_ / kSample)  // from here on attributes take what they took so far, or little more
        t_.attrs.reserve(t_.attrs.position() * kSample / 100 * 108 + kSample);
      describe(node);
    }
    t_.ios = std::move(l_.host.ios);
    release(l_.kineto.ops, l_.kineto.calls, l_.host.ops);
    trace::Trace trace = std::move(b_).finish();
    trace.deps = std::move(deps);
    trace.ctrl = std::move(ctrl);
    comms_.finish(trace);
    for (const trace::Comm& comm : trace.comms) l_.report.comm_bytes = add_bytes(l_.report.comm_bytes, comm.bytes);
    l_.report.comm_nodes = static_cast<int64_t>(trace.comms.size());
    return trace;
  }

 private:
  /// What the steps before needed; names of operators, calls and who encloses whom are still needed here.
  void drop_linking_state() {
    release(l_.op_order, l_.roles, l_.waited_for, l_.events, l_.ops_by_end, l_.previous, l_.overlaps);
    release(l_.stream_ops, l_.thread_ops, l_.thread_calls, l_.thread_launches);
    release(l_.item_of_op, l_.item_of_device_op);
  }

  /// Which rows items and host operators get: first what the Kineto trace lacks, roots and process groups
  /// among it, by id, then the items in their order: the order of the host trace's file changes nothing.
  void number_nodes(const std::vector<uint32_t>& order) {
    const bool host_alone = l_.kineto.file.empty();
    node_of_host_.assign(l_.host.ops.size(), trace::kNoNode);
    for (uint32_t h = 0; h < l_.host.ops.size(); ++h) {
      const HostOp& op = l_.host.ops[h];
      const bool is_item = host_alone && op.kind == HostOp::Kind::op;
      if (is_item || l_.op_of_host[h] != kNone || l_.out_of_scope.contains(op.rf_id)) continue;
      origins_.push_back({Item::Kind::untimed, h});
    }
    sort_rows(origins_,
              [&](const Origin& a, const Origin& b) { return l_.host.ops[a.record].id < l_.host.ops[b.record].id; });
    for (const Origin& origin : origins_) node_of_host_[origin.record] = nodes_++;
    origins_.reserve(nodes_ + order.size());
    node_of_item_.resize(l_.items.size());
    for (const uint32_t id : order) {
      const Item& item = l_.items[id];
      node_of_item_[id] = nodes_;
      if (const uint32_t h = host_op_of(item); h != kNone) node_of_host_[h] = nodes_;
      origins_.push_back({item.kind, item.record});
      ++nodes_;
    }
  }

  /// The host operator whose first piece an item is, or kNone.
  uint32_t host_op_of(const Item& item) const {
    if (item.kind == Item::Kind::untimed) return item.record;
    const bool op = item.kind == Item::Kind::op || item.kind == Item::Kind::annotation;
    return op ? l_.host_of_op[item.record] : kNone;
  }

  trace::Edges take_deps() {
    const auto each = [&](const auto& visit) {
      for (const Dependency& d : l_.deps)
        visit(node_of_item_[d.item], node_of_item_[d.on],
              static_cast<uint8_t>(static_cast<uint8_t>(d.kind) | (d.inferred ? trace::kInferred : 0)),
              Picoseconds{d.lag} * kPsPerNs);
      for (const auto& chain : l_.chains)
        for (size_t i = 1; i < chain.size(); ++i)
          visit(node_of_item_[chain[i]], node_of_item_[chain[i - 1]], static_cast<uint8_t>(trace::EdgeKind::program),
                Picoseconds{0});
    };
    trace::Edges edges = trace::make_edges(nodes_, true, each);
    for (const uint8_t kind : edges.kind) {
      ++l_.report.edges[static_cast<size_t>(trace::kind_of(kind))];
      l_.report.inferred_edges += (kind & trace::kInferred) != 0;
    }
    release(l_.deps, l_.chains);
    return edges;
  }

  /// The item of the innermost operator or annotation around an item, or kNone.
  uint32_t caller_of(uint32_t id) const {
    while (l_.items[id].continues()) id = l_.items[id].of;
    return l_.items[id].of;
  }

  /// A matched step: what is around it the times say. The observer's stack may be confused by Gloo's records.
  bool is_step(uint32_t h) const {
    return l_.op_of_host[h] != kNone && trace::step_number(l_.text(l_.host.ops[h].name)).has_value();
  }

  trace::Edges callers() const {
    return trace::make_edges(nodes_, false, [&](const auto& visit) {
      for (uint32_t id = 0; id < l_.items.size(); ++id)  // of the others the host trace knows it
        if (const uint32_t h = host_op_of(l_.items[id]); h == kNone || is_step(h))
          if (const uint32_t caller = caller_of(id); caller != kNone)
            visit(node_of_item_[id], node_of_item_[caller], uint8_t{0}, Picoseconds{0});
      for (uint32_t h = 0; h < l_.host.ops.size(); ++h)
        if (const uint32_t parent = l_.host.ops[h].parent_row;
            parent != trace::kNoRow && !(is_step(h) && l_.host.ops[parent].kind == HostOp::Kind::op) &&
            node_of_host_[h] != trace::kNoNode && node_of_host_[parent] != trace::kNoNode)
          visit(node_of_host_[h], node_of_host_[parent], uint8_t{0}, Picoseconds{0});
    });
  }

  /// Calls whose pieces together do not span the time that was recorded: those whose start lies before the end of
  /// what came before on their thread, or whose end was moved.
  void find_other_calls() {
    std::map<uint32_t, std::pair<int64_t, int64_t>> spans;
    for (const Item& item : l_.items) {
      const bool remainder = item.kind == Item::Kind::sync_remainder && l_.items[item.of].kind == Item::Kind::call;
      if (item.kind != Item::Kind::call && item.kind != Item::Kind::call_rest && !remainder) continue;
      const RuntimeCall& call = k_.calls[item.record];
      if (item.kind == Item::Kind::call && item.start == call.start_ns && item.end() == call.end_ns()) continue;
      auto& [start, end] = spans.try_emplace(item.record, item.start, item.end()).first->second;
      start = std::min(start, item.start);
      end = std::max(end, item.end());
    }
    for (const auto& [call, span] : spans)
      if (span.first != k_.calls[call].start_ns || span.second != k_.calls[call].end_ns())
        late_calls_.emplace(call, span.first - k_.calls[call].start_ns);
  }

  /// The columns that items fill; they go.
  void take_items() {
    find_other_calls();
    t_.flags.resize(nodes_, trace::kOnCpu | trace::kSaysCpuOrNot);
    t_.start_ps.resize(nodes_);
    t_.dur_ps.resize(nodes_);
    t_.part_of.resize(nodes_, trace::kNoNode);
    t_.lane.resize(nodes_, trace::kNoLane);
    for (uint32_t id = 0; id < l_.items.size(); ++id) {
      const Item& item = l_.items[id];
      const NodeId node = node_of_item_[id];
      if (item.kind == Item::Kind::untimed) {
        t_.lane[node] = b_.lane({trace::Lane::Kind::thread, 0, l_.host.threads[l_.host.ops[item.record].thread]});
        continue;
      }
      t_.flags[node] |= trace::kHasStart | trace::kHasDuration;
      t_.start_ps[node] = (item.start - l_.begin_ns) * kPsPerNs;
      t_.dur_ps[node] = item.dur * kPsPerNs;
      const bool device = item.kind == Item::Kind::device || item.kind == Item::Kind::device_rest ||
                          item.kind == Item::Kind::unrecorded;
      const bool message = item.kind == Item::Kind::message;
      if (device || message) t_.flags[node] &= static_cast<uint8_t>(~trace::kOnCpu);
      if (item.kind != Item::Kind::initial_condition && !message)
        t_.lane[node] = b_.lane(device ? k_.streams[item.lane] : k_.threads[item.lane]);
      if (item.continues()) t_.part_of[node] = node_of_item_[item.of];
    }
    release(l_.items, node_of_item_);
  }

  void make_other_columns() {
    t_.id = trace::Ids::counting(1, nodes_);
    t_.name.resize(nodes_);
    t_.type.resize(nodes_, NodeType::comp);
    t_.comm_row.resize(nodes_, trace::kNoRow);
    t_.io_row.resize(nodes_, trace::kNoRow);
    t_.attr_begin.reserve(nodes_ + 1);
    if (l_.work.empty()) return;
    t_.num_ops.resize(nodes_);
    t_.tensor_bytes.resize(nodes_);
    t_.op_dtype.resize(nodes_);
  }

  /// A device operation's work; of one that was cut in pieces, each has the share of its time.
  void put_work(NodeId node, const NodeWork& work, int64_t begin_ns, int64_t duration_ns) {
    const auto until = [&](uint64_t all, int64_t ns) {
      if (duration_ns <= 0) return ns > 0 ? all : 0;
      const auto part = static_cast<uint64_t>(std::clamp<int64_t>(ns, 0, duration_ns));
      return static_cast<uint64_t>(static_cast<unsigned __int128>(all) * part / static_cast<uint64_t>(duration_ns));
    };
    const int64_t end_ns = begin_ns + std::max<int64_t>(t_.dur_ps[node] / kPsPerNs, duration_ns <= 0);
    t_.num_ops[node] = until(work.operations, end_ns) - until(work.operations, begin_ns);
    t_.tensor_bytes[node] = until(work.bytes, end_ns) - until(work.bytes, begin_ns);
    t_.op_dtype[node] = static_cast<uint8_t>(work.dtype);
  }
  void put_device_work(NodeId node, uint32_t record) {
    if (l_.work.empty()) return;
    const DeviceOp& op = k_.device_ops[record];
    put_work(node, l_.work[record], t_.start_ps[node] / kPsPerNs + l_.begin_ns - op.start_ns, op.dur_ns);
  }

  /// Where a node comes from: the operator of the host trace, the byte of the Kineto trace.
  void source(std::optional<uint64_t> host_id, std::optional<int64_t> byte) {
    const auto number = [&](const char* what, const fmt::format_int& digits) {
      text_.append(what);
      text_.append(digits.data(), digits.size());
    };
    text_.clear();
    if (host_id) number("host ", fmt::format_int(*host_id));
    if (byte) number(host_id ? " device @" : "device @", fmt::format_int(*byte));
    b_.attr({source_, std::string_view(text_)});
  }

  void host_attrs(NodeId node, uint32_t h) {
    const HostOp& op = l_.host.ops[h];
    const NodeId forward = op.fw_parent_row == trace::kNoRow ? trace::kNoNode : node_of_host_[op.fw_parent_row];
    trace::Attrs& attrs = t_.attrs;  // texts stay where they are
    attrs.add({rf_id_, op.rf_id});
    attrs.add({names_.fw_parent, forward == trace::kNoNode ? int64_t{0} : int64_t{forward} + 1});
    attrs.add({names_.seq_id, op.sequence});
    attrs.add({names_.scope, int64_t{op.scope}});
    attrs.add({names_.fw_tid, l_.host.threads[op.fw_thread]});
    if (op.schema) attrs.add({names_.op_schema, t_.strings[op.schema]});
    for (const trace::Attr& attr : l_.host.other_attrs(op)) attrs.add(attr);
    t_.io_row[node] = op.io;
  }

  /// Name, type, attributes and communication.
  void describe(NodeId node) {
    const Origin& origin = origins_[node];
    const uint32_t record = origin.record;
    t_.attr_begin.push_back(t_.attrs.position());
    CommNode comm;
    bool is_comm = false;
    switch (origin.kind) {
      case Item::Kind::op:
      case Item::Kind::annotation: {
        const CpuOp& op = k_.ops[record];
        t_.name[node] = op.name;
        is_comm = comms_.host(record, comm);
        if (const uint32_t h = l_.host_of_op[record]; h != kNone) {
          host_attrs(node, h);
          source(l_.host.ops[h].id, op.byte);
        } else {
          if (op.rf_id != 0) b_.attr({rf_id_, op.rf_id});
          if (op.sequence >= 0) b_.attr({names_.seq_id, op.sequence});
          source(std::nullopt, op.byte);
        }
        break;
      }
      case Item::Kind::untimed: {
        const HostOp& op = l_.host.ops[record];
        t_.name[node] = op.name;
        if (op.kind == HostOp::Kind::process_groups) t_.type[node] = NodeType::metadata;
        is_comm = l_.kineto.file.empty() && comms_.record(record, comm);
        host_attrs(node, record);
        source(op.id, std::nullopt);
        if (k_.file.empty() && !l_.work.empty()) put_work(node, l_.work[record], 0, 0);
        break;
      }
      case Item::Kind::message: {
        const Message& message = l_.messages[record];
        const uint32_t around = l_.parent_op[message.op];  // c10d::send, ...
        t_.name[node] = k_.ops[around == kNone ? message.op : around].name;
        is_comm = comms_.message(record, comm);
        b_.attr({correlation_, k_.device_ops[message.device_op].correlation});
        source(std::nullopt, k_.ops[message.op].byte);
        break;
      }
      case Item::Kind::device_rest:
        t_.name[node] = k_.device_ops[record].name;
        put_device_work(node, record);
        break;
      case Item::Kind::op_rest: t_.name[node] = k_.ops[record].name; break;
      case Item::Kind::call:
      case Item::Kind::call_rest: {
        const RuntimeCall& call = k_.calls[record];
        t_.name[node] = call.name;
        if (origin.kind == Item::Kind::call) {
          b_.attr({correlation_, call.correlation});
          if (const auto late = late_calls_.find(record); late != late_calls_.end()) {
            b_.attr({names_.call_late_ns, late->second});
            b_.attr({names_.call_dur_ns, call.dur_ns});
          }
          source(std::nullopt, call.byte);
        }
        break;
      }
      case Item::Kind::sync_remainder: t_.name[node] = remainder_; break;
      case Item::Kind::gap: t_.name[node] = host_gap_; break;
      case Item::Kind::initial_condition: t_.name[node] = initial_; break;
      case Item::Kind::unrecorded: t_.name[node] = unrecorded_; break;
      case Item::Kind::device: {
        const DeviceOp& op = k_.device_ops[record];
        t_.name[node] = op.name;
        is_comm = comms_.device(record, comm);
        b_.attr({correlation_, op.correlation});
        if (op.bytes >= 0) b_.attr({names_.bytes, op.bytes});
        put_device_work(node, record);
        source(std::nullopt, op.byte);
        break;
      }
    }
    if (!is_comm) return;
    t_.type[node] = comm.type;
    b_.comm(node) = comm.comm;
  }

  struct Names {
    StringId fw_parent, seq_id, scope, fw_tid, op_schema, bytes, call_late_ns, call_dur_ns;
    explicit Names(StringPool& s)
        : fw_parent(s.intern("fw_parent")),
          seq_id(s.intern("seq_id")),
          scope(s.intern("scope")),
          fw_tid(s.intern("fw_tid")),
          op_schema(s.intern("op_schema")),
          bytes(s.intern("bytes")),
          call_late_ns(s.intern("call_late_ns")),
          call_dur_ns(s.intern("call_dur_ns")) {}
  };

  static constexpr NodeId kSample = 16;  // the first 1 / kSample of the nodes tells the size of all

  Linking& l_;
  const Kineto& k_;
  Builder& b_;
  trace::Trace& t_;
  CommNodes comms_;
  Names names_{b_.trace.strings};
  StringId host_gap_ = 0, remainder_ = 0, initial_ = 0, unrecorded_ = 0, correlation_ = 0, source_ = 0, rf_id_ = 0;
  NodeId nodes_ = 0;
  struct Origin {
    Item::Kind kind;
    uint32_t record;
  };
  std::vector<Origin> origins_;  ///< per node
  std::vector<NodeId> node_of_item_, node_of_host_;
  std::map<uint32_t, int64_t> late_calls_;  ///< calls recorded with other times than their pieces have: how much later
                                            ///< these begin
  std::string text_;
};

}  // namespace

trace::Trace assemble(Linking& l, Builder& builder, int64_t rank) { return Assembler(l, builder).run(rank); }

}  // namespace chakra::pytorch
