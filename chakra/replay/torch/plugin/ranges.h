// Whole numbers that index are brought into range: recordings have no values. Inside the plugin.
#pragma once

#include "chakra/replay/torch/plugin/arguments.h"

namespace chakra_torch {

/// Before `schema`'s operator runs with these arguments. Changes tensors in place.
void bring_into_range(const chakra_torch_operator& op, const c10::FunctionSchema& schema, Values& arguments);

}  // namespace chakra_torch
