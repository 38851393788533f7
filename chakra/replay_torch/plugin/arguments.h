// Recorded values as arguments of a local operator, and the operator's outputs. Inside the plugin.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

#include "chakra/replay_torch/plugin/storages.h"

namespace chakra_torch {

using Values = std::vector<c10::IValue>;

/// Return the recorded value of an argument: by name, or by position if the recording has no names. Null: not recorded.
const chakra_torch_value* find_input(const chakra_torch_operator& op, std::string_view name, size_t position);

c10::IValue to_argument(const chakra_torch_value& value, const c10::TypePtr& type, Storages& storages);

/// Bind arguments by the local schema; an argument that was not recorded takes its
/// default. Count recorded arguments that the schema does not have. Throws Unable.
Values bind(const c10::FunctionSchema& schema, const chakra_torch_operator& op, Storages& storages, uint32_t& unknown);

/// Call `f(tensor)` for each tensor in a value, lists included.
template <class F>
void for_each_tensor(const c10::IValue& value, const F& f) {
  if (value.isTensor()) f(value.toTensor());
  else if (value.isList())
    for (const c10::IValue& item : value.toListRef()) for_each_tensor(item, f);
  else if (value.isTuple())
    for (const c10::IValue& item : value.toTupleRef().elements()) for_each_tensor(item, f);
}
template <class F>
void for_each_tensor(const chakra_torch_value& value, const F& f) {
  if (value.kind == CHAKRA_TORCH_TENSOR) f(*value.tensor);
  if (value.kind == CHAKRA_TORCH_LIST)
    for (int64_t i = 0; i < value.integer; ++i) for_each_tensor(value.items[i], f);
}

/// Keep tensors under their recorded storages. Return whether the shapes are the recorded ones; else set `message`.
bool keep_outputs(const chakra_torch_operator& op, const Values& given, Storages& storages, std::string& message);

}  // namespace chakra_torch
