// --help of the command and of its subcommands.
#include <fmt/core.h>

#include "chakra/base/join.h"
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

constexpr size_t kNameColumns = 14;

template <class Rows>
std::string list_of(const Rows& rows) {
  std::string text = "Commands:\n";
  for (const auto& row : rows)
    text += fmt::format("  {:<{}}{}\n", row.name, kNameColumns - 2,
                        options::wrapped(row.description, options::kHelpColumns, kNameColumns));
  return text;
}

/// Each line two columns in.
std::string indented(std::string_view text) {
  std::string out = "  ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out + "\n";
}

std::string help_of_command() {
  return fmt::format(
      "Chakra execution traces: record, link, check, simulate, run and view AI workloads.\n\n"
      "Usage: chakra COMMAND [OPTIONS] ...\n\n{}\n"
      "Options:\n  -h, --help    Print this help; 'chakra COMMAND --help' shows options and an example\n"
      "  --version     Print the version\n\n"
      "Exit codes: 0 done, 1 invalid input, 2 usage, 3 a file cannot be read or written,\n"
      "4 the simulation cannot finish, 130 interrupted.\n",
      list_of(kCommands));
}

/// Rows by their place, or those by name.
options::Options part_of(const options::Options& rows, bool placed) {
  options::Options part;
  for (const options::Option& row : rows)
    if (is_placed(row) == placed) part.push_back(row);
  return part;
}

}  // namespace

std::string help_text(const std::vector<std::string>& words, std::string_view description, const Syntax& syntax,
                      std::string_view example) {
  if (words.empty()) return help_of_command();
  const std::string name = fmt::format("chakra {}", join(words, " "));
  std::string text = fmt::format("{}.\n\nUsage: {} ", options::wrapped(description, options::kHelpColumns, 0), name);
  if (!syntax.below.empty()) {
    text += "COMMAND [OPTIONS] ...\n\n" + list_of(syntax.below);
  } else {
    text += options::usage_of(syntax.rows) + "\n\n";
    const std::string arguments = help_of(part_of(syntax.rows, true), "Arguments");
    text += arguments + (arguments.empty() ? "" : "\n") + help_of(part_of(syntax.rows, false), "Options");
    Globals globals;
    text += (text.ends_with("\n\n") ? "" : "\n") + help_of(rows_of(globals), "Options of every command");
    text += fmt::format("  {:<28}Print this help\n", "-h, --help");
  }
  return text + "\nExample:\n" + indented(example);
}

std::vector<Command> all_commands() {
  std::vector<Command> all;
  for (const CommandRow& row : kCommands) {
    Syntax syntax = row.syntax();
    const std::string name(row.name);
    if (syntax.below.empty())
      all.push_back({{name}, std::string(row.description), std::string(row.example), std::move(syntax)});
    else
      for (const BelowRow& below : syntax.below)
        all.push_back({{name, below.name}, below.description, std::string(row.example), below.syntax()});
  }
  return all;
}

}  // namespace chakra::cli
