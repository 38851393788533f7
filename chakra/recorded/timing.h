// `chakra diff --timing` and `chakra replay --compare` as a call: compare the times of two jobs that did the
// same work.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"
#include "chakra/view/view.h"

namespace chakra::recorded {

struct TimesCompared {
  std::string recorded, replayed;  ///< paths; "": not of files
  std::vector<result::NamedTable>
      tables;            ///< `operations`, `ranks`, `kinds`, `order`, and `steps` of recordings that have them
  std::string sentence;  ///< the largest difference
  Findings findings;
};

/// Compare times. `replayed`: repetitions of the same job, at least one. Ranks that are missing in a repetition are
/// omitted, with a finding. Errors: as for analyze::timing_of; analyze.timing.ranks.
Result<TimesCompared> compare_times(trace::TraceSet recorded, std::vector<trace::TraceSet> replayed,
                                    const match::GroupTable& groups);
/// Compare two jobs by path. Errors: also those of reading.
Result<TimesCompared> compare_times(const std::string& recorded, const std::string& replayed);

/// Add `sentence`, and each table under its name, after `prefix`; null: the part is absent.
void add_times(const std::string& prefix, const TimesCompared* compared, answer::Builder& to);
/// Return the answer of `chakra diff --timing`.
answer::Answer answer_of(const TimesCompared& compared);
view::Text text_of(const TimesCompared& compared);

}  // namespace chakra::recorded
