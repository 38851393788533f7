// chakra completion: scripts that complete the command line, made of the same rows as --help.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/base/join.h"
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using options::Option;
using options::Options;

struct CompletionOptions {
  std::string shell;
};

/// Whether a value is a path, by what --help calls it.
bool is_path(const Option& option) {
  constexpr std::array<std::string_view, 8> kPaths{"FILE", "PATH", "DIR", "PREFIX", "FOLDER", "IN", "JOB", "OUT"};
  return std::any_of(kPaths.begin(), kPaths.end(), [&](std::string_view word) { return contains(option.value, word); });
}

/// Options of a subcommand and those of all, without hidden ones and places.
Options named_rows(const Command& command) {
  static Globals globals;
  Options all = command.syntax.rows;
  add(all, rows_of(globals));
  std::erase_if(all, [](const Option& row) { return row.hidden || is_placed(row); });
  return all;
}

std::string spellings(const Options& rows) {
  std::string text = "-h --help";
  for (const Option& row : rows) text += fmt::format(" {}", join(spellings_of(row), " "));
  return text;
}

/// Between single quotes of a shell.
std::string shell_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string words_of(const Command& command) { return join(command.words, " "); }

/// Lines of a case over "COMMAND:OPTION" for each option that takes names.
std::string value_cases(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands)
    for (const Option& row : named_rows(command)) {
      if (is_flag(row)) continue;
      std::string patterns;
      for (const std::string& spelling : spellings_of(row))
        patterns += fmt::format("{}'{}:{}'", patterns.empty() ? "" : "|", words_of(command), spelling);
      if (const auto& names = names_of(row); !names.empty())
        text += fmt::format("    {}) words={};;\n", patterns, shell_text(join(names, " ")));
      else if (is_path(row)) text += fmt::format("    {}) files=1;;\n", patterns);
      else text += fmt::format("    {}) return;;\n", patterns);
    }
  return text;
}

std::string below_cases() {
  std::string text;
  for (const CommandRow& row : kCommands) {
    const Syntax syntax = row.syntax();
    if (syntax.below.empty()) continue;
    std::string names;
    for (const BelowRow& below : syntax.below) names += (names.empty() ? "" : " ") + below.name;
    text += fmt::format("      {}) below={};;\n", row.name, shell_text(names));
  }
  return text;
}

/// For bash, and for zsh, which can read it.
std::string for_bash() {
  const std::vector<Command> commands = all_commands();
  std::string names, options;
  for (const CommandRow& row : kCommands) names += fmt::format("{}{}", names.empty() ? "" : " ", row.name);
  for (const Command& command : commands)
    options +=
        fmt::format("    {}) words={};;\n", shell_text(words_of(command)), shell_text(spellings(named_rows(command))));
  return fmt::format(
      "_chakra() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local command=\"${{COMP_WORDS[1]}}\" below='' words='' files=''\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$command\" in\n{}"
      "  esac\n"
      "  if [ -n \"$below\" ]; then\n"
      "    if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
      "      COMPREPLY=($(compgen -W \"$below\" -- \"$current\"))\n"
      "      return\n"
      "    fi\n"
      "    command=\"$command ${{COMP_WORDS[2]}}\"\n"
      "  fi\n"
      "  case \"$command:$before\" in\n{}"
      "  esac\n"
      "  if [ -z \"$words$files\" ] && [[ \"$current\" == -* ]]; then\n"
      "    case \"$command\" in\n{}"
      "    esac\n"
      "  fi\n"
      "  if [ -n \"$words\" ]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  else\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}}\n"
      "complete -F _chakra chakra\n",
      shell_text(names + " --help --version"), below_cases(), value_cases(commands), options);
}

std::string for_zsh() { return "#compdef chakra\nautoload -U +X bashcompinit && bashcompinit\n" + for_bash(); }

std::string for_fish() {
  std::string text = "complete -c chakra -n __fish_use_subcommand -l version -d 'Print the version'\n";
  for (const CommandRow& row : kCommands) {
    text += fmt::format("complete -c chakra -n __fish_use_subcommand -f -a {} -d {}\n", row.name,
                        shell_text(row.description));
    for (const BelowRow& below : row.syntax().below)
      text += fmt::format("complete -c chakra -n '__fish_seen_subcommand_from {}' -f -a {} -d {}\n", row.name,
                          below.name, shell_text(below.description));
  }
  for (const Command& command : all_commands()) {
    std::string when;
    for (const std::string& word : command.words)
      when += fmt::format("{}__fish_seen_subcommand_from {}", when.empty() ? "" : "; and ", word);
    for (const Option& row : named_rows(command)) {
      text += fmt::format("complete -c chakra -n {}", shell_text(when));
      for (const std::string& spelling : spellings_of(row))
        text += spelling.starts_with("--") ? " -l " + spelling.substr(2) : " -s " + spelling.substr(1);
      const auto& names = names_of(row);
      if (!names.empty()) text += " -x -a " + shell_text(join(names, " "));
      else if (!is_flag(row)) text += is_path(row) ? " -r -F" : " -x";
      text += fmt::format(" -d {}\n", shell_text(row.help));
    }
  }
  return text;
}

struct ShellRow {
  std::string_view name;
  std::string (*script)();
};
constexpr std::array<ShellRow, 3> kShells{{{"bash", for_bash}, {"zsh", for_zsh}, {"fish", for_fish}}};

Options completion_rows(CompletionOptions& o) {
  return {required({"shell", &o.shell, "The shell", "SHELL", options::one_of(options::names(kShells))})};
}

Result<int> run_completion(const CompletionOptions& o, const Globals& globals) {
  const std::string script = find_row(kShells, o.shell)->script();
  const Answer answer = facade::answer_of(
      "completion", {{"shell", "the shell", o.shell}, {"script", "the completion script", script}}, script);
  CHAKRA_TRY(facade::write_files(answer, globals.control()));
  return show(globals, answer);
}

}  // namespace

Syntax completion_syntax() { return syntax_of<CompletionOptions>(completion_rows, run_completion); }

}  // namespace chakra::cli
