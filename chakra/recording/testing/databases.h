// Databases of profilers in tests and fuzz targets.
#pragma once

#include <string>
#include <string_view>

#include "chakra/recording/export_survey.h"
#include "chakra/recording/profile.h"
#include "chakra/sqlite/sqlite.h"

namespace chakra::recording::testing {

/// A reader of one process: read_nsys or read_rocpd.
using ReadDatabase = Result<Profile> (*)(const sqlite::Database& database, const ProcessChoice& choice,
                                         StringPool& strings, Findings& findings);

/// The profile of a database in memory, with its names.
template <ReadDatabase reader>
struct DatabaseRead {
  StringPool strings;
  Findings findings;
  Result<Profile> profile;

  explicit DatabaseRead(const std::string& bytes, const ProcessChoice& choice = {}) : profile(Profile()) {
    const auto database = sqlite::Database::from_memory(bytes, "memory");
    profile = database ? reader(*database, choice, strings, findings) : Result<Profile>(Failure(database.error()));
  }
};

/// Read any bytes. Traps if a profile refers to rows that it lacks.
inline void fuzz_database(std::string_view bytes, Result<ExportSurvey> (*survey)(const sqlite::Database& database),
                          ReadDatabase reader) {
  const auto database = sqlite::Database::from_memory(bytes, "fuzz", {.seconds = 2});
  if (!database) return;
  StringPool strings;
  Findings findings;
  (void)survey(*database);
  const auto profile = reader(*database, {}, strings, findings);
  if (!profile) return;
  for (const DeviceOp& op : profile->device_ops)
    if (op.lane >= profile->streams.size() || op.dur_ns < 0 ||
        (op.comm != trace::kNoRow && op.comm >= profile->comms.size()))
      __builtin_trap();
  for (const RuntimeCall& call : profile->calls)
    if (call.lane >= profile->threads.size() || call.dur_ns < 0) __builtin_trap();
}

}  // namespace chakra::recording::testing
