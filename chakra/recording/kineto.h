// The reader of Kineto traces (torch.profiler): docs/reference/formats/kineto.md
// describes the forms that PyTorch has written since 2021.
#pragma once

#include "chakra/base/base.h"
#include "chakra/recording/profile.h"

namespace chakra::json {
struct Salvage;
}
namespace chakra::recording {

using json::Salvage;

/// Read a Kineto trace. `shapes_wanted`: the arguments of operators to keep; null: all.
/// Errors: pytorch.json.*, pytorch.kineto.not_a_kineto_trace, pytorch.kineto.time, pytorch.kineto.field,
/// pytorch.pair.rank, and those of ByteSource. Cost: O(file).
Result<Profile> read_kineto(ByteSource source, StringPool& strings, Arena& texts, ShapesWanted shapes_wanted = nullptr,
                            Salvage* salvage = nullptr);

}  // namespace chakra::recording
