// Parts of answers: a job against its own measurement, the effect of delays, and what a change changes.
#pragma once

#include <optional>
#include <string>

#include "chakra/answer/answer.h"
#include "chakra/recorded/delays.h"
#include "chakra/recorded/job_replay.h"

namespace chakra::recorded {

/// Add the self-check, and the effect of delays; keys are missing without data. `with_ns`: in the form of `link`.
void add_measured(const std::string& prefix, const std::optional<JobReplay>& replay, answer::Builder& to,
                  bool with_ns = false);
void add_delays(const std::optional<DelayStudy>& study, answer::Builder& to);

/// `before_ps`, `after_ps`, `change_ps`, `ranks[]`, `steps[]`; null: the part is absent. `prefix`: "" or "delays.".
void add_change(const std::string& prefix, const RunChange* change, answer::Builder& to);

}  // namespace chakra::recorded
