// Calls that ask about a job: check, analyze, simulate, change, view, compare. A call takes files and options, and
// returns a result with findings. A call does not print. Small functions convert a result to text and to an answer
// (JSON).
#pragma once

#include "chakra/job/analyze.h"            // IWYU pragma: export
#include "chakra/job/calibrate.h"          // IWYU pragma: export
#include "chakra/job/check.h"              // IWYU pragma: export
#include "chakra/job/diff.h"               // IWYU pragma: export
#include "chakra/job/simulate.h"           // IWYU pragma: export
#include "chakra/job/summarize.h"          // IWYU pragma: export
#include "chakra/job/timeline_counters.h"  // IWYU pragma: export
#include "chakra/job/view.h"               // IWYU pragma: export
#include "chakra/job/what_if.h"            // IWYU pragma: export
