#include "chakra/link/node_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "chakra/link/modules.h"

namespace chakra::link {

using trace::NodeId;
using trace::NodeType;

NodeWriter::Names::Names(StringPool& s)
    : fw_parent(s.intern("fw_parent")),
      seq_id(s.intern("seq_id")),
      scope(s.intern("scope")),
      fw_tid(s.intern("fw_tid")),
      op_schema(s.intern("op_schema")),
      bytes(s.intern("bytes")),
      call_late_ns(s.intern("call_late_ns")),
      call_dur_ns(s.intern("call_dur_ns")),
      inside_dur_ns(s.intern("inside_dur_ns")),
      host_gap(s.intern(trace::kHostGap)),
      remainder(s.intern(trace::kSyncRemainder)),
      initial(s.intern(trace::kInitialCondition)),
      unrecorded(s.intern(trace::kUnrecorded)),
      correlation(s.intern("correlation")),
      source(s.intern("source")),
      rf_id(s.intern("rf_id")),
      kernel(s.intern("kernel")),
      module(s.intern("module")),
      annotation(s.intern("annotation")),
      shapes(s.intern("shapes")) {}

NodeWriter::NodeWriter(Linking& l, trace::Builder& builder)
    : l_(l),
      p_(l.profile()),
      b_(builder),
      t_(builder.trace),
      comms_(l),
      modules_(modules_of_device_ops(l)),
      names_(t_.strings) {}

void NodeWriter::write(NodeId node, const Numbering& numbering, const LateCalls& late_calls) {
  CHAKRA_ASSERT(node < numbering.nodes());
  CHAKRA_ASSERT(t_.type.size() == numbering.nodes() && t_.start_ps.size() == numbering.nodes());
  CHAKRA_ASSERT(t_.attr_begin.size() == node);
  const auto [kind, record] = numbering.origins[node];
  t_.attr_begin.push_back(t_.attrs.position());
  switch (kind) {
    case Item::Kind::op_rest: return write_rest(node, p_.ops[record].name);
    case Item::Kind::sync_remainder: t_.name.edit(node) = names_.remainder; return;
    case Item::Kind::gap: t_.name.edit(node) = names_.host_gap; return;
    case Item::Kind::initial_condition: t_.name.edit(node) = names_.initial; return;
    case Item::Kind::unrecorded: t_.name.edit(node) = names_.unrecorded; return;
    case Item::Kind::device_rest: write_rest(node, p_.device_ops[record].name); return put_device_work(node, record);
    case Item::Kind::call:
    case Item::Kind::call_rest:
      t_.name.edit(node) = p_.calls[record].name;
      if (kind == Item::Kind::call) write_call(record, late_calls);
      return;
    default: break;
  }
  CommNode comm;
  if (!write_record(node, numbering, comm)) return;
  t_.type.edit(node) = comm.type;
  b_.comm(node) = comm.comm;
}

/// Pieces of communication are no computation.
void NodeWriter::write_rest(NodeId node, StringId name) {
  t_.name.edit(node) = name;
  if (trace::is_piece_of_communication(t_, node)) t_.type.edit(node) = NodeType::metadata;
}

/// What may be communication. Whether it is.
bool NodeWriter::write_record(NodeId node, const Numbering& numbering, CommNode& comm) {
  const auto [kind, record] = numbering.origins[node];
  if (kind == Item::Kind::untimed) return write_untimed(node, record, numbering, comm);
  if (kind == Item::Kind::message || kind == Item::Kind::lost_message) return write_message(node, record, comm);
  if (kind == Item::Kind::device) return write_device_op(node, record, comm);
  return write_op(node, record, numbering, comm);
}

bool NodeWriter::write_op(NodeId node, uint32_t record, const Numbering& numbering, CommNode& comm) {
  const CpuOp& op = p_.ops[record];
  t_.name.edit(node) = op.name;
  if (op.annotation && !trace::step_number(l_.text(op.name))) b_.attr({names_.annotation, true});
  const bool is_comm = comms_.host(record, comm);
  if (const uint32_t h = l_.match.host_of_op[record]; h != kNone) {
    host_attrs(node, h, numbering);
    if (p_.device_ops.empty() && !l_.graph.work.empty()) put_work(node, l_.graph.work[h], 0, 0);
    source(l_.host().ops[h].id, op.byte);
  } else {
    if (op.rf_id != 0) b_.attr({names_.rf_id, op.rf_id});
    if (op.sequence >= 0) b_.attr({names_.seq_id, op.sequence});
    if (op.shapes < l_.graph.shapes.size())  // a text of the trace's own stays where it is
      t_.attrs.add({names_.shapes, t_.strings[l_.graph.shapes[op.shapes]]});
    source(std::nullopt, op.byte);
  }
  if (l_.threads.carries_out[op.lane]) write_inside(record);
  if (const HostComm* part = op.host_comm ? l_.host_comm(record) : nullptr; part && part->part())
    t_.type.edit(node) = NodeType::metadata;
  return is_comm;
}

/// An operator inside communication takes no time; how long it was recorded to run is kept.
void NodeWriter::write_inside(uint32_t record) {
  const CpuOp& op = p_.ops[record];
  for (uint32_t around = l_.threads.parent_op[record]; around != kNone; around = l_.threads.parent_op[around])
    if (p_.ops[around].host_comm) return b_.attr({names_.inside_dur_ns, op.dur_ns});
}

bool NodeWriter::write_untimed(NodeId node, uint32_t record, const Numbering& numbering, CommNode& comm) {
  const HostOp& op = l_.host().ops[record];
  t_.name.edit(node) = op.name;
  if (op.kind == HostOp::Kind::process_groups) t_.type.edit(node) = NodeType::metadata;
  const bool is_comm = p_.file.empty() && comms_.record(record, comm);
  if (const HostComm* part = p_.file.empty() ? l_.host_comm(record) : nullptr; part && part->part())
    t_.type.edit(node) = NodeType::metadata;
  host_attrs(node, record, numbering);
  source(op.id, std::nullopt);
  if (p_.file.empty() && !l_.graph.work.empty()) put_work(node, l_.graph.work[record], 0, 0);
  return is_comm;
}

bool NodeWriter::write_message(NodeId node, uint32_t record, CommNode& comm) {
  const Message& message = l_.comms.messages[record];
  const uint32_t around = l_.threads.parent_op[message.op];  // c10d::send, ...
  t_.name.edit(node) = p_.ops[around == kNone ? message.op : around].name;
  const bool is_comm = comms_.message(record, comm);
  if (message.device_op != kNone) b_.attr({names_.correlation, p_.device_ops[message.device_op].correlation});
  source(std::nullopt, p_.ops[message.op].byte);
  return is_comm;
}

bool NodeWriter::write_device_op(NodeId node, uint32_t record, CommNode& comm) {
  const DeviceOp& op = p_.device_ops[record];
  t_.name.edit(node) = op.name;
  const bool is_comm = comms_.device(record, comm);
  b_.attr({names_.correlation, op.correlation});
  if (op.bytes >= 0) b_.attr({names_.bytes, op.bytes});
  if (!modules_.empty() && modules_[record] != 0) t_.attrs.add({names_.module, t_.strings[modules_[record]]});
  put_device_work(node, record);
  source(std::nullopt, op.byte);
  return is_comm;
}

void NodeWriter::write_call(uint32_t record, const LateCalls& late_calls) {
  const RuntimeCall& call = p_.calls[record];
  b_.attr({names_.correlation, call.correlation});
  if (const auto late = late_calls.find(record); late != late_calls.end()) {
    b_.attr({names_.call_late_ns, late->second});
    b_.attr({names_.call_dur_ns, call.dur_ns});
  }
  source(std::nullopt, call.byte);
}

void NodeWriter::host_attrs(NodeId node, uint32_t h, const Numbering& numbering) {
  const HostOp& op = l_.host().ops[h];
  const NodeId forward = op.fw_parent_row == trace::kNoRow ? trace::kNoNode : numbering.node_of_host[op.fw_parent_row];
  trace::Attrs& attrs = t_.attrs;  // texts stay where they are
  attrs.add({names_.rf_id, op.rf_id});
  attrs.add({names_.fw_parent, forward == trace::kNoNode ? int64_t{0} : int64_t{forward} + 1});
  attrs.add({names_.seq_id, op.sequence});
  attrs.add({names_.scope, int64_t{op.scope}});
  attrs.add({names_.fw_tid, l_.host().threads[op.fw_thread]});
  if (op.schema) attrs.add({names_.op_schema, t_.strings[op.schema]});
  for (const trace::Attr& attr : l_.host().other_attrs(op)) attrs.add(attr);
  t_.io_row.edit(node) = op.io;
}

/// Where a node comes from: the operator of the host trace, the byte of the Kineto trace.
void NodeWriter::source(std::optional<uint64_t> host_id, std::optional<int64_t> byte) {
  const auto number = [&](const char* what, const fmt::format_int& digits) {
    text_.append(what);
    text_.append(digits.data(), digits.size());
  };
  text_.clear();
  if (host_id) number("host ", fmt::format_int(*host_id));
  if (byte) number(host_id ? " device @" : "device @", fmt::format_int(*byte));
  b_.attr({names_.source, std::string_view(text_)});
}

/// A device operation's work; of one that was cut in pieces, each has the share of its time.
void NodeWriter::put_work(NodeId node, const NodeWork& work, int64_t begin_ns, int64_t duration_ns) {
  const auto until = [&](uint64_t all, int64_t ns) {
    if (duration_ns <= 0) return ns > 0 ? all : 0;
    const auto part = static_cast<uint64_t>(std::clamp<int64_t>(ns, 0, duration_ns));
    return static_cast<uint64_t>(static_cast<unsigned __int128>(all) * part / static_cast<uint64_t>(duration_ns));
  };
  const int64_t end_ns = begin_ns + std::max<int64_t>(t_.dur_ps[node] / kPsPerNs, duration_ns <= 0);
  t_.num_ops.edit(node) = until(work.operations, end_ns) - until(work.operations, begin_ns);
  t_.tensor_bytes.edit(node) = until(work.bytes, end_ns) - until(work.bytes, begin_ns);
  t_.op_dtype.edit(node) = static_cast<uint8_t>(work.dtype);
}

void NodeWriter::put_device_work(NodeId node, uint32_t record) {
  if (l_.graph.work.empty()) return;
  const DeviceOp& op = p_.device_ops[record];
  if (const StringId kernel = l_.graph.work[record].kernel; kernel != 0) b_.attr({names_.kernel, t_.strings[kernel]});
  put_work(node, l_.graph.work[record], t_.start_ps[node] / kPsPerNs + l_.graph.begin_ns - op.start_ns, op.dur_ns);
}

}  // namespace chakra::link
