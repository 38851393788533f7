// Answers on the terminal.
#include <fmt/format.h>

#include <algorithm>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

/// "ranks, collectives, collectives.candidates": those that there are.
std::vector<std::string> tables_of(const answer::Answer& answer, bool all) {
  std::vector<std::string> names;
  for (const answer::Table& table : answer.tables())
    if (all || (table.present && table.rows > 0)) names.push_back(table.key);
  return names;
}

}  // namespace

options::Option all_option(std::string& table) {
  return {"--all", &table, "Print only this table of the answer, with every row and column", "TABLE"};
}

Result<void> check_table(const std::string& table, const answer::Answer& schema) {
  const std::vector<std::string> known = tables_of(schema, true);
  if (table.empty() || std::find(known.begin(), known.end(), table) != known.end()) return {};
  return fail(Code::usage, "cli.usage",
              fmt::format("--all: no table {}{}; tables: {}", quote(table), options::suggestion(table, known),
                          fmt::join(known, ", ")));
}

Result<void> print_answer(const answer::Answer& answer, const view::Text& text, const std::string& table) {
  if (table.empty()) {
    print(view::to_text(answer, text));
    return {};
  }
  const answer::Table* const found = answer.table(table);
  if (!found)
    return fail(
        Code::usage, "cli.usage",
        fmt::format("--all: this answer has no table {}; it has {}", table, fmt::join(tables_of(answer, false), ", ")));
  print(view::to_text(answer, *found));
  return {};
}

Result<void> show(const std::string& json_path, const answer::Answer& answer, const view::Text& text,
                  const std::string& table, job::Outputs files) {
  CHAKRA_TRY(add_answer(files, json_path, answer));
  CHAKRA_TRY(files.commit());
  if (json_path != "-") return print_answer(answer, text, table);
  if (!table.empty()) print_error(to_text({job::no_effect("--all", "--json - prints the whole answer")}, ""));
  return print_json(answer);
}

}  // namespace chakra::cli
