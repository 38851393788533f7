// Profilers that write SQLite databases: one row each. Inside recording, and for doctor.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/recording/export_survey.h"
#include "chakra/recording/profile.h"
#include "chakra/sqlite/sqlite.h"

namespace chakra::recording {

struct ExportTool {
  std::string_view name;                   ///< of the kind of file: filetype::kNsys
  std::array<std::string_view, 2> tables;  ///< beginnings of names of tables; a database has one of them
  Result<ExportSurvey> (*survey)(const sqlite::Database& database);
  Result<Profile> (*read)(const sqlite::Database& database, const ProcessChoice& choice, StringPool& strings,
                          Findings& findings);
};

/// Return the tool that wrote a database, by its tables; null for other tools. Errors: those of sqlite::Database.
Result<const ExportTool*> export_tool_of(const sqlite::Database& database);

/// A profiler's database, and the tool that wrote it.
struct OpenExport {
  sqlite::Database database;
  const ExportTool* tool;
};
/// Nullopt for other files. Errors: those of ByteSource and sqlite::Database.
Result<std::optional<OpenExport>> open_export(const std::string& path);

}  // namespace chakra::recording
