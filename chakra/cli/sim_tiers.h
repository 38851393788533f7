// Tiers of storage in 'chakra sim': the table and the JSON.
#pragma once

#include "chakra/cli/cli.h"
#include "chakra/sim/sim.h"

namespace chakra::cli {

/// A row per tier that was used.
table::Table tier_table(const sim::SimReport& report);
/// `tiers[]` of the results.
Json tiers_json(const sim::SimReport& report);

}  // namespace chakra::cli
