// The change of a step from one job to another, with the change of the diagnosis: for a pull request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/analyze/diagnosis.h"
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

struct DiagnosedJob {
  Diagnoses diagnoses;
  Picoseconds step = 0;  ///< median length of a step, or the longest rank if no steps are recorded
  double spread = 0;     ///< standard deviation of the steps by the median; 0 for fewer than three steps
  int64_t steps = 0;     ///< recorded steps
};
/// Errors: as for `prepare` and the analyses. Cost: that of the analyses of kDiagnosisSources.
Result<DiagnosedJob> diagnose_job(const trace::TraceSet& job);

struct StepChange {
  Picoseconds step_a = 0, step_b = 0;
  double spread_a = 0, spread_b = 0;
  int64_t steps_a = 0, steps_b = 0;
  double change = 0;            ///< b / a - 1
  std::optional<double> limit;  ///< of the change, if a limit was given: at least twice the larger spread
  bool longer = false;          ///< the change is above the limit
  struct Row {
    std::string_view change;  ///< new, gone, larger, smaller
    std::string kind, place;
    Picoseconds cost_a = 0, cost_b = 0;
    std::string sentence;  ///< of b, or of a if the problem is gone
  };
  std::vector<Row> rows;  ///< largest change of the cost first
};
/// `percent`: the accepted increase. Diagnoses whose share of the step changes by less than 1 % are left out.
StepChange step_change(const DiagnosedJob& a, const DiagnosedJob& b, std::optional<double> percent);

/// Return the lines of a text for a pull request, with the sentences of exceeding(). Names cannot add markup.
std::vector<std::string> markdown_of(const StepChange& change, const std::vector<std::string>& exceeding);

/// Add the values `step.*` and the table `diagnosis_changes`.
void add_steps(const std::optional<StepChange>& change, answer::Builder& to);

}  // namespace chakra::analyze
