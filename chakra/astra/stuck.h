// The waits in a run that cannot continue.
#pragma once

#include "chakra/base/base.h"

namespace chakra::astra {

struct Run;

/// Return the error sim.stuck. Requires a rank that has not finished.
Failure stuck(const Run& run);

}  // namespace chakra::astra
