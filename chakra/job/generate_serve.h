// Prefill and decode of a batch as a job: what `chakra gen serve` does, as a call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/gen/gen.h"
#include "chakra/job/generate.h"
#include "chakra/job/generate_step.h"

namespace chakra::job {

struct ServeJobOptions {
  gen::ServeOptions serve;
  std::string device;                       ///< its name or file: nodes take its times; empty: the rates of `serve`
  std::string stack;                        ///< the software, by its name or file
  std::optional<double> device_memory_gib;  ///< else that of `device`, else kUsualDeviceGib
  GenerateOptions files;                    ///< its name is "serve"
  std::vector<std::string> given = {};      ///< options of the command: those without effect are findings
  bool shows_memory = false;                ///< in text_of()
};

struct ServeJob {
  trace::ClassJob job;
  GeneratedJob files;
  gen::ServeOptions serve;
  gen::ServeStats stats;
  double device_memory_gib = kUsualDeviceGib;
  std::string stack;  ///< its name
  Findings ignored;   ///< options without effect (sim.option.no_effect)
  bool shows_memory = false;
};

/// Makes the job, gives its nodes the times of the device, writes it and counts it. `findings`: those of sim::retarget
/// and the options without effect, also where the call fails. Errors: those of device::find_or_load, gen::serve,
/// sim::retarget and generate_job(). Cost: that of gen::serve, and O(nodes written).
Result<ServeJob> generate_serve(const ServeJobOptions& options, Findings& findings);
/// Ranks and nodes; tokens, operations and bytes of prefill and of decode.
/// With `shows_memory` also parameters, cache, communication and memory, and whether it fits into the device.
view::Text text_of(const ServeJob& job);
answer::Answer answer_of(const ServeJob& job);

}  // namespace chakra::job
