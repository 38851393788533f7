// The base room: the foundation of all other rooms, independent of traces. Errors
// as values, text, files, configuration files, quantities, random numbers.
#pragma once

#include "chakra/base/assert.h"     // IWYU pragma: export
#include "chakra/base/column.h"     // IWYU pragma: export
#include "chakra/base/cores.h"      // IWYU pragma: export
#include "chakra/base/file.h"       // IWYU pragma: export
#include "chakra/base/findings.h"   // IWYU pragma: export
#include "chakra/base/id.h"         // IWYU pragma: export
#include "chakra/base/interrupt.h"  // IWYU pragma: export
#include "chakra/base/prng.h"       // IWYU pragma: export
#include "chakra/base/quantity.h"   // IWYU pragma: export
#include "chakra/base/result.h"     // IWYU pragma: export
#include "chakra/base/rows.h"       // IWYU pragma: export
#include "chakra/base/spec.h"       // IWYU pragma: export
#include "chakra/base/strings.h"    // IWYU pragma: export
