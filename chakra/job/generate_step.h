// A training step as a job: what `chakra gen step` does, as a call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/gen/gen.h"
#include "chakra/job/generate.h"
#include "chakra/view/view.h"

namespace chakra::job {

inline constexpr double kUsualDeviceGib = 80;          ///< of memory, where nothing says another size
inline constexpr const char* kUsualStack = "kernels";  ///< of device::kStacks

struct StepJobOptions {
  gen::StepOptions step;
  std::string device;  ///< its name or file: nodes take its times; empty: the rates of `step`
  std::string stack;   ///< the software, by its name or file: what it makes of `device`, what it keeps in memory
  std::optional<double> device_memory_gib;  ///< else that of `device`, else kUsualDeviceGib
  GenerateOptions files;                    ///< its name is "step"
  std::vector<std::string> given = {};      ///< options of the command: those without effect are findings
  bool shows_memory = false;                ///< in text_of()
};

struct StepJob {
  trace::ClassJob job;
  GeneratedJob files;
  gen::StepOptions step;
  gen::StepStats stats;
  double device_memory_gib = kUsualDeviceGib;
  std::string stack;                  ///< its name
  std::vector<std::string> by_stack;  ///< options that mean something else with that stack, and what
  std::vector<std::string> given;     ///< options of the command
  Findings ignored;                   ///< those without effect
  bool shows_memory = false;
};

/// Makes the job, gives its nodes the times of the device, writes it and counts it. `findings`: those of sim::retarget
/// and the options without effect (sim.option.no_effect), also where the call fails.
/// Errors: those of device::find_or_load, gen::step, sim::retarget and generate_job(). Cost: that of gen::step, and
/// O(nodes written).
Result<StepJob> generate_step(const StepJobOptions& options, Findings& findings);
/// Ranks and nodes; parameters and operations. With `shows_memory` also communication and memory, each with its
/// formula, and whether it fits into the device.
view::Text text_of(const StepJob& job);
answer::Answer answer_of(const StepJob& job);

}  // namespace chakra::job
