// A job, and what it would be with a change: what `chakra whatif` does, as a call.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/job/delays.h"
#include "chakra/job/loaded.h"
#include "chakra/job/simulate.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"
#include "chakra/whatif/whatif.h"

namespace chakra::job {

struct WhatIfOptions {
  std::string path;          ///< the job, as SimulateOptions has it
  std::string from_network;  ///< of the unchanged job; empty: its transfers take as long as they were recorded to
  std::string system, groups, ranks;
  // Changes.
  std::string network;    ///< another network
  DeviceOptions devices;  ///< other devices
  /// By row of whatif::kChanges: its values.
  std::vector<std::vector<std::string>> changes = std::vector<std::vector<std::string>>(whatif::kChanges.size());
  // Noise, of the changed job.
  std::vector<std::string> jitter;
  int64_t repeats = 100;
  uint64_t seed = 1;
  bool sensitivity = false;  ///< also of a changed job
  LoadedPtr loaded = {};     ///< instead of what `path` names
};
options::Options rows_of(WhatIfOptions& options);

struct WhatIf {
  std::string path;
  bool changed = false;        ///< false: only the sensitivity was asked for
  RunChange change;            ///< before_ps: the unchanged job, simulated
  std::string_view transfers;  ///< of the unchanged job: "recorded", "simulated" or "none"
  /// How long the unchanged job took; none where nothing measured it by one clock.
  std::optional<Picoseconds> measured_ps;
  struct Applied {
    const whatif::ChangeRow* row = nullptr;
    std::string value;
    whatif::Reached reached;
  };
  std::vector<Applied> applied;
  std::string network;    ///< another one: what it is; else ""
  sim::SimReport report;  ///< of the changed job, of the unchanged one where nothing was changed
  std::optional<whatif::Sensitivity> sensitivity;
  std::optional<whatif::Noise> noise;
  Findings findings;

  /// before_ps / measured_ps - 1: how far the same simulation is off for the unchanged job.
  std::optional<double> error() const;
};

/// Reads, proves and simulates a job, changes it, and simulates it again. Without a change: its sensitivity.
/// Findings: whatif.network.unchecked, whatif.transfer.own, and those of the simulation.
/// Errors: whatif.network, whatif.network.small, whatif.rule.*, whatif.kind.unknown, cli.usage, and those of
/// simulate_job().
Result<WhatIf> what_if(const WhatIfOptions& options, const std::atomic<bool>* stop = nullptr);

/// What people read: the answer with its error in the first line, changes, ranks and steps, sensitivity, findings.
view::Text text_of(const WhatIf& result);
/// docs/reference/whatif.md has the keys. Cost: about the memory of the result.
answer::Answer answer_of(const WhatIf& result);

}  // namespace chakra::job
