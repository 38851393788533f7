// `chakra gen` as calls: training steps, serving steps, test cases and networks.
#pragma once

#include "chakra/generate/files.h"    // IWYU pragma: export
#include "chakra/generate/network.h"  // IWYU pragma: export
#include "chakra/generate/options.h"  // IWYU pragma: export
#include "chakra/generate/serve.h"    // IWYU pragma: export
#include "chakra/generate/step.h"     // IWYU pragma: export
