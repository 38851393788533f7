// Parts of the text that both kinds of generated jobs share. Inside generate.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/serve.h"
#include "chakra/generate/step.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/metadata.h"

namespace chakra::generate {

inline constexpr double kGib = 1024.0 * 1024 * 1024;
inline int64_t whole(double bytes) { return std::llround(bytes); }

/// Add the device to the system, and return the stack (the default stack if `stack` is empty). Errors: as for
/// device::find_or_load and device::find_or_load_stack.
Result<device::Stack> use_device_and_stack(const std::string& device, const std::string& stack, device::System& system);
/// Return the memory in GiB: the option, which the device in the system then has, else the size from the device, else
/// kUsualDeviceGib.
double memory_of_device(std::optional<double> asked, device::System& system);

/// Descriptions of the parts of memory of a rank.
struct MemoryFormulas {
  std::string parameters, gradients, optimizer, activations, working, allocator;
};
MemoryFormulas formulas_of(const StepJob& job);
/// Return the class whose ranks need the most memory.
template <class Classes>
const auto& fullest(const Classes& classes) {
  const auto* most = &classes.front();
  for (const auto& rank : classes)
    if (rank.memory.sum() > most->memory.sum()) most = &rank;
  return *most;
}

/// Add the memory of a rank to the metadata of each class.
template <class Classes>
void describe_memory(const Classes& classes, trace::ClassJob& job) {
  for (size_t cls = 0; cls < job.classes.size(); ++cls)
    trace::describe_memory(classes[cls].memory.sum(), job.classes[cls]);
}
/// Compare the memory of the class that needs most with a device of that size. Finding: sim.device.memory.
template <class Classes>
void note_memory(const Classes& classes, bool fsdp, double device_gib, Findings& findings) {
  const auto& most = fullest(classes);
  if (auto finding = sim::memory_finding({most.first_rank, most.memory.sum(), fsdp, device_gib * kGib, "the device"}))
    findings.push_back(std::move(*finding));
}

/// Return the rates of generated nodes, unless the options have a device or its peak.
template <class Rates, class Options>
std::optional<AssumedDevice> assumed_device(const Rates& rates, const Options& o) {
  if (!o.device.empty() || std::find(o.given.begin(), o.given.end(), "--device-peak-tflops") != o.given.end())
    return {};
  return AssumedDevice{rates.peak_flop_per_s, rates.memory_bytes_per_s, rates.efficiency};
}

/// Options of a step that were not on the command line, without "--": from the model, a preset, or the defaults.
using TakenValue = std::variant<int64_t, std::string>;
std::vector<std::pair<std::string, TakenValue>> taken_options(const StepJob& job);

/// Return a finding (sim.option.no_effect) for each option without effect.
Findings options_without_effect(const StepJobOptions& options, const gen::Framework& framework,
                                const gen::StepStats& stats);
Findings options_without_effect(const ServeJobOptions& options, const gen::ServeOptions& serve,
                                const gen::ServeStats& stats);

}  // namespace chakra::generate
