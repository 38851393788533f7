// `chakra replay` as a call: run a job for real.
#pragma once

#include "chakra/run/outputs.h"  // IWYU pragma: export
#include "chakra/run/replay.h"   // IWYU pragma: export
#include "chakra/run/rows.h"     // IWYU pragma: export
