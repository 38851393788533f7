// Items and dependencies -> Trace.
#include "chakra/link/assemble.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>

#include "chakra/link/device_names.h"
#include "chakra/link/node_writer.h"

namespace chakra::link {
namespace {

using trace::NodeId;
using trace::NodeType;

constexpr uint32_t kSample = 16;  // the first 1 / kSample of the nodes tells the size of all

/// What the steps needed; names of operators, calls and who encloses whom are still needed here.
void drop_linking_state(Linking& l) {
  release(l.device.op_order, l.waits, l.device.ops_by_end, l.device.previous, l.device.overlaps);
  release(l.device.stream_ops, l.threads.ops, l.threads.calls, l.threads.launches);
  release(l.graph.item_of_op, l.graph.item_of_device_op);
}

/// The host operator whose first piece an item is, or kNone.
uint32_t host_op_of(const Linking& l, const Item& item) {
  if (item.kind == Item::Kind::untimed) return item.record;
  const bool op = item.kind == Item::Kind::op || item.kind == Item::Kind::annotation;
  return op ? l.match.host_of_op[item.record] : kNone;
}

/// Which rows items and host operators get: first what the Kineto trace lacks, roots and process groups
/// among it, by id, then the items in their order: the order of the host trace's file changes nothing.
Numbering number_nodes(const Linking& l, const std::vector<uint32_t>& order) {
  Numbering n;
  const bool host_alone = l.profile().file.empty();
  n.node_of_host.assign(l.host().ops.size(), trace::kNoNode);
  for (uint32_t h = 0; h < l.host().ops.size(); ++h) {
    const HostOp& op = l.host().ops[h];
    const bool is_item = host_alone && op.kind == HostOp::Kind::op;
    if (is_item || l.match.op_of_host[h] != kNone || l.scope.left_out.contains(op.rf_id)) continue;
    n.origins.push_back({Item::Kind::untimed, h});
  }
  sort_rows(n.origins, [&](const Numbering::Origin& a, const Numbering::Origin& b) {
    return l.host().ops[a.record].id < l.host().ops[b.record].id;
  });
  NodeId node{0};
  for (const Numbering::Origin& origin : n.origins) n.node_of_host[origin.record] = node++;
  n.origins.reserve(node + order.size());
  n.node_of_item.resize(l.graph.items.size());
  for (const uint32_t id : order) {
    const Item& item = l.graph.items[id];
    n.node_of_item[id] = node;
    if (const uint32_t h = host_op_of(l, item); h != kNone) n.node_of_host[h] = node;
    n.origins.push_back({item.kind, item.record});
    ++node;
  }
  return n;
}

trace::Edges take_deps(Linking& l, const Numbering& n) {
  const auto each = [&](const auto& visit) {
    for (const Dependency& d : l.graph.deps)
      visit(n.node_of_item[d.item], n.node_of_item[d.on],
            static_cast<uint8_t>(static_cast<uint8_t>(d.kind) | (d.inferred ? trace::kInferred : 0)),
            Picoseconds{d.lag} * kPsPerNs);
    for (const auto& chain : l.graph.chains)
      for (size_t i = 1; i < chain.size(); ++i)
        visit(n.node_of_item[chain[i]], n.node_of_item[chain[i - 1]], static_cast<uint8_t>(trace::EdgeKind::program),
              Picoseconds{0});
  };
  trace::Edges edges = trace::make_edges(n.nodes(), true, each);
  for (const uint8_t kind : edges.kind) {
    ++l.report.edges[static_cast<size_t>(trace::kind_of(kind))];
    l.report.inferred_edges += (kind & trace::kInferred) != 0;
  }
  release(l.graph.deps, l.graph.chains);
  return edges;
}

/// The item of the innermost operator or annotation around an item, or kNone.
uint32_t enclosing_item(const Linking& l, uint32_t id) {
  while (l.graph.items[id].continues()) id = l.graph.items[id].of;
  return l.graph.items[id].of;
}

/// A matched step: what is around it the times say. The observer's stack may be confused by Gloo's records.
bool is_step(const Linking& l, uint32_t h) {
  return l.match.op_of_host[h] != kNone && trace::step_number(l.text(l.host().ops[h].name)).has_value();
}

trace::Edges callers(const Linking& l, const Numbering& n) {
  return trace::make_edges(n.nodes(), false, [&](const auto& visit) {
    for (uint32_t id = 0; id < l.graph.items.size(); ++id)  // of the others the host trace knows it
      if (const uint32_t h = host_op_of(l, l.graph.items[id]); h == kNone || is_step(l, h))
        if (const uint32_t caller = enclosing_item(l, id); caller != kNone)
          visit(n.node_of_item[id], n.node_of_item[caller], uint8_t{0}, Picoseconds{0});
    for (uint32_t h = 0; h < l.host().ops.size(); ++h)
      if (const uint32_t parent = l.host().ops[h].parent_row;
          parent != trace::kNoRow && !(is_step(l, h) && l.host().ops[parent].kind == HostOp::Kind::op) &&
          n.node_of_host[h] != trace::kNoNode && n.node_of_host[parent] != trace::kNoNode)
        visit(n.node_of_host[h], n.node_of_host[parent], uint8_t{0}, Picoseconds{0});
  });
}

/// Calls whose pieces together do not span the time that was recorded: those whose start lies before the end of
/// what came before on their thread, or whose end was moved.
LateCalls find_late_calls(const Linking& l) {
  const Profile& p = l.profile();
  LateCalls late;
  std::map<uint32_t, std::pair<int64_t, int64_t>> spans;
  for (const Item& item : l.graph.items) {
    const bool remainder = item.kind == Item::Kind::sync_remainder && l.graph.items[item.of].kind == Item::Kind::call;
    if (item.kind != Item::Kind::call && item.kind != Item::Kind::call_rest && !remainder) continue;
    const RuntimeCall& call = p.calls[item.record];
    if (item.kind == Item::Kind::call && item.start == call.start_ns && item.end() == call.end_ns()) continue;
    auto& [start, end] = spans.try_emplace(item.record, item.start, item.end()).first->second;
    start = std::min(start, item.start);
    end = std::max(end, item.end());
  }
  for (const auto& [call, span] : spans)
    if (span.first != p.calls[call].start_ns || span.second != p.calls[call].end_ns())
      late.emplace(call, span.first - p.calls[call].start_ns);
  return late;
}

/// A call that a backend carries out by several records is one communication: the record that ends last stands for it,
/// the others are pieces of it.
void join_records(const Linking& l, const Numbering& n, trace::Trace& t) {
  absl::flat_hash_map<uint32_t, NodeId> nodes;  // of the records that stand for several
  for (const HostComm& comm : l.comms.host_comms)
    if (comm.part()) nodes.emplace(comm.whole, trace::kNoNode);
  if (nodes.empty()) return;
  const auto is_record = [&](const Numbering::Origin& origin) {
    return origin.kind == Item::Kind::op || (origin.kind == Item::Kind::untimed && l.profile().file.empty());
  };
  for (const NodeId node : t.nodes())
    if (const Numbering::Origin& origin = n.origins[node]; is_record(origin))
      if (const auto whole = nodes.find(origin.record); whole != nodes.end()) whole->second = node;
  for (const NodeId node : t.nodes())
    if (const Numbering::Origin& origin = n.origins[node]; is_record(origin))
      if (const HostComm* comm = l.host_comm(origin.record); comm && comm->part())
        t.part_of.edit(node) = nodes.at(comm->whole);
}

/// The columns that items fill; they go.
void take_items(Linking& l, Numbering& n, trace::Builder& b) {
  const Profile& p = l.profile();
  trace::Trace& t = b.trace;
  const uint32_t nodes = n.nodes();
  t.flags.resize(nodes, trace::kOnCpu | trace::kSaysCpuOrNot);
  t.start_ps.resize(nodes);
  t.dur_ps.resize(nodes);
  t.part_of.resize(nodes, trace::kNoNode);
  t.lane.resize(nodes, trace::kNoLane);
  for (uint32_t id = 0; id < l.graph.items.size(); ++id) {
    const Item& item = l.graph.items[id];
    const NodeId node = n.node_of_item[id];
    if (item.kind == Item::Kind::untimed) {
      t.lane.edit(node) = b.lane({trace::Lane::Kind::thread, 0, l.host().threads[l.host().ops[item.record].thread]});
      continue;
    }
    if (item.kind == Item::Kind::lost_message) {
      t.flags.edit(node) &= static_cast<uint8_t>(~trace::kOnCpu);
      continue;
    }
    t.flags.edit(node) |= trace::kHasStart | trace::kHasDuration;
    t.start_ps.edit(node) = (item.start - l.graph.begin_ns) * kPsPerNs;
    t.dur_ps.edit(node) = item.dur * kPsPerNs;
    const bool device =
        item.kind == Item::Kind::device || item.kind == Item::Kind::device_rest || item.kind == Item::Kind::unrecorded;
    const bool message = item.kind == Item::Kind::message;
    if (device || message) t.flags.edit(node) &= static_cast<uint8_t>(~trace::kOnCpu);
    if (item.kind != Item::Kind::initial_condition && !message)
      t.lane.edit(node) = b.lane(device ? p.streams[item.lane] : p.threads[item.lane]);
    if (item.continues()) t.part_of.edit(node) = n.node_of_item[item.of];
  }
  release(l.graph.items, n.node_of_item);
}

void make_other_columns(const Linking& l, uint32_t nodes, trace::Trace& t) {
  t.id = trace::Ids::counting(1, nodes);
  t.name.resize(nodes);
  t.type.resize(nodes, NodeType::comp);
  t.comm_row.resize(nodes, trace::kNoRow);
  t.io_row.resize(nodes, trace::kNoRow);
  t.attr_begin.reserve(nodes + 1);
  if (l.graph.work.empty()) return;
  t.num_ops.resize(nodes);
  t.tensor_bytes.resize(nodes);
  t.op_dtype.resize(nodes);
}

}  // namespace

trace::Trace assemble(Linking& l, trace::Builder& builder) {
  CHAKRA_ASSERT(l.filled.contains(kEndParts));
  trace::Trace& t = builder.trace;
  NodeWriter writer(l, builder);
  const auto intern = [&](std::string_view text) { return t.strings.intern(text); };
  t.rank = l.rank;
  t.base_ns = l.profile().base_ns + l.scope.zero_ns + l.graph.begin_ns;
  t.metadata = l.host().metadata;
  if (l.recording.has_host)
    t.metadata.push_back({intern("linked_iteration"), std::max<int64_t>(0, l.report.iteration)});
  keep_device_names(l.profile().device_names, l.profile().streams, t);

  // What is not needed any more makes room for what follows, all the way.
  drop_linking_state(l);
  Numbering numbering = number_nodes(l, order_items(l));
  trace::Edges deps = take_deps(l, numbering), ctrl = callers(l, numbering);
  const LateCalls late_calls = find_late_calls(l);
  take_items(l, numbering, builder);
  const uint32_t nodes = numbering.nodes();
  make_other_columns(l, nodes, t);
  join_records(l, numbering, t);
  for (const NodeId node : ids<NodeId>(nodes)) {
    if (node == nodes / kSample)  // from here on attributes take what they took so far, or little more
      t.attrs.reserve(t.attrs.position() * kSample / 100 * 108 + kSample);
    writer.write(node, numbering, late_calls);
  }
  t.ios = std::move(l.host().ios);
  release(l.profile().ops, l.profile().calls, l.host().ops);
  trace::Trace trace = std::move(builder).finish();
  trace.deps = std::move(deps);
  trace.ctrl = std::move(ctrl);
  writer.finish(trace);
  for (const trace::Comm& comm : trace.comms) l.report.comm_bytes = add_bytes(l.report.comm_bytes, comm.bytes);
  l.report.comm_nodes = static_cast<int64_t>(trace.comms.size());
  return trace;
}

}  // namespace chakra::link
