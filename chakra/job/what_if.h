// `chakra whatif` as a call: predict the effect of a change of a job.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/job/loaded.h"
#include "chakra/job/simulate.h"
#include "chakra/options/options.h"
#include "chakra/recorded/recorded.h"
#include "chakra/view/view.h"
#include "chakra/whatif/whatif.h"

namespace chakra::job {

struct WhatIfOptions {
  std::string path;          ///< the job, as in SimulateOptions
  std::string from_network;  ///< network of the unchanged job; empty: transfers keep the recorded duration
  std::string system, groups, ranks;
  // Changes.
  std::string network;    ///< another network
  DeviceOptions devices;  ///< other devices
  /// Values by row of whatif::kChanges.
  std::vector<std::vector<std::string>> changes = std::vector<std::vector<std::string>>(whatif::kChanges.size());
  // Noise on the changed job.
  std::vector<std::string> jitter;
  int64_t repeats = 100;
  uint64_t seed = 1;
  bool sensitivity = false;   ///< also for a changed job
  LoadedPtr loaded = {};      ///< read instead of `path`
  NetworksPtr networks = {};  ///< have the networks
};
options::Options rows_of(WhatIfOptions& options);

struct WhatIf {
  std::string path;
  bool changed = false;        ///< false: only the sensitivity was requested
  recorded::RunChange change;  ///< before_ps: the unchanged job, simulated
  std::string_view transfers;  ///< of the unchanged job: `recorded`, `simulated` or `none`
  /// Measured duration of the unchanged job; nullopt if the job was not measured with one clock.
  std::optional<Picoseconds> measured_ps;
  std::vector<whatif::Applied> applied;
  std::string network;    ///< description of the other network, or ""
  sim::SimReport report;  ///< of the changed job, or of the unchanged job if there is no change
  whatif::Likely likely;  ///< of generated steps
  std::optional<whatif::Sensitivity> sensitivity;
  std::optional<whatif::Noise> noise;
  Findings findings;

  /// Return before_ps / measured_ps - 1: the error of the same simulation for the unchanged job.
  std::optional<double> error() const;
};

/// Read, prove and simulate a job, change the job, and simulate the changed job. Without a change: compute the
/// sensitivity. Findings: whatif.network.unchecked, whatif.transfer.own; as for the simulation.
/// Errors: whatif.network, whatif.network.small, whatif.rule.*, whatif.kind.unknown, cli.usage; as for
/// simulate_job().
Result<WhatIf> what_if(const WhatIfOptions& options, const std::atomic<bool>* stop = nullptr);

/// Return the text: the prediction with the error in the first line, changes, ranks and steps, sensitivity, findings.
view::Text text_of(const WhatIf& result);
/// Return the answer; docs/reference/whatif.md has the keys. Cost: about the memory of the result.
answer::Answer answer_of(const WhatIf& result);

}  // namespace chakra::job
