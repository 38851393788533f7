#include "chakra/gen/nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/base/join.h"

namespace chakra::gen {

using trace::CommType;
using trace::EdgeKind;
using trace::NodeId;
using trace::NodeType;

namespace {

constexpr double kLargest = 9e15;  // operations of a node x 1e3, bytes: what a double counts exactly

/// The element type, `bytes` bytes large, that models are trained in.
trace::DType dtype(int64_t bytes, bool fp16) {
  switch (bytes) {
    case 1: return trace::DType::f8;
    case 2: return fp16 ? trace::DType::f16 : trace::DType::bf16;
    case 4: return trace::DType::f32;
    case 8: return trace::DType::f64;
    default: return trace::DType::unknown;
  }
}

}  // namespace

StageNodes::StageNodes(const StepOptions& options, std::string_view prefix) : o_(options) {
  last_.fill(trace::kNoNode);
  for (size_t axis = 0; axis < groups_.size(); ++axis)
    groups_[axis] = intern(fmt::format("{}{}", prefix, kAxisNames[axis] == "dp" ? "tables" : kAxisNames[axis]));
}

void StageNodes::describe(const Plan& plan, int64_t stage) {
  trace::Trace& t = b_.trace;
  t.metadata.push_back({intern("schedule"), plan.schedule->name});
  t.metadata.push_back({intern("stages"), plan.pipeline.stages});
  t.metadata.push_back({intern("stage"), stage});
  t.metadata.push_back({intern("chunks"), plan.pipeline.chunks});
  describe_layout(plan.layout, t);
  describe_rates();
}

void StageNodes::describe_rates() {
  trace::Trace& t = b_.trace;
  described_ = true;
  t.metadata.push_back({intern("flop_per_s"), flop_per_s(false)});
  t.metadata.push_back({intern("fp8_flop_per_s"), flop_per_s(true)});
  t.metadata.push_back({intern("memory_bytes_per_s"), o_.memory_bytes_per_s});
}

double StageNodes::flop_per_s(bool fp8) const {
  const double peak = !fp8 ? o_.peak_flop_per_s : o_.fp8_flop_per_s > 0 ? o_.fp8_flop_per_s : 2 * o_.peak_flop_per_s;
  return peak * o_.efficiency;
}

void StageNodes::say_pass() {
  if (next_pass_.name.empty()) return;
  b_.attr({intern("pass"), next_pass_.name});
  if (next_pass_.micro_batch >= 0) {
    b_.attr({intern("micro_batch"), next_pass_.micro_batch});
    b_.attr({intern("chunk"), next_pass_.chunk});
  }
  next_pass_.name = {};
}

NodeId StageNodes::add(StringId name, NodeType type, Stream stream) {
  const NodeId by = o_.host_ns > 0 && stream < kLoad ? launch() : trace::kNoNode;
  const NodeId n = b_.add(b_.trace.size() + 1, name, type);
  say_pass();
  b_.trace.flags.edit(n) = trace::kSaysCpuOrNot;
  b_.trace.lane.edit(n) = b_.lane({trace::Lane::Kind::stream, 0, stream});
  dep(n, by, EdgeKind::launch);
  return n;
}

/// The host's turn: what it launches is the next node.
NodeId StageNodes::launch() {
  const NodeId n = b_.add(b_.trace.size() + 1, intern("launch"), NodeType::comp);
  say_pass();
  b_.trace.flags.edit(n) = trace::kSaysCpuOrNot | trace::kOnCpu | trace::kHasDuration;
  b_.trace.lane.edit(n) = b_.lane({trace::Lane::Kind::thread, 0, 0});
  b_.trace.dur_ps.edit(n) = o_.host_ns * kPsPerNs;
  dep(n, host_.last, EdgeKind::program);
  for (NodeId* const waited : {&host_.arrived, &host_.computed})
    dep(n, std::exchange(*waited, trace::kNoNode), EdgeKind::sync);
  return host_.last = n;
}

void StageNodes::host_works(std::string_view name, int64_t ns) {
  const NodeId n = b_.add(b_.trace.size() + 1, intern(name), NodeType::comp);
  b_.trace.flags.edit(n) = trace::kSaysCpuOrNot | trace::kOnCpu | trace::kHasDuration;
  b_.trace.lane.edit(n) = b_.lane({trace::Lane::Kind::thread, 0, 0});
  b_.trace.dur_ps.edit(n) = ns * kPsPerNs;
  dep(n, host_.last, EdgeKind::program);
  dep(n, computed_, EdgeKind::sync);
  await(n);
  awaited_.clear();
  wait(host_.last = n);
}

uint64_t StageNodes::exact(double number) {
  too_large_ |= !(number < kLargest);
  // A whole number of bytes, computed from shares, may come out a rounding error above.
  return too_large_ ? 0 : static_cast<uint64_t>(std::ceil(number * (1 - 1e-14)));
}

NodeId StageNodes::compute(StringId name, const Work& work, std::string_view kernel, bool fp8, double weights) {
  const NodeId n = add(name, NodeType::comp, kCompute);
  dep(n, computed_, EdgeKind::stream);
  await(n);
  awaited_.clear();
  computed_ = n;
  const Picoseconds time = picoseconds(std::max(work.flops / flop_per_s(fp8), work.bytes / o_.memory_bytes_per_s));
  too_large_ |= time >= kLongestPs || !(work.flops < 9e18);
  b_.trace.dur_ps.edit(n) = std::max<Picoseconds>((time + kPsPerNs - 1) / kPsPerNs, 1) * kPsPerNs;
  b_.trace.flags.edit(n) |= trace::kHasDuration;
  if (!kernel.empty()) b_.attr({intern("kernel"), kernel});
  if (described_ && weights >= 1) b_.attr({intern("weight_bytes"), static_cast<int64_t>(exact(weights))});
  b_.trace.num_ops.resize(n + 1);
  b_.trace.tensor_bytes.resize(n + 1);
  b_.trace.op_dtype.resize(n + 1, static_cast<uint8_t>(dtype(o_.bytes_per_element, o_.fp16)));
  if (fp8) b_.trace.op_dtype.edit(n) = static_cast<uint8_t>(trace::DType::f8);
  if (too_large_) return n;
  b_.trace.num_ops.edit(n) = static_cast<uint64_t>(std::llround(work.flops));
  b_.trace.tensor_bytes.edit(n) = exact(work.bytes);
  return n;
}

NodeId StageNodes::collective(StringId name, CommType type, double bytes, StringId group, Stream stream,
                              std::span<const NodeId> on) {
  const NodeId n = add(name, NodeType::coll, stream);
  dep(n, computed_, EdgeKind::data);
  await(n);
  const auto waited = [&](NodeId node) { return std::find(awaited_.begin(), awaited_.end(), node) != awaited_.end(); };
  for (const NodeId node : on)
    if (!waited(node)) dep(n, node, EdgeKind::data);
  if (!waited(last_[stream]) && std::find(on.begin(), on.end(), last_[stream]) == on.end())
    dep(n, last_[stream], EdgeKind::stream);
  last_[stream] = n;
  trace::Comm& comm = b_.comm(n);
  comm.type = type;
  comm.bytes = exact(bytes);
  comm.group = group;
  if (!o_.overlap) wait(n);
  return n;
}

NodeId StageNodes::message(StringId name, NodeType type, Stream stream, const Neighbour& neighbour, int64_t tag,
                           double bytes, NodeId after) {
  const NodeId n = add(name, type, stream);
  dep(n, after, EdgeKind::data);
  dep(n, last_[stream], EdgeKind::stream);
  last_[stream] = n;
  if (type == NodeType::send) await(n);
  else if (neighbour.axis == Axis::pp) host_.arrived = n;
  trace::Comm& comm = b_.comm(n);
  comm.bytes = exact(bytes);
  const auto slot = std::find(peers_.begin(), peers_.end(), neighbour);
  (type == NodeType::send ? comm.dst : comm.src) = slot - peers_.begin();
  if (slot == peers_.end()) peers_.push_back(neighbour);
  comm.tag = tag;
  return n;
}

NodeId StageNodes::storage(StringId name, NodeType type, const StorageUse& use, std::span<const NodeId> after) {
  const Stream stream = type == NodeType::mem_load ? kLoad : kStore;
  const NodeId n = add(name, type, stream);
  for (const NodeId node : after) dep(n, node, EdgeKind::data);
  if (std::find(after.begin(), after.end(), last_[stream]) == after.end()) dep(n, last_[stream], EdgeKind::stream);
  last_[stream] = n;
  b_.attr({intern("storage_tier"), use.tier});
  b_.attr({intern("io_kind"), use.kind});
  b_.attr({intern("bytes"), static_cast<int64_t>(exact(use.bytes))});
  return n;
}

NodeId StageNodes::hop(StringId name, const Step& step) {
  const bool send = step.kind == Step::Kind::send;
  return message(name, send ? NodeType::send : NodeType::recv, send ? kContextSend : kContextReceive,
                 {step.axis, send ? 1 : -1}, 0, step.bytes, computed_);
}

std::string_view StageNodes::split(const std::vector<int64_t>& elements) {
  return b_.trace.texts.add(fmt::format("[{}]", join(elements, ", ")));
}

StageNodes::Labels StageNodes::labels(const Program& program, const std::string& part) {
  Labels labels;
  for (const Step& step : program) {
    labels.names.push_back(intern(part + "." + step.name));
    if (step.in_split.empty()) labels.splits.emplace_back();
    else labels.splits.emplace_back(split(step.in_split), split(step.out_split));
  }
  return labels;
}

void StageNodes::run(const Program& program, const Labels& labels) {
  const std::vector<StringId>& names = labels.names;
  const auto stream = [](Axis axis) {
    if (axis == Axis::tp) return kTensor;
    return axis == Axis::cp ? kContext : kExperts;
  };
  run_.nodes.assign(program.size(), trace::kNoNode);
  run_.awaited.assign(program.size(), 0);
  for (size_t i = 0; i < program.size(); ++i) {
    const Step& step = program[i];
    run_.on.clear();
    for (const size_t wait : step.waits) {
      run_.awaited[wait] = 1;
      run_.on.push_back(run_.nodes[wait]);
    }
    if (step.kind == Step::Kind::collective) {
      run_.nodes[i] =
          collective(names[i], step.type, step.bytes, groups_[index(step.axis)], stream(step.axis), run_.on);
      if (const auto& [in, out] = labels.splits[i]; !in.empty()) {
        trace::Comm& comm = b_.comm(run_.nodes[i]);
        comm.in_split = in;
        comm.out_split = out;
      }
      continue;
    }
    for (const NodeId node : run_.on) wait(node);
    run_.nodes[i] = step.kind == Step::Kind::compute ? compute(names[i], step.work, step.kernel, step.fp8, step.weights)
                                                     : hop(names[i], step);
  }
  for (size_t i = 0; i < program.size(); ++i)
    if (!run_.awaited[i] && (program[i].kind == Step::Kind::collective || program[i].kind == Step::Kind::receive))
      wait(run_.nodes[i]);
}

}  // namespace chakra::gen
