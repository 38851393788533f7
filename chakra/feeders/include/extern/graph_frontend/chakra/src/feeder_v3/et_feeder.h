// Where ASTRA-sim includes this header from.
#pragma once

#include "chakra/feeders/include/feeder_v3/et_feeder.h"  // IWYU pragma: export
