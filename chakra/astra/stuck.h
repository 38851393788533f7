// A run that cannot go on: who waits for what.
#pragma once

#include "chakra/base/base.h"

namespace chakra::astra {

struct Run;

/// sim.stuck. Requires a rank that has not finished.
Failure stuck(const Run& run);

}  // namespace chakra::astra
