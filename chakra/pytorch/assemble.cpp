// Items and dependencies -> Trace: ids in the order of time, attributes, the call tree.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "chakra/pytorch/comm_nodes.h"
#include "chakra/pytorch/linking.h"

namespace chakra::pytorch {
namespace {

using trace::Builder;
using trace::NodeId;
using trace::NodeType;

/// Items such that each stands after all it depends on, and else by start. Measured times that
/// contradict each other could make a circle; then the dependencies of the earliest item in it that a
/// rule inferred go, or all but those on its own thread.
std::vector<uint32_t> order_items(Linking& l) {
  const auto count = static_cast<uint32_t>(l.items.size());
  std::vector<uint32_t> missing(count, 0), begin(count + 1, 0);
  for (const Dependency& d : l.deps) ++begin[d.on + 1], ++missing[d.item];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> dependents(l.deps.size()), fill(begin.begin(), begin.end() - 1);
  for (uint32_t d = 0; d < l.deps.size(); ++d) dependents[fill[l.deps[d].on]++] = d;

  using Entry = std::pair<int64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (uint32_t i = 0; i < count; ++i)
    if (missing[i] == 0) ready.push({l.items[i].start, i});
  std::vector<uint32_t> order;
  order.reserve(count);
  std::vector<char> dropped(l.deps.size(), 0), placed(count, 0);
  int64_t drops = 0;
  // Dependencies by item, on other threads and the device only; by the start of the item.
  std::vector<uint32_t> others;
  size_t at = 0;
  const auto holds = [&](uint32_t d) { return !dropped[d] && !placed[l.deps[d].item] && !placed[l.deps[d].on]; };
  const auto drop = [&](uint32_t item, bool inferred_only) {
    for (size_t i = at; i < others.size() && l.deps[others[i]].item == item; ++i) {
      const uint32_t d = others[i];
      if (!holds(d) || (inferred_only && !l.deps[d].inferred)) continue;
      dropped[d] = 1;
      ++drops;
      if (--missing[item] == 0) ready.push({l.items[item].start, item});
    }
  };
  while (order.size() < count) {
    if (ready.empty()) {
      if (others.empty()) {
        for (uint32_t d = 0; d < l.deps.size(); ++d)
          if (l.deps[d].kind != trace::EdgeKind::program) others.push_back(d);
        std::sort(others.begin(), others.end(), [&](uint32_t a, uint32_t b) {
          const uint32_t x = l.deps[a].item, y = l.deps[b].item;
          return std::tuple(l.items[x].start, x, a) < std::tuple(l.items[y].start, y, b);
        });
      }
      while (!holds(others[at])) ++at;  // what does not hold now never will again
      const uint32_t first = l.deps[others[at]].item;
      const int64_t before = drops;
      drop(first, true);
      if (drops == before) drop(first, false);
      continue;
    }
    const uint32_t item = ready.top().second;
    ready.pop();
    placed[item] = 1;
    order.push_back(item);
    for (uint32_t i = begin[item]; i < begin[item + 1]; ++i)
      if (const uint32_t d = dependents[i]; !dropped[d] && --missing[l.deps[d].item] == 0)
        ready.push({l.items[l.deps[d].item].start, l.deps[d].item});
  }
  if (drops > 0) {
    std::vector<Dependency> kept;
    for (uint32_t d = 0; d < l.deps.size(); ++d)
      if (!dropped[d]) kept.push_back(l.deps[d]);
    l.deps = std::move(kept);
    l.find("pytorch.time.circle", Severity::warning,
           fmt::format("the measured times contradict each other: {} dependencies were left out", show_count(drops)));
  }
  return order;
}

class Assembler {
 public:
  Assembler(Linking& l, Builder& builder) : l_(l), k_(l.kineto), b_(builder), t_(builder.trace), comms_(l) {}

  trace::Trace run(int64_t rank) {
    const auto intern = [&](std::string_view text) { return t_.strings.intern(text); };
    host_gap_ = intern(trace::kHostGap);
    remainder_ = intern(trace::kSyncRemainder);
    initial_ = intern(trace::kInitialCondition);
    correlation_ = intern("correlation");
    source_ = intern("source");
    rf_id_ = intern("rf_id");
    t_.rank = rank;
    t_.base_ns = k_.base_ns + l_.zero_ns + l_.begin_ns;
    t_.metadata = l_.host.metadata;
    if (l_.has_host) t_.metadata.push_back({intern("linked_iteration"), std::max<int64_t>(0, l_.report.iteration)});

    const std::vector<uint32_t> order = order_items(l_);
    node_of_item_.assign(l_.items.size(), trace::kNoNode);
    node_of_host_.assign(l_.host.ops.size(), trace::kNoNode);
    reserve(order.size() + l_.host.ops.size());
    add_untimed_host_ops();
    for (const uint32_t item : order) add_item(item);
    add_edges();
    t_.ios = std::move(l_.host.ios);
    // What is not needed any more makes room for the trace.
    l_.deps = {};
    l_.items = {};
    l_.chains = {};
    l_.kineto.ops = {};
    l_.kineto.calls = {};
    l_.host.ops = {};
    trace::Trace trace = std::move(b_).finish();
    comms_.finish(trace);
    for (const trace::Comm& comm : trace.comms) l_.report.comm_bytes += comm.bytes;
    l_.report.comm_nodes = static_cast<int64_t>(trace.comms.size());
    return trace;
  }

