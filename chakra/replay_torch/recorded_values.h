// Values as printed in recordings, "[[5, 6, 0, 64, 4, 'cuda:0'], 1, '<None>']", with
// types and shapes beside them, as values of the plugin's interface. Inside replay.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "chakra/replay_torch/operators.h"

namespace chakra::replay_torch {

/// Return the items of a list or tuple; empty for other texts.
std::vector<std::string_view> list_items(std::string_view list);

/// Called for each tensor, with the number of its recorded storage.
using TensorSeen = std::function<void(chakra_torch_tensor&, int64_t storage)>;

/// Return one value per item of `tensors.values`, owned by the plan. Unreadable items: CHAKRA_TORCH_UNKNOWN.
const std::vector<chakra_torch_value>& read_values(const trace::Trace& trace, const trace::Tensors& tensors,
                                                   OperatorPlan& plan, const TensorSeen& seen);

}  // namespace chakra::replay_torch
