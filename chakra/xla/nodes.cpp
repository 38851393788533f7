#include "chakra/xla/nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/trace/metadata.h"

namespace chakra::xla {

using trace::NodeId;
using trace::NodeType;

namespace {

constexpr std::string_view kRagged = "ragged-all-to-all";

/// The instruction that communicates when an op runs: of an asynchronous one with a single event, the one inside.
Communication::Key communicating(const Program& p, const Op& op) {
  const Instruction& i = p.computations[op.computation].instructions[op.instruction];
  if (i.kind() == Kind::wrapped && op.after.size() == 0 && i.called.size() > 0) {
    const uint32_t callee = p.links[i.called.begin];
    const auto& inside = p.computations[callee].instructions;
    for (uint32_t row = 0; row < inside.size(); ++row)
      if (communicates(inside[row].kind())) return {callee, row};
  }
  return {op.computation, op.instruction};
}

}  // namespace

NodeWriter::NodeWriter(trace::Builder& builder, const Program& program, const ProgramWork& work,
                       const Communication& communication, Device device)
    : b_(builder),
      t_(builder.trace),
      p_(program),
      work_(work),
      communication_(communication),
      device_(std::move(device)),
      names_{t_.strings.intern("hlo_opcode"),
             t_.strings.intern("op_name"),
             t_.strings.intern("custom_call_target"),
             t_.strings.intern("folded_iterations"),
             t_.strings.intern("channel_id"),
             t_.strings.intern(trace::kXlaRun),
             t_.strings.intern("kernel"),
             t_.strings.intern(kUnknownWork)} {
  int64_t tag = device_.tags;
  for (const auto& [key, messages] : communication_.messages) tag_of_[key] = tag++;
  // A send and its receive are two instructions of one channel.
  std::map<int64_t, int64_t> of_channel;
  for (auto& [key, number] : tag_of_) {
    const Instruction& i = p_.computations[key.first].instructions[key.second];
    if (i.kind() != Kind::permute) number = of_channel.emplace(p_.detail(i).channel, number).first->second;
  }
}

StringId NodeWriter::name_of(const Instruction& i) { return t_.strings.intern(i.name); }

NodeId NodeWriter::add_node(const Instruction& i, NodeType type) {
  const NodeId node = b_.add(t_.size(), name_of(i), type);
  t_.num_ops.resize(t_.size()), t_.tensor_bytes.resize(t_.size()), t_.op_dtype.resize(t_.size());
  t_.flags.edit(node) |= trace::kSaysCpuOrNot;
  if (device_.run >= 0) b_.attr({names_.run, device_.run});
  return node;
}

void NodeWriter::depend(NodeId node, const Unrolled& unrolled, const Op& op) {
  for (const Dep& dep : unrolled.deps_of(op))
    for (NodeId on = nodes_[dep.op].first; on < nodes_[dep.op].end; ++on)
      if (device_.wait) device_.wait(node, on, dep.kind);
      else b_.dep(node, on, static_cast<uint8_t>(dep.kind));
}

void NodeWriter::describe(const Op& op, const Instruction& i, std::string_view kernel) {
  b_.attr({names_.opcode, i.opcode});
  if (!i.op_name.empty()) b_.attr({names_.op_name, i.op_name});
  const Detail& d = p_.detail(i);
  if (!d.target.empty()) b_.attr({names_.target, d.target});
  if (d.channel > 0) b_.attr({names_.channel, d.channel});
  if (op.times > 1) b_.attr({names_.iterations, static_cast<int64_t>(op.times)});
  if (!kernel.empty() && kernel != i.name) b_.attr({names_.kernel, kernel});
}

void NodeWriter::add(const Unrolled& unrolled, uint32_t number, std::string_view kernel) {
  const Op& op = unrolled.ops[number];
  const Instruction& i = p_.computations[op.computation].instructions[op.instruction];
  const Communication::Key key = communicating(p_, op);
  const bool meets = op.first == kNone && communication_.meetings.contains(key);
  const NodeId node = add_node(i, meets ? NodeType::coll : NodeType::comp);
  nodes_.push_back({node, node, node + 1, node + 1});
  depend(node, unrolled, op);
  if (op.first != kNone) {
    t_.part_of.edit(node) = nodes_[op.first].main;
    return;
  }
  describe(op, i, kernel);
  const bool inside = i.kind() == Kind::loop || i.kind() == Kind::conditional || i.kind() == Kind::call;
  const bool has_inside = inside && op.after.size() > 0;  // whose work the nodes inside have
  if (i.kind() != Kind::value && i.kind() != Kind::done && !has_inside) {
    const Work& work = work_.whole(op.computation, op.instruction);
    t_.num_ops.edit(node) = std::min<uint64_t>(multiply_bytes(work.flops, op.times), INT64_MAX);
    t_.tensor_bytes.edit(node) = multiply_bytes(work.bytes, op.times);
    t_.op_dtype.edit(node) = static_cast<uint8_t>(work.type);
    if (const uint64_t unknown = multiply_bytes(work.unknown, op.times); unknown > 0)
      b_.attr({names_.unknown, static_cast<int64_t>(std::min<uint64_t>(unknown, INT64_MAX))});
  }
  if (meets) add_collective(key, node);
  else if (communication_.messages.contains(key)) add_messages(key, node);
}

NodeId NodeWriter::add_part(const Unrolled& unrolled, uint32_t number, std::string_view kernel) {
  const Op& op = unrolled.ops[number];
  const Instruction& i = p_.computations[op.computation].instructions[op.instruction];
  const NodeId node = add_node(i, NodeType::comp);
  nodes_.back().end = node + 1;
  depend(node, unrolled, op);
  describe(op, i, kernel);
  return node;
}

uint64_t NodeWriter::operand_bytes(Communication::Key key) const {
  const Computation& c = p_.computations[key.first];
  const Instruction& i = c.instructions[key.second];
  auto operands = p_.linked(i.operands);
  // Behind the input: the place of the output, offsets and sizes. How much of the input moves is known at run time.
  if (i.opcode == kRagged && !operands.empty()) operands = operands.first(1);
  uint64_t bytes = 0;
  for (const uint32_t operand : operands) bytes = add_bytes(bytes, p_.bytes_of(c.instructions[operand].shape));
  return bytes;
}

void NodeWriter::add_collective(Communication::Key key, NodeId node) {
  const Computation& c = p_.computations[key.first];
  const Instruction& i = c.instructions[key.second];
  const Meeting& meeting = communication_.meetings.at(key);
  const uint32_t group = meeting.group_of[static_cast<size_t>(device_.logical)];
  const uint64_t members = group == kNone ? 1 : meeting.groups[group].size();
  trace::Comm& comm = b_.comm(node);
  comm.type = i.row->comm;
  comm.bytes = operand_bytes(key);
  comm.in_bytes = comm.bytes;
  comm.out_bytes = comm.type == trace::CommType::all_gather       ? multiply_bytes(comm.bytes, members)
                   : comm.type == trace::CommType::reduce_scatter ? comm.bytes / members
                                                                  : comm.bytes;
  if (i.operands.size() > 0)
    comm.dtype = t_.strings.intern(type_name(c.instructions[p_.links[i.operands.begin]].shape.type));
  comm.group = device_.group(key, meeting);
  if (comm.type == trace::CommType::broadcast && group != kNone) comm.root = meeting.groups[group].front();
}

void NodeWriter::add_messages(Communication::Key key, NodeId node) {
  const Computation& c = p_.computations[key.first];
  const Instruction& i = c.instructions[key.second];
  const Messages& messages = communication_.messages.at(key);
  const auto logical = static_cast<size_t>(device_.logical);
  const uint64_t bytes =
      i.kind() == Kind::recv ? p_.bytes_of(i.shape.parts.size() > 0 ? p_.shapes[i.shape.parts.begin] : i.shape)
      : i.kind() == Kind::send && i.operands.size() > 0 ? p_.bytes_of(c.instructions[p_.links[i.operands.begin]].shape)
                                                        : operand_bytes(key);
  for (const bool sends : {false, true}) {
    const size_t count = (sends ? messages.to : messages.from)[logical].size();
    for (size_t m = 0; m < count; ++m) {
      const NodeId message = add_node(i, sends ? NodeType::send : NodeType::recv);
      if (device_.wait) device_.wait(message, node, trace::EdgeKind::given);
      else b_.dep(message, node, static_cast<uint8_t>(trace::EdgeKind::given));
      b_.ctrl(message, node);
      trace::Comm& comm = b_.comm(message);
      const int64_t peer = device_.peer(key, sends, m);
      comm.src = sends ? device_.self : peer;
      comm.dst = sends ? peer : device_.self;
      comm.tag = tag_of_.at(key);
      comm.bytes = bytes;
      nodes_.back() = {node, node + 1, message + 1, message + 1};
    }
  }
}

// ---- reports -------------------------------------------------------------------------------------------------------

namespace {

void note(Findings& findings, std::string tag, Severity severity, std::string text) {
  findings.push_back({std::move(tag), severity, -1, -1, std::move(text)});
}

void report_unknown(const Program& p, Findings& findings) {
  std::string list;
  uint64_t count = 0;
  for (const auto& [field, times_seen] : p.unknown) {
    count += times_seen;
    list += fmt::format("{}{}{} ({} times)", list.empty() ? "" : ", ", escape(field.first),
                        field.second > 0 ? fmt::format(" {}", field.second) : "",  // fields of a text have no numbers
                        show_count(static_cast<int64_t>(times_seen)));
  }
  if (count > 0)
    note(findings, "xla.fields.unknown", Severity::note,
         fmt::format("program {}: skipped unknown fields: {}", quote(p.name), list));
  std::map<std::string_view, int64_t> opcodes;
  for (const Computation& c : p.computations)
    for (const Instruction& i : c.instructions)
      if (!i.row) ++opcodes[i.opcode];
  for (const auto& [opcode, instructions] : opcodes)
    note(findings, "xla.opcode.unknown", Severity::warning,
         fmt::format("program {}: {} instructions with the unknown opcode {} are nodes without FLOPs and bytes",
                     quote(p.name), show_count(instructions), quote(opcode)));
}

int64_t count_opcode(const Program& p, std::string_view opcode) {
  int64_t count = 0;
  for (const Computation& c : p.computations)
    count += std::count_if(c.instructions.begin(), c.instructions.end(),
                           [&](const Instruction& i) { return i.opcode == opcode; });
  return count;
}

void report_custom_calls(const Program& p, const ProgramWork& work, Severity severity, Findings& findings) {
  constexpr size_t kMostNamed = 6;
  std::map<std::string_view, int64_t> targets;
  int64_t calls = 0;
  for (uint32_t c = 0; c < p.computations.size(); ++c)
    for (uint32_t row = 0; row < p.computations[c].instructions.size(); ++row) {
      const Instruction& i = p.computations[c].instructions[row];
      if (!i.row || i.row->flops != Flops::library || work.of(c, row).unknown == 0) continue;
      ++calls, ++targets[p.detail(i).target];
    }
  if (calls == 0) return;
  std::string list;
  size_t named = 0;
  for (const auto& [target, count] : targets) {
    if (named++ == kMostNamed) break;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", quote(target), show_count(count));
  }
  if (targets.size() > kMostNamed) list += fmt::format(" and {} others", targets.size() - kMostNamed);
  note(findings, "xla.custom_call.unknown", severity,
       fmt::format("program {}: the work of {} custom calls is unknown, so FLOPs and bytes are lower bounds: {}",
                   quote(p.name), show_count(calls), list));
}

}  // namespace

void report_program(const Program& p, const ProgramWork& work, const Unrolled* unrolled, Findings& findings) {
  report_unknown(p, findings);
  report_custom_calls(p, work, unrolled ? Severity::warning : Severity::note, findings);
  const std::string program = fmt::format("program {}", quote(p.name));
  if (!p.memory.known)
    note(findings, "xla.memory.none", Severity::note,
         program + ": the file has no buffer assignment, so the memory is unknown");
  if (p.has_bounds)
    note(findings, "xla.shape.bound", Severity::warning,
         program + ": sizes that are known at run time count with their bounds, so FLOPs and bytes are upper limits");
  if (const int64_t ragged = count_opcode(p, kRagged); ragged > 0)
    note(findings, "xla.ragged", Severity::warning,
         fmt::format("{}: {} instructions {} count their whole input; send_sizes, which are known at run time, state "
                     "how much of the input moves, so the bytes are upper limits",
                     program, show_count(ragged), kRagged));
  if (!unrolled) return;
  const Unrolled& u = *unrolled;
  if (u.open_loops > 0)
    note(findings, "xla.loop.trips", Severity::warning,
         fmt::format("{}: {} loops without a known number of iterations count one iteration", program,
                     show_count(static_cast<int64_t>(u.open_loops))));
  if (u.folded > 0)
    note(findings, "xla.loop.folded", Severity::note,
         fmt::format("{}: {} loops without communication are folded: each node stands for all iterations", program,
                     show_count(static_cast<int64_t>(u.folded))));
  if (u.conditionals > 0)
    note(findings, "xla.conditional", Severity::warning,
         fmt::format("{}: {} conditionals take the branch with the most FLOPs", program,
                     show_count(static_cast<int64_t>(u.conditionals))));
}

void count_collectives(const Program& p, const Unrolled& u, ProgramReport& report) {
  for (const Op& op : u.ops) {
    const auto [c, row] = communicating(p, op);
    const Instruction& i = p.computations[c].instructions[row];
    if (op.first != kNone || !communicates(i.kind())) continue;
    for (CollectiveCount& count : report.collectives)
      if (count.opcode == i.opcode) count.executions += op.times;
  }
}

ProgramReport report_of(const Program& p, const ProgramWork& work, const Unrolled& u) {
  ProgramReport report;
  report.name = p.name, report.id = p.id, report.devices = p.device_count(), report.memory = p.memory;
  std::map<std::string_view, uint64_t> collectives;
  for (const Computation& c : p.computations) {
    report.instructions += static_cast<int64_t>(c.instructions.size());
    for (const Instruction& i : c.instructions)
      if (communicates(i.kind())) ++collectives[i.opcode];
  }
  for (const auto& [opcode, instructions] : collectives)
    report.collectives.push_back({std::string(opcode), instructions, 0});
  count_collectives(p, u, report);
  for (const Op& op : u.ops) {
    const Instruction& i = p.computations[op.computation].instructions[op.instruction];
    if (op.first != kNone || i.kind() == Kind::value || i.kind() == Kind::done || op.after.size() > 0) continue;
    const Work& of = work.whole(op.computation, op.instruction);
    report.flops = add_bytes(report.flops, multiply_bytes(of.flops, op.times));
    report.bytes = add_bytes(report.bytes, multiply_bytes(of.bytes, op.times));
  }
  report.flops_once = work.of(p.entry).flops, report.bytes_once = work.of(p.entry).bytes;
  return report;
}

void add_metadata(trace::Trace& t, const Program& p) {
  const auto text = [&](std::string_view name, std::string_view value) {
    t.metadata.push_back({t.strings.intern(name), t.texts.add(value)});
  };
  text("schema", "xla");
  text("xla_module", p.name);
  const Memory& m = p.memory;
  if (!m.known) return;
  const std::array<std::pair<std::string_view, uint64_t>, 7> numbers{{{"xla_memory_peak", m.peak},
                                                                      {"xla_memory_live", m.live},
                                                                      {"xla_memory_allocated", m.allocated},
                                                                      {"xla_memory_arguments", m.arguments},
                                                                      {"xla_memory_outputs", m.outputs},
                                                                      {"xla_memory_constants", m.constants},
                                                                      {"xla_memory_temporary", m.temporary}}};
  for (const auto& [name, bytes] : numbers)
    t.metadata.push_back({t.strings.intern(name), static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX))});
}

}  // namespace chakra::xla
