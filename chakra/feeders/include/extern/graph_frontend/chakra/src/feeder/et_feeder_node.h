// Where ASTRA-sim includes this header from.
#pragma once

#include "chakra/feeders/include/et_feeder_node.h"  // IWYU pragma: export
