// The back ends and the computes of `chakra replay`, from all rooms that have some.
#pragma once

#include <array>

#include "chakra/replay/replay.h"
#include "chakra/replay_fabric/replay_fabric.h"
#include "chakra/replay_torch/replay_torch.h"

namespace chakra::run {

inline constexpr std::array<replay::BackendRow, 4> kBackends{replay::kNull, replay_fabric::kFabric, replay::kMpi,
                                                             replay::kNccl};
inline constexpr std::array<replay::ComputeRow, 5> kComputes{replay::kNone, replay::kSleep, replay::kSpin,
                                                             replay_torch::kTorch, replay::kWork};

}  // namespace chakra::run
