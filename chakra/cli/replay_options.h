// What 'chakra replay' is asked for.
#pragma once

#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {

struct ReplayOptions {
  job::ReplayOptions call;
  job::ReplayOutputs outputs;
  job::FlowsOptions flows;
  std::string flows_file;
  bool no_check = false;
};

/// All rows. Their targets are in `options`.
std::vector<Option> replay_rows(ReplayOptions& options);

}  // namespace chakra::cli
