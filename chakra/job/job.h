// Commands as calls: link recordings; read, prove and simulate jobs; convert files. A call takes files and options, and
// returns a result with findings. A call does not print. Small functions convert a result to text and to an answer
// (JSON).
#pragma once

#include "chakra/job/analyze.h"            // IWYU pragma: export
#include "chakra/job/calibrate.h"          // IWYU pragma: export
#include "chakra/job/certify.h"            // IWYU pragma: export
#include "chakra/job/check.h"              // IWYU pragma: export
#include "chakra/job/convert.h"            // IWYU pragma: export
#include "chakra/job/cores.h"              // IWYU pragma: export
#include "chakra/job/diff.h"               // IWYU pragma: export
#include "chakra/job/fleet.h"              // IWYU pragma: export
#include "chakra/job/fleets.h"             // IWYU pragma: export
#include "chakra/job/folder.h"             // IWYU pragma: export
#include "chakra/job/generate.h"           // IWYU pragma: export
#include "chakra/job/generate_options.h"   // IWYU pragma: export
#include "chakra/job/generate_serve.h"     // IWYU pragma: export
#include "chakra/job/generate_step.h"      // IWYU pragma: export
#include "chakra/job/import.h"             // IWYU pragma: export
#include "chakra/job/kinds.h"              // IWYU pragma: export
#include "chakra/job/link.h"               // IWYU pragma: export
#include "chakra/job/loaded.h"             // IWYU pragma: export
#include "chakra/job/network.h"            // IWYU pragma: export
#include "chakra/job/no_effect.h"          // IWYU pragma: export
#include "chakra/job/obfuscate.h"          // IWYU pragma: export
#include "chakra/job/outputs.h"            // IWYU pragma: export
#include "chakra/job/pack.h"               // IWYU pragma: export
#include "chakra/job/paths.h"              // IWYU pragma: export
#include "chakra/job/query.h"              // IWYU pragma: export
#include "chakra/job/ranks.h"              // IWYU pragma: export
#include "chakra/job/replay.h"             // IWYU pragma: export
#include "chakra/job/replay_outputs.h"     // IWYU pragma: export
#include "chakra/job/report.h"             // IWYU pragma: export
#include "chakra/job/secrets.h"            // IWYU pragma: export
#include "chakra/job/select.h"             // IWYU pragma: export
#include "chakra/job/simulate.h"           // IWYU pragma: export
#include "chakra/job/summarize.h"          // IWYU pragma: export
#include "chakra/job/sweep.h"              // IWYU pragma: export
#include "chakra/job/timeline_counters.h"  // IWYU pragma: export
#include "chakra/job/view.h"               // IWYU pragma: export
#include "chakra/job/what_if.h"            // IWYU pragma: export
