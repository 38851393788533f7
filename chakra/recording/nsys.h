// The reader of Nsight Systems' SQLite exports (nsys export --type sqlite):
// docs/reference/formats/nsys.md describes the tables.
#pragma once

#include "chakra/base/base.h"
#include "chakra/recording/export_survey.h"
#include "chakra/recording/profile.h"
#include "chakra/sqlite/sqlite.h"

namespace chakra::recording {

/// Read the CUDA activity, the NVTX ranges and the calls of NCCL of one process: the chosen one, else the only one that
/// used a GPU. Names go to `strings`. Findings: nsys.ranges, nsys.open, nsys.payloads, nsys.calls. Errors:
/// nsys.version, nsys.table, nsys.value, nsys.nothing, nsys.processes, and those of sqlite::Database. Cost: O(rows log
/// rows).
Result<Profile> read_nsys(const sqlite::Database& database, const ProcessChoice& choice, StringPool& strings,
                          Findings& findings);

/// Find the processes that used devices, and NCCL's communicators. Errors: nsys.table, those of sqlite::Database.
/// Cost: O(rows).
Result<ExportSurvey> survey_nsys(const sqlite::Database& database);

}  // namespace chakra::recording
