// 'chakra sim --delay': the option, and what the delays change as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {

/// --delay, any number of times.
Option delay_option(std::vector<std::string>& delays);

/// `rules[]`, `before_ps`, `after_ps`, `change_ps`, `ranks[]`.
Json to_json(const job::DelayStudy& study);
/// A line with the change of the total, a table of the rules and one of what changes; of each step the rank where it
/// changes most.
std::string to_text(const job::DelayStudy& study);

}  // namespace chakra::cli
