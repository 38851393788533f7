// chakra list
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

struct ListAsked {
  std::string kind;
};
options::Options list_rows(ListAsked& o) {
  return {{"kind", &o.kind, "Kind to list (default: list the kinds)", "KIND"}};
}

using Rows = std::vector<std::vector<std::string>>;

/// A row for each option, of which text tells all that a program needs to offer it.
Rows option_rows() {
  Rows rows;
  const auto add = [&](const std::string& command, const options::Options& more) {
    for (const options::Option& row : more) {
      if (row.hidden) continue;
      rows.push_back({command, row.names, std::string(type_of(row)), std::string(row.value), default_of(row),
                      shown_of(row), row.help, row.more});
    }
  };
  for (const Command& command : all_commands()) add(join(command.words, " "), command.syntax.rows);
  Globals globals;
  add("every command", rows_of(globals));
  return rows;
}

template <class All>
Rows described(const All& all) {
  Rows rows;
  for (const auto& row : all) rows.push_back({std::string(row.name), std::string(row.description)});
  return rows;
}

/// What only the command has.
struct KindRow {
  std::string_view name, description;
  std::vector<std::string_view> columns;
  Rows (*rows)();
};
const std::array<KindRow, 3> kOwnKinds{{
    {"commands", "subcommands", {"command", "what it is"}, [] { return described(kCommands); }},
    {"options",
     "options of each subcommand, with their types, defaults and values",
     {"command", "option", "type", "value", "default", "accepted", "meaning", "more"},
     option_rows},
    {"names",
     "commands of other tools that chakra also provides",
     {"name", "what it is"},
     [] { return described(kNames); }},
}};

/// The kinds of the library and of the command, by name.
Result<Rows> all_kinds() {
  Rows rows = described(kOwnKinds);
  CHAKRA_ASSIGN(const Answer answer, list());
  const Table table = *answer.table("");
  for (size_t r = 0; r < table.rows(); ++r)
    rows.push_back({std::string(table.column(0).text(r)), std::string(table.column(1).text(r))});
  std::sort(rows.begin(), rows.end());
  return rows;
}

Result<Answer> kind_answer(const std::string& kind) {
  CHAKRA_ASSIGN(const Rows kinds, all_kinds());
  if (kind.empty()) return facade::list_answer({"kind", "what it is"}, kinds);
  if (const KindRow* const own = find_row(kOwnKinds, kind)) return facade::list_answer(own->columns, own->rows());
  std::string known;
  for (const auto& row : kinds) {
    if (row[0] == kind) return list(kind);
    known += (known.empty() ? "" : ", ") + row[0];
  }
  return fail(Code::usage, "cli.usage", fmt::format("no kind {}; known: {}", quote(kind), known));
}

Result<int> run_list(const ListAsked& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Answer answer, kind_answer(o.kind));
  CHAKRA_TRY(facade::write_files(answer, globals.control()));
  return show(globals, answer);
}

}  // namespace

Syntax list_syntax() { return syntax_of<ListAsked>(list_rows, run_list); }

}  // namespace chakra::cli
