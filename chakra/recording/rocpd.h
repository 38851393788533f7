// The reader of rocprofv3's databases (rocprofv3 --output-format rocpd, the default since ROCm 7):
// docs/reference/formats/rocprof.md describes the tables.
#pragma once

#include "chakra/base/base.h"
#include "chakra/recording/export_survey.h"
#include "chakra/recording/profile.h"
#include "chakra/sqlite/sqlite.h"

namespace chakra::recording {

/// Read the HIP calls, the device operations, the ROCTx ranges and the calls of RCCL of one process: the chosen one,
/// else the only one. Names go to `strings`. Findings: rocpd.ranges, rocpd.regions, rocpd.launch, rocpd.arguments,
/// rocpd.communicators, nsys.calls. Errors: rocpd.table, rocpd.value, rocpd.json, rocpd.nothing, rocpd.processes, and
/// those of sqlite::Database. Cost: O(rows log rows).
Result<Profile> read_rocpd(const sqlite::Database& database, const ProcessChoice& choice, StringPool& strings,
                           Findings& findings);

/// Find the processes that used devices. Errors: rocpd.table, those of sqlite::Database. Cost: O(rows).
Result<ExportSurvey> survey_rocpd(const sqlite::Database& database);

}  // namespace chakra::recording
