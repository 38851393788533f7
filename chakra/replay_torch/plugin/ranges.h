// Bring integer tensors that serve as indices into range, since recordings have no values. Inside the plugin.
#pragma once

#include "chakra/replay_torch/plugin/arguments.h"

namespace chakra_torch {

/// Must be called before the operator of `schema` runs with these arguments. Changes tensors in place.
void bring_into_range(const chakra_torch_operator& op, const c10::FunctionSchema& schema, Values& arguments);

}  // namespace chakra_torch
