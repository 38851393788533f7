// chakra list
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using result::Table;

struct ListOptions {
  std::string kind;
};
options::Options rows_of(ListOptions& o) {
  return {{"kind", &o.kind, "Kind to list (default: list the kinds)", "KIND"}};
}

/// A row for each option, of which text tells all that a program needs to offer it.
Table option_table() {
  Table table;
  for (const char* column : {"command", "option", "type", "value", "default", "accepted", "meaning", "more"})
    table.columns.push_back({column, Table::Kind::text, column});
  const auto add = [&](const std::string& command, const options::Options& rows) {
    for (const options::Option& row : rows) {
      if (row.hidden) continue;
      table.rows.push_back({command, row.names, std::string(type_of(row)), std::string(row.value), default_of(row),
                            shown_of(row), row.help, row.more});
    }
  };
  for (const Command& command : all_commands())
    add(fmt::format("{}", fmt::join(command.words, " ")), command.syntax.rows);
  Globals globals;
  add("every command", rows_of(globals));
  return table;
}

/// What only the command has.
constexpr std::array<job::KindRow, 3> kOwnKinds{{
    {"commands", "subcommands", [] { return job::list_rows("command", kCommands); }},
    {"options", "options of each subcommand, with their types, defaults and values", option_table},
    {"names", "commands of other tools that chakra also provides", [] { return job::list_rows("name", kNames); }},
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

Result<int> run_list(const ListOptions& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Table table, table_of(o.kind));
  const auto answer = [&] {
    answer::Builder to("list");
    result::add_table(to, "", table);
    return std::move(to).finish();
  };
  CHAKRA_TRY(show(globals.json, answer, [&] { return view::to_text(table, SIZE_MAX); }));
  return 0;
}

}  // namespace

Syntax list_syntax() { return syntax_of<ListOptions>(run_list); }

}  // namespace chakra::cli
