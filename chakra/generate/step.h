// `chakra gen step` as a call: generate a training step as a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/files.h"
#include "chakra/view/view.h"

namespace chakra::generate {

inline constexpr double kUsualDeviceGib = 85.05e9 / (1 << 30);  ///< default size of memory: that of H100-SXM
inline constexpr const char* kUsualStack = "kernels";           ///< of device::kStacks

/// The rates that decide the times of nodes if no device is given.
struct AssumedDevice {
  double ops_per_s = 0, bytes_per_s = 0, efficiency = 0;
};

struct StepJobOptions {
  gen::StepOptions step;
  std::string device;  ///< a name or a file: sets the times of nodes; empty: the rates of `step`
  std::string stack;   ///< the software stack, a name or a file: speed on `device`, data kept in memory
  std::optional<double> device_memory_gib;  ///< else the size from `device`, else kUsualDeviceGib
  GenerateOptions files;                    ///< its name is "step"
  std::vector<std::string> given = {};      ///< options on the command line: the ones without effect become findings
  bool shows_memory = false;                ///< in text_of()
};

struct StepJob {
  trace::ClassJob job;
  GeneratedJob files;
  gen::StepOptions step;
  gen::StepStats stats;
  double device_memory_gib = kUsualDeviceGib;
  std::string stack;                     ///< the name
  std::vector<std::string> by_stack;     ///< options that have another meaning with this stack, and the meaning
  std::vector<std::string> given;        ///< options on the command line
  std::optional<AssumedDevice> assumed;  ///< without a device and without its peak
  Findings findings;                     ///< options without effect, and assumptions
  bool shows_memory = false;
};

/// Make the job, set the times of nodes for the device, write the job and compute the statistics. `findings`: as for
/// sim::retarget, and options without effect (sim.option.no_effect), also if the call fails.
/// Errors: as for device::find_or_load, gen::step, sim::retarget and generate_job(). Cost: that of gen::step, and
/// O(nodes written).
Result<StepJob> generate_step(const StepJobOptions& options, Findings& findings);
/// Ranks and nodes; parameters and operations. With `shows_memory` also communication and memory, each with its
/// formula, and whether it fits into the device.
view::Text text_of(const StepJob& job);
answer::Answer answer_of(const StepJob& job);
/// Add a table of the memory of a rank of each class.
void add_memory_by_class(std::string key, const std::vector<gen::ClassStats>& classes, answer::Builder& to,
                         bool present);

}  // namespace chakra::generate
