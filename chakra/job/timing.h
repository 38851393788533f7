// How alike the times of two jobs are that did the same: what `chakra diff --timing` and `chakra replay --compare` do,
// as a call.
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

namespace chakra::job {

struct TimesCompared {
  std::string recorded, replayed;  ///< paths; "": not of files
  std::vector<result::NamedTable>
      tables;            ///< `operations`, `ranks`, `kinds`, `order`, and `steps` of recordings that have them
  std::string sentence;  ///< what differs most
  Findings findings;
};

/// `replayed`: repetitions of the same job, at least one. Ranks that not all have are left out, with a finding. Errors:
/// those of analyze::timing_of; analyze.timing.ranks.
Result<TimesCompared> compare_times(trace::TraceSet recorded, std::vector<trace::TraceSet> replayed,
                                    const match::GroupTable& groups);
/// The same of two jobs by their paths. Errors: also those of reading.
Result<TimesCompared> compare_times(const std::string& recorded, const std::string& replayed);

/// `sentence`, and each table under its name, after `prefix`; null: the part is absent.
void add_times(const std::string& prefix, const TimesCompared* compared, answer::Builder& to);
/// Of `chakra diff --timing`.
answer::Answer answer_of(const TimesCompared& compared);
view::Text text_of(const TimesCompared& compared);

}  // namespace chakra::job
