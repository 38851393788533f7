// Sharing jobs as calls: hide what is secret, find secrets, and choose the jobs that represent a fleet.
#pragma once

#include "chakra/share/obfuscate.h"  // IWYU pragma: export
#include "chakra/share/secrets.h"    // IWYU pragma: export
#include "chakra/share/select.h"     // IWYU pragma: export
#include "chakra/share/texts.h"      // IWYU pragma: export
