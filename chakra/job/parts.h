// Parts that the calls of all rooms share: options, rows of answers, files, cores, a job in memory.
#pragma once

#include "chakra/job/answer_rows.h"     // IWYU pragma: export
#include "chakra/job/collectives.h"     // IWYU pragma: export
#include "chakra/job/folder.h"          // IWYU pragma: export
#include "chakra/job/loaded.h"          // IWYU pragma: export
#include "chakra/job/no_effect.h"       // IWYU pragma: export
#include "chakra/job/outputs.h"         // IWYU pragma: export
#include "chakra/job/paths.h"           // IWYU pragma: export
#include "chakra/job/programs.h"        // IWYU pragma: export
#include "chakra/job/ranks.h"           // IWYU pragma: export
#include "chakra/job/shared_options.h"  // IWYU pragma: export
#include "chakra/job/simulate_input.h"  // IWYU pragma: export
#include "chakra/job/slice_finder.h"    // IWYU pragma: export
#include "chakra/job/text_rows.h"       // IWYU pragma: export
