// The size of a communication kernel without a record. It comes from the operator that launched the kernel, where the
// table of kernels (pytorch/comm_kernels.h) names that operator.
#include <absl/container/flat_hash_map.h>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

using trace::DType;

/// The innermost operator around the launch that launches such kernels, or kNone.
uint32_t caller_of(const Linking& l, uint32_t op) {
  const CommKernelRow& row = *l.device.comm_kernel[op];
  const uint32_t call = l.device.call_of_op[op];
  if (row.caller.empty() || call == kNone) return kNone;
  uint32_t around = l.threads.enclosing_op[call];
  while (around != kNone && !calls(l.text(l.profile().ops[around].name), row)) around = l.threads.parent_op[around];
  return around;
}

/// The first tensor among the inputs of an operator, as the one or the other trace has it.
std::optional<TensorShape> first_tensor(const Linking& l, uint32_t op) {
  Arguments arguments;
  const uint32_t row = l.profile().ops[op].shapes, h = l.match.host_of_op[op];
  if (row < kShapesUnused) {
    const RecordedShapes& all = l.profile().shapes;
    const RecordedShapes::Row& said = all.rows[row];
    if (!parse_arguments(all.texts[said.dims], all.texts[said.types], "", arguments.inputs)) return std::nullopt;
  } else if (h != kNone) {
    const trace::Tensors& inputs = l.host().io(l.host().ops[h]).inputs;
    if (!parse_arguments(l.text(inputs.shapes), l.text(inputs.types), inputs.values, arguments.inputs))
      return std::nullopt;
  }
  for (const Argument& argument : arguments.inputs)
    if (!argument.tensors.empty()) return argument.tensors.front();
  return std::nullopt;
}

/// c10d's name of an element type; empty where it is not known.
std::string_view c10d_name(DType type) {
  constexpr std::pair<DType, std::string_view> kNames[] = {
      {DType::f64, "Double"}, {DType::f32, "Float"},   {DType::f16, "Half"}, {DType::bf16, "BFloat16"},
      {DType::f8, "Float8"},  {DType::i64, "Long"},    {DType::i32, "Int"},  {DType::i16, "Short"},
      {DType::i8, "Char"},    {DType::boolean, "Bool"}};
  for (const auto& [of, name] : kNames)
    if (of == type) return name;
  return {};
}

}  // namespace

void ask_callers(Linking& l) {
  Profile& p = l.profile();
  std::vector<std::pair<uint32_t, uint32_t>> asked;  // device operation, caller
  absl::flat_hash_map<uint32_t, int64_t> kernels;    // by caller
  for (uint32_t op = 0; op < p.device_ops.size(); ++op) {
    if (l.device.comm_kernel[op] == nullptr || p.device_ops[op].comm != trace::kNoRow) continue;
    const uint32_t caller = caller_of(l, op);
    if (caller == kNone) continue;
    asked.emplace_back(op, caller);
    ++kernels[caller];
  }
  for (const auto& [op, caller] : asked) {
    const std::string_view name = l.text(p.ops[caller].name);
    CommRecord record;
    record.collective = l.trace.strings.intern(name.substr(name.rfind(':') + 1));
    // Which part of it each of several kernels moves is not said.
    const std::optional<TensorShape> tensor = kernels[caller] == 1 ? first_tensor(l, caller) : std::nullopt;
    if (tensor && !c10d_name(tensor->dtype).empty() && !tensor->bytes().full()) {
      record.in_elements = static_cast<int64_t>(tensor->elements.value());
      record.dtype = l.trace.strings.intern(c10d_name(tensor->dtype));
    }
    p.device_ops[op].comm = static_cast<uint32_t>(p.comms.size());
    p.comms.push_back(record);
  }
}

}  // namespace chakra::link
