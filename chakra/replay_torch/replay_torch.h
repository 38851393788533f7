// Computation by the recorded operators, on the CPU, by libtorch: the compute `torch`.
#pragma once

#include <array>
#include <memory>

#include "chakra/replay/replay.h"

namespace chakra::replay_torch {

/// Errors: replay.torch.plugin, replay.torch.library, replay.torch.record; cli.usage for a setting.
Result<std::unique_ptr<replay::Computer>> open_torch(const replay::ComputerInput& input);
inline constexpr std::array<replay::SettingRow, 4> kSettings{{
    {"plugin", "the plugin (default: libchakra_replay_torch.so; `chakra doctor --plugins` shows its place)"},
    {"libraries", "libraries that register more operators, separated by colons"},
    {"threads", "threads of an operator (default: libtorch's default)"},
    {"record", "have PyTorch record the replay, as PREFIX.RANK.json for `chakra link`; one rank to a process"},
}};
inline constexpr replay::ComputeRow kTorch{
    "torch",
    "runs the recorded operators on the CPU, by libtorch; operators that cannot run take their recorded time",
    true,
    false,
    kSettings,
    open_torch};

}  // namespace chakra::replay_torch
