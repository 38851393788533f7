// Files of a job as calls: convert traces and networks to other formats, import workloads of other tools, pack and
// unpack containers.
#pragma once

#include "chakra/convert/import.h"   // IWYU pragma: export
#include "chakra/convert/network.h"  // IWYU pragma: export
#include "chakra/convert/pack.h"     // IWYU pragma: export
#include "chakra/convert/traces.h"   // IWYU pragma: export
