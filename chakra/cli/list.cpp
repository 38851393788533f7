// chakra list
#include <fmt/core.h>

#include <algorithm>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

using result::Table;

/// What only the command has.
constexpr std::array<job::KindRow, 2> kOwnKinds{{
    {"commands", "subcommands", [] { return job::list_rows("command", kCommands); }},
    {"names", "names of other tools' commands that this one answers to", [] { return job::list_rows("name", kNames); }},
}};

std::vector<job::KindRow> all_kinds() {
  std::vector<job::KindRow> all(job::kKinds.begin(), job::kKinds.end());
  all.insert(all.end(), kOwnKinds.begin(), kOwnKinds.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

Result<Table> table_of(const std::string& kind) {
  const std::vector<job::KindRow> kinds = all_kinds();
  if (kind.empty()) return job::list_rows("kind", kinds);
  if (const job::KindRow* row = find_row(kinds, kind)) return row->table();
  return fail(Code::usage, "cli.usage", fmt::format("no kind {}; known: {}", quote(kind), names_of(kinds)));
}

Result<void> run_list(const std::string& kind, const std::string& json_path) {
  CHAKRA_ASSIGN(const Table table, table_of(kind));
  if (!json_path.empty()) {
    Json json = Json::array();
    for (const auto& row : table.rows) {
      Json object;
      for (size_t i = 0; i < row.size(); ++i) object[table.columns[i].name] = std::get<std::string>(row[i]);
      json.push_back(object);
    }
    CHAKRA_TRY(write_json(json, json_path));
  }
  if (json_path != "-") print(view::to_text(table, SIZE_MAX));
  return {};
}

}  // namespace

Syntax list_syntax() {
  auto kind = std::make_shared<std::string>(), json = std::make_shared<std::string>();
  return {.options = {{"kind", kind.get(), "What to list; without it, the kinds", "KIND"}, json_option(*json)},
          .run = exits_with_zero([kind, json] { return run_list(*kind, *json); })};
}

}  // namespace chakra::cli
