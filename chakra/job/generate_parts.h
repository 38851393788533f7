// What both kinds of generated jobs say. Inside job.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/gen/gen.h"
#include "chakra/job/generate_serve.h"
#include "chakra/job/generate_step.h"

namespace chakra::job {

inline constexpr double kGib = 1024.0 * 1024 * 1024;
inline int64_t whole(double bytes) { return std::llround(bytes); }

/// The device into the system, and the stack, which is the usual one where none is named. Errors: those of
/// device::find_or_load and device::find_or_load_stack.
Result<device::Stack> use_device_and_stack(const std::string& device, const std::string& stack, device::System& system);
/// GiB: what was asked for, else what the device has, else kUsualDeviceGib.
double memory_of_device(std::optional<double> asked, const device::System& system);

/// How the memory of a rank is counted.
struct MemoryFormulas {
  std::string parameters, gradients, optimizer, activations, working, allocator;
};
MemoryFormulas formulas_of(const StepJob& job);
/// What a job may hold beyond the sum of its tensors: a tenth, which allocators round up and leave unused, and two GiB
/// for the context of the device and buffers of communication.
double most_bytes(double sum);
/// The class whose ranks need the most memory.
template <class Classes>
const auto& fullest(const Classes& classes) {
  const auto* most = &classes.front();
  for (const auto& rank : classes)
    if (rank.memory.sum() > most->memory.sum()) most = &rank;
  return *most;
}

/// Options of a step that the command did not name, without "--": from the model, a preset, or by default.
using TakenValue = std::variant<int64_t, std::string>;
std::vector<std::pair<std::string, TakenValue>> taken_options(const StepJob& job);

/// Options that changed nothing: a finding each (sim.option.no_effect).
Findings options_without_effect(const StepJobOptions& options, const gen::StepStats& stats);
Findings options_without_effect(const ServeJobOptions& options, const gen::ServeOptions& serve,
                                const gen::ServeStats& stats);

}  // namespace chakra::job
