// Parts of reports that several calls share, or that are long enough for a separate file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/job/simulate.h"
#include "chakra/link/link.h"
#include "chakra/recorded/recorded.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// Return part / whole, or 0 if the whole is 0.
inline double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Self-check: a job against the measurement.
/// Return rows for the job, the ranks, and for each step the rank with the largest error.
result::Report::Rows rows_of(const recorded::JobReplay& replay);
/// Return the absolute error of the run that tests the graph (recorded transfers) if available, else of the other run.
double badness(const recorded::Compared& times);

// Work derived from shapes.
/// Return lines without labels; empty if no work was derived.
std::vector<std::string> work_lines(const link::WorkReport& work);

}  // namespace chakra::job
