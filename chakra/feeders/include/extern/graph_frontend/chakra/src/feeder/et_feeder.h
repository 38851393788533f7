// Where ASTRA-sim includes this header from.
#pragma once

#include "chakra/feeders/include/et_feeder.h"  // IWYU pragma: export
