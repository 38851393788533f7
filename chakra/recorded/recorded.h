// A recorded job against its own measurement: runs of the job with recorded transfers or with delays, on the clock of
// the job, compared with the measured times of the job, ranks and steps.
#pragma once

#include "chakra/recorded/answer.h"         // IWYU pragma: export
#include "chakra/recorded/compare_ranks.h"  // IWYU pragma: export
#include "chakra/recorded/delay_rules.h"    // IWYU pragma: export
#include "chakra/recorded/delays.h"         // IWYU pragma: export
#include "chakra/recorded/dumps.h"          // IWYU pragma: export
#include "chakra/recorded/job_replay.h"     // IWYU pragma: export
#include "chakra/recorded/max_error.h"      // IWYU pragma: export
#include "chakra/recorded/replays.h"        // IWYU pragma: export
#include "chakra/recorded/timing.h"         // IWYU pragma: export
#include "chakra/recorded/transfers.h"      // IWYU pragma: export
