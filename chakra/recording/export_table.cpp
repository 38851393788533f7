#include "chakra/recording/export_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::recording {

Result<std::optional<ExportTable>> ExportTable::open(const ExportedBase& base, const std::string& name,
                                                     std::initializer_list<NeededColumn> columns, bool distinct) {
  CHAKRA_ASSIGN(const std::vector<std::string> known, base.database.columns(name));
  if (known.empty()) return std::optional<ExportTable>();
  std::string list;
  for (const NeededColumn& column : columns) {
    const bool has = std::find(known.begin(), known.end(), column.name) != known.end();
    if (!has && column.required)
      return base.fault(base.missing, fmt::format("table {} has no column {}", quote(name), column.name));
    list += fmt::format("{}{}", list.empty() ? "" : ", ", has ? sqlite::quote_name(column.name) : "NULL");
  }
  CHAKRA_ASSIGN(sqlite::Rows rows, base.database.prepare(fmt::format("SELECT {}{} FROM {}", distinct ? "DISTINCT " : "",
                                                                     list, sqlite::quote_name(name))));
  return std::optional<ExportTable>(ExportTable(base, name, std::move(rows)));
}

Failure ExportTable::wrong(std::string_view text) const {
  return base_.fault(base_.impossible, fmt::format("table {}, row {}: {}", quote(name_), rows_.row(), text));
}

Result<Record> ExportTable::record() const {
  if (!rows_.is_integer(0) || !rows_.is_integer(1)) return wrong("start and end must be whole numbers");
  Record record;
  record.start_ns = rows_.integer(0);
  if (__builtin_sub_overflow(rows_.integer(1), record.start_ns, &record.dur_ns) || record.dur_ns < 0)
    return wrong(fmt::format("it ends at {} ns, before its start at {} ns", rows_.integer(1), record.start_ns));
  return record;
}

}  // namespace chakra::recording
