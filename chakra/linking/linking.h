// `chakra link` as a call, and the steps of linking that a fleet takes in several processes.
#pragma once

#include "chakra/linking/link.h"   // IWYU pragma: export
#include "chakra/linking/parts.h"  // IWYU pragma: export
