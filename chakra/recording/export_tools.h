// Profilers that write SQLite databases: one row each. Inside recording, and for doctor.
#pragma once

#include <array>
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

/// Return the tool that wrote a database, by its tables; null for other files.
/// Errors: those of ByteSource and sqlite::Database.
Result<const ExportTool*> export_tool_of(const std::string& path);
Result<const ExportTool*> export_tool_of(const sqlite::Database& database);

}  // namespace chakra::recording
