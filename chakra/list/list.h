// Tables of `chakra list`: algorithms, checks, formats, ...
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/result/result.h"

namespace chakra::list {

struct KindRow {
  std::string_view name;
  std::string_view description;
  result::Table (*table)();  ///< all cells are texts; the keys are headings
};
extern const std::span<const KindRow> kKinds;  ///< by name, ascending

/// Return answers without data, with all values and tables that the answers of a subcommand can have. "sim" has two:
/// of a finished run, and of a run that is stuck. Cost: that of making the answers.
std::vector<answer::Answer> schemas_of(std::string_view command);

/// Return a table of rows that have a name and a description.
template <class Rows>
result::Table list_rows(const char* first, const Rows& rows) {
  using result::Table;
  Table table{"", {{first, Table::Kind::text, first}, {"what it is", Table::Kind::text, "what it is"}}, {}};
  for (const auto& row : rows) table.rows.push_back({std::string(row.name), std::string(row.description)});
  return table;
}

}  // namespace chakra::list
