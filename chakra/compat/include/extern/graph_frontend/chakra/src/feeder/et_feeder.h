// Where ASTRA-sim includes this header from.
#pragma once

#include "chakra/compat/include/et_feeder.h"  // IWYU pragma: export
