// What 'chakra view' is asked for.
#pragma once

#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {

struct ViewOptions {
  job::ViewOptions call;
  std::string from, only = "all", frequency;
  int64_t csv_ranks = 0;
};

/// All rows. Their targets are in `options`.
std::vector<Option> view_rows(ViewOptions& options);

}  // namespace chakra::cli
