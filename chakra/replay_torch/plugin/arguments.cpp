#include "chakra/replay_torch/plugin/arguments.h"

#include <limits>
#include <string>

namespace chakra_torch {
namespace {

[[noreturn]] void cannot(const chakra_torch_value& value, const c10::Type& type) {
  if (value.kind == CHAKRA_TORCH_UNKNOWN)
    throw Unable(std::string("the recording has no value of an argument of type ") + value.text);
  throw Unable("a recorded value is not one of type " + type.str());
}

bool is_number(const chakra_torch_value& value) {
  return value.kind == CHAKRA_TORCH_INTEGER || value.kind == CHAKRA_TORCH_REAL || value.kind == CHAKRA_TORCH_BOOLEAN;
}

c10::IValue to_number(const chakra_torch_value& value, const c10::Type& type) {
  if (!is_number(value)) cannot(value, type);
  if (value.kind == CHAKRA_TORCH_BOOLEAN) return c10::IValue(value.integer != 0);
  if (value.kind == CHAKRA_TORCH_INTEGER) return c10::IValue(value.integer);
  return c10::IValue(value.real);
}

c10::IValue to_list(const chakra_torch_value& value, const c10::TypePtr& item, Storages& storages) {
  c10::impl::GenericList list(item);
  if (value.kind == CHAKRA_TORCH_LIST)
    for (int64_t i = 0; i < value.integer; ++i) list.push_back(to_argument(value.items[i], item, storages));
  else list.push_back(to_argument(value, item, storages));
  return c10::IValue(list);
}

}  // namespace

const chakra_torch_value* find_input(const chakra_torch_operator& op, std::string_view name, size_t position) {
  if (!op.input_names) return position < op.inputs ? &op.input[position] : nullptr;
  for (uint32_t i = 0; i < op.inputs; ++i)
    if (name == op.input_names[i]) return &op.input[i];
  return nullptr;
}

c10::IValue to_argument(const chakra_torch_value& value, const c10::TypePtr& type, Storages& storages) {
  using Kind = c10::TypeKind;
  switch (type->kind()) {
    case Kind::OptionalType:
      if (value.kind == CHAKRA_TORCH_NONE || value.kind == CHAKRA_TORCH_UNKNOWN) return {};
      return to_argument(value, type->castRaw<c10::OptionalType>()->getElementType(), storages);
    case Kind::TensorType:
      if (value.kind == CHAKRA_TORCH_NONE) return c10::IValue(at::Tensor());
      if (value.kind == CHAKRA_TORCH_TENSOR) return c10::IValue(storages.view(*value.tensor));
      if (is_number(value)) return c10::IValue(at::scalar_tensor(to_number(value, *type).toScalar()));
      cannot(value, *type);
    case Kind::ListType: return to_list(value, type->castRaw<c10::ListType>()->getElementType(), storages);
    case Kind::NumberType: return to_number(value, *type);
    case Kind::FloatType:
      if (!is_number(value)) cannot(value, *type);
      return c10::IValue(value.kind == CHAKRA_TORCH_REAL ? value.real : static_cast<double>(value.integer));
    case Kind::BoolType:
      if (!is_number(value)) cannot(value, *type);
      return c10::IValue(value.integer != 0);
    case Kind::StringType:
      if (value.kind != CHAKRA_TORCH_TEXT) cannot(value, *type);
      return c10::IValue(std::string(value.text));
    case Kind::DeviceObjType: return c10::IValue(c10::Device(c10::kCPU));
    case Kind::GeneratorType: return {};
    case Kind::IntType:
    case Kind::SymIntType:
      if (!is_number(value)) cannot(value, *type);
      return c10::IValue(value.kind == CHAKRA_TORCH_REAL ? static_cast<int64_t>(value.real) : value.integer);
    default: cannot(value, *type);
  }
}

Values bind(const c10::FunctionSchema& schema, const chakra_torch_operator& op, Storages& storages, uint32_t& unknown) {
  Values values;
  uint32_t used = 0;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const chakra_torch_value* const value = find_input(op, argument.name(), i);
    used += value != nullptr;
    const bool optional = argument.type()->kind() == c10::TypeKind::OptionalType;
    if (optional && argument.name() == "pin_memory") values.emplace_back();  // this memory is a CPU's
    else if (value && (value->kind != CHAKRA_TORCH_NONE || !argument.default_value() || optional))
      values.push_back(to_argument(*value, argument.type(), storages));
    else if (argument.default_value()) values.push_back(*argument.default_value());
    else throw Unable("its argument " + argument.name() + " was not recorded");
  }
  unknown = op.inputs - used;
  return values;
}

bool keep_outputs(const chakra_torch_operator& op, const Values& given, Storages& storages, std::string& message) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : given)
    for_each_tensor(value, [&](const at::Tensor& t) {
      if (t.defined()) tensors.push_back(t);
    });
  size_t recorded = 0;
  bool same = true;
  const auto differs = [&](const std::string& text) {
    if (same) message = text;
    same = false;
  };
  for (uint32_t i = 0; i < op.outputs; ++i)
    for_each_tensor(op.output[i], [&](const chakra_torch_tensor& t) {
      if (recorded++ >= tensors.size()) return;
      const at::Tensor& tensor = tensors[recorded - 1];
      if (tensor.sizes().vec() != sizes_of(t))
        differs("output " + std::to_string(recorded - 1) + " has the shape " + c10::str(tensor.sizes()) +
                ", recorded was " + c10::str(c10::IntArrayRef(t.sizes, t.dims)));
      storages.keep(t, tensor);
    });
  if (recorded != tensors.size())
    differs(std::to_string(tensors.size()) + " tensors came out, recorded were " + std::to_string(recorded));
  return same;
}

}  // namespace chakra_torch
