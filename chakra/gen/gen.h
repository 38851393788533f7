// Workloads made without a recording.
#pragma once

#include "chakra/gen/cases.h"  // IWYU pragma: export
