// A job against its own measurement, as text and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "chakra/cli/cli.h"
#include "chakra/sim/sim.h"

namespace chakra::cli {

/// `unit`: "ns" or "ps", the ending of the keys.
Json to_json(const sim::JobReplay& replay, std::string_view unit);
/// A table: the job, its ranks, and of each step the rank where it is off most.
std::string to_text(const sim::JobReplay& replay);

}  // namespace chakra::cli
