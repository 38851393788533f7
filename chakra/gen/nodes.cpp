#include "chakra/gen/nodes.h"

#include <algorithm>

namespace chakra::gen {

using trace::CommType;
using trace::EdgeKind;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;

namespace {

constexpr double kLargest = 9e15;  // operations of a node x 1e3, bytes: what a double counts exactly

/// The element type, `bytes` bytes large, that models are trained in.
trace::DType dtype(int64_t bytes) {
  switch (bytes) {
    case 1: return trace::DType::f8;
    case 2: return trace::DType::bf16;
    case 4: return trace::DType::f32;
    case 8: return trace::DType::f64;
    default: return trace::DType::unknown;
  }
}

}  // namespace

NodeId StageNodes::add(std::string_view name, NodeType type, Stream stream) {
  const NodeId n = b_.add(b_.trace.size() + 1, b_.trace.strings.intern(name), type);
  b_.trace.flags.edit(n) = trace::kSaysCpuOrNot;
  b_.trace.lane.edit(n) = b_.lane({trace::Lane::Kind::stream, 0, stream});
  return n;
}
uint64_t StageNodes::exact(double number) {
  too_large_ |= !(number < kLargest);
  return too_large_ ? 0 : static_cast<uint64_t>(number);
}

void StageNodes::compute(std::string_view name, const Work& work) {
  const NodeId n = add(name, NodeType::comp, kCompute);
  dep(n, computed_, EdgeKind::stream);
  await(n);
  awaited_.clear();
  computed_ = n;
  const Picoseconds time = picoseconds(
      std::max(work.flops / (m_.o.peak_flop_per_s * m_.o.efficiency), work.bytes / m_.o.memory_bytes_per_s));
  too_large_ |= time >= kLongestPs || !(work.flops < 9e18);
  b_.trace.dur_ps.edit(n) = std::max<Picoseconds>((time + kPsPerNs - 1) / kPsPerNs, 1) * kPsPerNs;
  b_.trace.flags.edit(n) |= trace::kHasDuration;
  b_.trace.num_ops.resize(n + 1);
  b_.trace.tensor_bytes.resize(n + 1);
  b_.trace.op_dtype.resize(n + 1, static_cast<uint8_t>(dtype(m_.o.bytes_per_element)));
  if (too_large_) return;
  b_.trace.num_ops.edit(n) = static_cast<uint64_t>(work.flops);
  b_.trace.tensor_bytes.edit(n) = exact(work.bytes);
}

NodeId StageNodes::collective(std::string_view name, CommType type, double bytes, std::string_view group,
                              Stream stream) {
  const NodeId n = add(name, NodeType::coll, stream);
  dep(n, computed_, EdgeKind::data);
  await(n);
  trace::Comm& comm = b_.comm(n);
  comm.type = type;
  comm.bytes = exact(bytes);
  comm.group = b_.trace.strings.intern(group);
  return n;
}

NodeId StageNodes::gather(std::string_view name) {
  if (m_.o.tp == 1) return kNoNode;
  return collective(name, CommType::all_gather, m_.s.token_share * m_.s.hidden * m_.s.element, "tp", kTensor);
}
NodeId StageNodes::scatter(std::string_view name) {
  if (m_.o.tp == 1) return kNoNode;
  return collective(name, CommType::reduce_scatter, m_.s.tokens * m_.s.hidden * m_.s.element, "tp", kTensor);
}

void StageNodes::message(std::string_view name, NodeType type, Stream stream, int64_t neighbour, int64_t tag,
                         NodeId after) {
  const NodeId n = add(name, type, stream);
  dep(n, after, EdgeKind::data);
  NodeId& before = last_[stream];
  dep(n, before, EdgeKind::stream);
  before = n;
  if (type == NodeType::send) await(n);
  trace::Comm& comm = b_.comm(n);
  comm.bytes = exact(m_.s.token_share * m_.s.hidden * m_.s.element);
  const auto slot = std::find(peers_.begin(), peers_.end(), neighbour);
  (type == NodeType::send ? comm.dst : comm.src) = slot - peers_.begin();
  if (slot == peers_.end()) peers_.push_back(neighbour);
  comm.tag = tag;
  if (type == NodeType::recv) wait(n);
}
NodeId StageNodes::over_data(std::string_view name, CommType type, double bytes) {
  const NodeId n = collective(name, type, bytes, "dp", kData);
  dep(n, last_[kData], EdgeKind::stream);
  return last_[kData] = n;
}

}  // namespace chakra::gen
