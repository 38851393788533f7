// `chakra gen serve` as a call: generate prefill and decode of a batch as a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/files.h"
#include "chakra/generate/step.h"

namespace chakra::generate {

struct ServeJobOptions {
  gen::ServeOptions serve;
  std::string device;                       ///< a name or a file: sets the times of nodes; empty: the rates of `serve`
  std::string stack;                        ///< the software stack: a name or a file
  std::optional<double> device_memory_gib;  ///< else the size from `device`, else kUsualDeviceGib
  GenerateOptions files;                    ///< its name is "serve"
  std::vector<std::string> given = {};      ///< options on the command line: the ones without effect become findings
  bool shows_memory = false;                ///< in text_of()
};

struct ServeJob {
  trace::ClassJob job;
  GeneratedJob files;
  gen::ServeOptions serve;
  gen::ServeStats stats;
  double device_memory_gib = kUsualDeviceGib;
  std::string stack;                     ///< the name
  std::optional<AssumedDevice> assumed;  ///< as in StepJob
  Findings findings;                     ///< options without effect (sim.option.no_effect), and assumptions
  bool shows_memory = false;
};

/// Make the job, set the times of nodes for the device, write the job and compute the statistics. `findings`: as for
/// sim::retarget, and options without effect, also if the call fails. Errors: as for device::find_or_load, gen::serve,
/// sim::retarget and generate_job(). Cost: that of gen::serve, and O(nodes written).
Result<ServeJob> generate_serve(const ServeJobOptions& options, Findings& findings);
/// Ranks and nodes; tokens, operations and bytes of prefill and of decode.
/// With `shows_memory` also parameters, cache, communication and memory, and whether it fits into the device.
view::Text text_of(const ServeJob& job);
answer::Answer answer_of(const ServeJob& job);

}  // namespace chakra::generate
