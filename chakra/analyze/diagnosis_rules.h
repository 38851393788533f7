// Rules of the diagnosis, and their helpers. Inside analyze.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {

using Numbers = DiagnosisNumbers;

inline constexpr std::string_view kNotMeasured = "no node has a measured start";
inline constexpr std::string_view kOneRank = "only one rank is recorded";
inline constexpr std::string_view kNoWaits = "no collective has a measured time on all of its ranks";

/// Return the lower of two in the middle.
Picoseconds median_of(std::vector<Picoseconds> values);
/// Return a row; the rule adds the sentence. The cost is that of all steps here.
Diagnosis row_of(const Numbers& n, std::string_view kind, std::string place, Picoseconds cost, Evidence evidence);
/// "12.1 ms of a step (8.20 %)"
std::string amount(const Numbers& n, const Diagnosis& d);
std::string amount(const Numbers& n, Picoseconds time);  ///< of all steps
/// Return whether ranks can be compared by the times of collectives; if not, state the missing input.
bool compares(const Numbers& n, Judgement& j);

/// Add the group with the most exposed communication to a row of kind none, if its share is at least
/// kLeastDiagnosedShare. A recording of one group does not show the cause: a slow link, latency or the schedule.
void add_exposed(const Numbers& n, Diagnosis& none);

Judgement slow_link(const Numbers& n, Taken& taken);
Judgement small_messages(const Numbers& n, Taken& taken);
Judgement no_overlap(const Numbers& n, Taken& taken);

}  // namespace chakra::analyze