 private:
  void reserve(size_t nodes) {
    t_.id.reserve(nodes);
    t_.name.reserve(nodes);
    t_.type.reserve(nodes);
    t_.start_ps.reserve(nodes);
    t_.dur_ps.reserve(nodes);
    t_.attrs.reserve(nodes * 4);
  }

  NodeId add(StringId name, NodeType type) { return b_.add(t_.size() + 1, name, type); }

  void source(std::string text) { b_.attr(source_, t_.texts.add(text)); }

  /// Roots, process groups, and operators that the Kineto trace lacks.
  void add_untimed_host_ops() {
    for (uint32_t h = static_cast<uint32_t>(l_.host.ops.size()); h-- > 0;) {  // roots come last there
      const HostOp& op = l_.host.ops[h];
      const bool is_item = l_.kineto.file.empty() && op.kind == HostOp::Kind::op;
      if (is_item || l_.op_of_host[h] != kNone || l_.out_of_scope.contains(op.rf_id)) continue;
      const NodeId node = add(op.name, op.kind == HostOp::Kind::process_groups ? NodeType::metadata : NodeType::comp);
      t_.flags[node] |= trace::kOnCpu | trace::kSaysCpuOrNot;
      host_attrs(node, h);
      source(fmt::format("host {}", op.id));
      node_of_host_[h] = node;
    }
  }

  void host_attrs(NodeId node, uint32_t h) {
    const HostOp& op = l_.host.ops[h];
    b_.attr(rf_id_, op.rf_id);
    if (op.fw_parent != 0) fw_parents_.push_back({t_.attrs.size(), op.fw_parent});
    b_.attr(names_.fw_parent, int64_t{0});
    b_.attr(names_.seq_id, op.sequence);
    b_.attr(names_.scope, op.scope);
    b_.attr(names_.fw_tid, op.fw_thread);
    if (op.schema) b_.attr(names_.op_schema, t_.strings[op.schema]);
    for (uint32_t i = 0; i < op.attr_count; ++i) t_.attrs.push_back(l_.host.attrs[op.first_attr + i]);
    t_.io_row[node] = op.io;
  }

  void add_item(uint32_t id) {
    const Item& item = l_.items[id];
    NodeId node = trace::kNoNode;
    CommNode comm;
    bool on_cpu = true, is_comm = false;
    switch (item.kind) {
      case Item::Kind::op:
      case Item::Kind::annotation: {
        const CpuOp& op = k_.ops[item.record];
        is_comm = comms_.host(item.record, comm);
        node = add(op.name, is_comm ? comm.type : NodeType::comp);
        const uint32_t h = l_.host_of_op[item.record];
        if (h != kNone) {
          host_attrs(node, h);
          source(fmt::format("host {} device @{}", l_.host.ops[h].id, op.byte));
          node_of_host_[h] = node;
        } else {
          if (op.rf_id != 0) b_.attr(rf_id_, op.rf_id);
          if (op.sequence >= 0) b_.attr(names_.seq_id, op.sequence);
          source(fmt::format("device @{}", op.byte));
        }
        break;
      }
      case Item::Kind::untimed: {
        const HostOp& op = l_.host.ops[item.record];
        is_comm = comms_.record(item.record, comm);
        node = add(op.name, is_comm ? comm.type : NodeType::comp);
        host_attrs(node, item.record);
        source(fmt::format("host {}", op.id));
        node_of_host_[item.record] = node;
        t_.flags[node] |= trace::kOnCpu | trace::kSaysCpuOrNot;
        t_.lane[node] = b_.lane({trace::Lane::Kind::thread, 0, op.thread});
        node_of_item_[id] = node;
        if (is_comm) b_.comm(node) = comm.comm;
        return;
      }
      case Item::Kind::op_rest: node = add(k_.ops[item.record].name, NodeType::comp); break;
      case Item::Kind::call:
      case Item::Kind::call_rest: {
        const RuntimeCall& call = k_.calls[item.record];
        node = add(call.name, NodeType::comp);
        if (item.kind == Item::Kind::call) {
          b_.attr(correlation_, call.correlation);
          source(fmt::format("device @{}", call.byte));
        }
        break;
      }
      case Item::Kind::sync_remainder: node = add(remainder_, NodeType::comp); break;
      case Item::Kind::gap: node = add(host_gap_, NodeType::comp); break;
      case Item::Kind::initial_condition: node = add(initial_, NodeType::comp); break;
      case Item::Kind::device: {
        const DeviceOp& op = k_.device_ops[item.record];
        on_cpu = false;
        is_comm = comms_.device(item.record, comm);
        node = add(op.name, is_comm ? comm.type : NodeType::comp);
        b_.attr(correlation_, op.correlation);
        if (op.bytes >= 0) b_.attr(names_.bytes, op.bytes);
        source(fmt::format("device @{}", op.byte));
        break;
      }
    }
    if (is_comm) b_.comm(node) = comm.comm;
    node_of_item_[id] = node;
    t_.flags[node] |= static_cast<uint8_t>(trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot |
                                           (on_cpu ? trace::kOnCpu : 0));
    t_.start_ps[node] = (item.start - l_.begin_ns) * kPsPerNs;
    t_.dur_ps[node] = item.dur * kPsPerNs;
    if (item.kind != Item::Kind::initial_condition)
      t_.lane[node] = b_.lane(on_cpu ? k_.threads[item.lane] : k_.streams[item.lane]);
    if (item.whole != kNone) t_.part_of[node] = node_of_item_[item.whole];
  }

