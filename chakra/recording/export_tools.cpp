#include "chakra/recording/export_tools.h"

#include <algorithm>
#include <array>

#include "chakra/filetype/filetype.h"
#include "chakra/recording/nsys.h"
#include "chakra/recording/rocpd.h"

namespace chakra::recording {
namespace {

constexpr std::array<ExportTool, 2> kExportTools{
    {{filetype::kNsys, {"CUPTI_ACTIVITY_KIND_", "StringIds"}, survey_nsys, read_nsys},
     {filetype::kRocpd, {"rocpd_info_process", "rocpd_kernel_dispatch"}, survey_rocpd, read_rocpd}}};

}  // namespace

Result<const ExportTool*> export_tool_of(const sqlite::Database& database) {
  CHAKRA_ASSIGN(const std::vector<std::string> tables, database.tables());
  for (const ExportTool& tool : kExportTools)
    if (std::any_of(tables.begin(), tables.end(), [&](const std::string& table) {
          return table.starts_with(tool.tables[0]) || table.starts_with(tool.tables[1]);
        }))
      return &tool;
  return nullptr;
}

Result<std::optional<OpenExport>> open_export(const std::string& path) {
  {
    CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
    CHAKRA_ASSIGN(const std::string_view head, source.peek(sqlite::kMagic.size()));
    if (head != sqlite::kMagic) return std::optional<OpenExport>();
  }
  CHAKRA_ASSIGN(sqlite::Database database, sqlite::Database::open(path));
  CHAKRA_ASSIGN(const ExportTool* const tool, export_tool_of(database));
  if (!tool) return std::optional<OpenExport>();
  return std::optional(OpenExport{std::move(database), tool});
}

}  // namespace chakra::recording
