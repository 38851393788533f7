// The reader of Nsight Systems' SQLite exports (nsys export --type sqlite):
// docs/reference/formats/nsys.md describes the tables.
#pragma once

#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/recording/profile.h"
#include "chakra/sqlite/sqlite.h"

namespace chakra::recording {

/// Read the CUDA activity and the NVTX ranges of the one process that used a GPU. Names go to `strings`. Findings:
/// nsys.ranges, nsys.open. Errors: nsys.version, nsys.table, nsys.value, nsys.nothing, nsys.processes, and those
/// of sqlite::Database. Cost: O(rows log rows).
Result<Profile> read_nsys(const sqlite::Database& database, StringPool& strings, Findings& findings);

}  // namespace chakra::recording