  void add_edges() {
    for (const Dependency& d : l_.deps) {
      b_.dep(node_of_item_[d.item], node_of_item_[d.on],
             static_cast<uint8_t>(static_cast<uint8_t>(d.kind) | (d.inferred ? trace::kInferred : 0)),
             d.lag * kPsPerNs);
      ++l_.report.edges[static_cast<size_t>(d.kind)];
      l_.report.inferred_edges += d.inferred;
    }
    for (uint32_t id = 0; id < l_.items.size(); ++id) {
      const Item& item = l_.items[id];
      const bool op = item.kind == Item::Kind::op || item.kind == Item::Kind::annotation;
      const bool of_host = item.kind == Item::Kind::untimed || (op && l_.host_of_op[item.record] != kNone);
      if (of_host) continue;  // the host trace knows its caller
      if (item.caller != kNone) b_.ctrl(node_of_item_[id], node_of_item_[item.caller]);
    }
    for (uint32_t h = 0; h < l_.host.ops.size(); ++h)
      if (const uint32_t parent = l_.host.ops[h].parent_row;
          parent != trace::kNoRow && node_of_host_[h] != trace::kNoNode && node_of_host_[parent] != trace::kNoNode)
        b_.ctrl(node_of_host_[h], node_of_host_[parent]);
    for (const FwParent& forward : fw_parents_)
      t_.attrs[forward.attr] = trace::Attr(names_.fw_parent, host_node(forward.host_id));
  }

  /// The new id of a node of the host trace; 0 if there is none such.
  int64_t host_node(uint64_t host_id) {
    if (row_of_host_id_.empty()) {
      for (uint32_t h = 0; h < l_.host.ops.size(); ++h) row_of_host_id_.push_back({l_.host.ops[h].id, h});
      std::sort(row_of_host_id_.begin(), row_of_host_id_.end());
    }
    const auto found = std::lower_bound(row_of_host_id_.begin(), row_of_host_id_.end(), std::pair(host_id, 0u));
    if (found == row_of_host_id_.end() || found->first != host_id || node_of_host_[found->second] == trace::kNoNode)
      return 0;
    return static_cast<int64_t>(t_.id[node_of_host_[found->second]]);
  }

  struct FwParent {
    size_t attr;
    uint64_t host_id;
  };
  struct Names {
    StringId fw_parent, seq_id, scope, fw_tid, op_schema, bytes;
    explicit Names(StringPool& s)
        : fw_parent(s.intern("fw_parent")),
          seq_id(s.intern("seq_id")),
          scope(s.intern("scope")),
          fw_tid(s.intern("fw_tid")),
          op_schema(s.intern("op_schema")),
          bytes(s.intern("bytes")) {}
  };

  Linking& l_;
  const Kineto& k_;
  Builder& b_;
  trace::Trace& t_;
  CommNodes comms_;
  Names names_{b_.trace.strings};
  StringId host_gap_ = 0, remainder_ = 0, initial_ = 0, correlation_ = 0, source_ = 0, rf_id_ = 0;
  std::vector<NodeId> node_of_item_, node_of_host_;
  std::vector<FwParent> fw_parents_;
  std::vector<std::pair<uint64_t, uint32_t>> row_of_host_id_;
};

}  // namespace

trace::Trace assemble(Linking& l, Builder& builder, int64_t rank) { return Assembler(l, builder).run(rank); }

}  // namespace chakra::pytorch
