// Rules of the diagnosis of runs, and their helpers. Inside whatif.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/whatif/diagnosis.h"

namespace chakra::whatif {

/// Return the time that a change of the job saves. Errors: those of the change and of simulate, whatif.diagnosis.long.
Result<Picoseconds> saved_by(const DiagnosedRun& run, const std::function<Result<void>(sim::SimInput&)>& change);
/// Return the error of a run that is too long for a second run.
Failure too_long();
/// Return a row without a sentence.
analyze::Diagnosis row_of(const DiagnosedRun& run, std::string_view kind, std::string place, Picoseconds cost,
                          analyze::Evidence evidence);
/// "12.1 ms (8.20 %)"
std::string amount(const analyze::Diagnosis& d);
std::string amount(const DiagnosedRun& run, Picoseconds time);
/// Return whether the time is at least kLeastDiagnosedShare of the run.
bool is_large(const DiagnosedRun& run, Picoseconds time);
/// The traces of the job, or of the classes of the job.
std::vector<trace::Trace>& traces_of(sim::SimInput& input);
const std::vector<trace::Trace>& traces_of(const sim::SimInput& input);
/// Return the trace of each rank of the report; empty if the report has other ranks than the input.
std::vector<size_t> trace_by_rank(const DiagnosedRun& run);

Result<analyze::Judgement> skewed_expert(DiagnosedRun& run);
Result<analyze::Judgement> slow_link(DiagnosedRun& run);
Result<analyze::Judgement> loaded_link(DiagnosedRun& run);
Result<analyze::Judgement> small_messages(DiagnosedRun& run);
Result<analyze::Judgement> no_overlap(DiagnosedRun& run);

}  // namespace chakra::whatif
