// Answers on the terminal.
#include <fmt/format.h>

#include <algorithm>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

std::vector<std::string> tables_of(const answer::Answer& answer) {
  std::vector<std::string> names;
  for (const answer::Table& table : answer.tables())
    if (table.present && table.rows > 0) names.push_back(table.key);
  return names;
}

}  // namespace

Result<void> check_table(const std::string& table, const std::vector<std::string>& words) {
  if (table.empty()) return {};
  const std::string command = fmt::format("{}", fmt::join(words, " "));
  std::vector<std::string> known;
  for (const answer::Answer& schema : job::schemas_of(command))
    for (const answer::Table& each : schema.tables())
      if (std::find(known.begin(), known.end(), each.key) == known.end()) known.push_back(each.key);
  if (std::find(known.begin(), known.end(), table) != known.end()) return {};
  if (known.empty())
    return fail(Code::usage, "cli.usage", fmt::format("--all: the answer of 'chakra {}' has no tables", command));
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
        fmt::format("--all: this answer has no table {}; it has {}", table, fmt::join(tables_of(answer), ", ")));
  print(view::to_text(answer, *found));
  return {};
}

Result<void> show(const Globals& globals, const answer::Answer& answer, const view::Text& text, job::Outputs files) {
  CHAKRA_TRY(add_answer(files, globals.json, answer));
  CHAKRA_TRY(files.commit());
  if (globals.json != "-") return print_answer(answer, text, globals.all);
  if (!globals.all.empty()) print_error(to_text({job::no_effect("--all", "--json - prints the whole answer")}, ""));
  return print_json(answer);
}

Result<void> show_words(const std::string& json_path, const answer::Answer& answer, const std::string& words) {
  job::Outputs files;
  CHAKRA_TRY(add_answer(files, json_path, answer));
  CHAKRA_TRY(files.commit());
  if (json_path == "-") return print_json(answer);
  print(words);
  return {};
}

}  // namespace chakra::cli
