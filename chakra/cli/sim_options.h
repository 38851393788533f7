// What 'chakra sim' is asked for.
#pragma once

#include <string>

#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {

struct SimOptions {
  job::SimulateOptions call;
  std::string compat, json, csv, timeline;
  std::string workload, backend, rendezvous;
  std::string compute_scale, comm_scale, logging, logging_folder;  ///< accepted, as ASTRA-sim does, without effect
  bool no_fold = false, no_check = false, astra_output = false;
};

/// All rows. Their targets are in `options`.
std::vector<Option> sim_rows(SimOptions& options);
/// Fills what the call takes. ASTRA-sim's own command line means its rules and its lines. Errors: cli.usage.
Result<void> settle(SimOptions& options);
/// Options of ASTRA-sim's command that are accepted without effect.
Findings ignored_options(const SimOptions& options);

}  // namespace chakra::cli
