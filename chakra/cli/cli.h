// The command: one file per subcommand, a table of subcommands, and the only code that prints, exits or reads
// the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/job.h"
#include "chakra/options/options.h"
#include "chakra/result/result.h"
#include "chakra/view/view.h"

namespace chakra::cli {

using job::add_answer;
using job::add_csv;
using job::add_text;
using job::job_files;
using job::keep_apart;
using job::to_text;
using options::required;
using view::to_text;

/// Options of every subcommand.
struct Globals {
  std::string json;           ///< a file; "-": standard output; "": no JSON
  int64_t jobs = 0;           ///< cores; 0: all
  uint64_t max_unpacked = 0;  ///< bytes; 0: the default
};
options::Options rows_of(Globals& globals);

struct Syntax;
/// A subcommand of a subcommand.
struct BelowRow {
  std::string name, description;
  Syntax (*syntax)();
};
/// Options (rows) and action of a subcommand. The rows are bound to data that `run` holds.
struct Syntax {
  options::Options rows = {};
  /// Run the subcommand. Returns the exit code; an error is reported and determines the exit code.
  std::function<Result<int>(const Globals& globals)> run = {};
  std::function<Result<void>()> settle = {};  ///< derives options from other options, before the check
  std::vector<BelowRow> below = {};           ///< one of these must follow; all other members are then empty
};
/// Adapt a function that returns Result<void> to Syntax::run: exit code 0 unless there is an error.
template <class Run>
std::function<Result<int>(const Globals&)> exits_with_zero(Run run) {
  return [run = std::move(run)](const Globals& globals) -> Result<int> {
    CHAKRA_TRY(run(globals));
    return 0;
  };
}
/// Return the syntax of a subcommand with options of type Asked, which are passed to `run`.
template <class Asked, class Run>
Syntax syntax_of(Run run) {
  auto asked = std::make_shared<Asked>();
  return {.rows = rows_of(*asked),
          .run = [asked, run](const Globals& globals) -> Result<int> { return run(*asked, globals); }};
}

struct CommandRow {
  std::string_view name;
  std::string_view description;
  std::string_view example;  ///< a worked example for --help
  Syntax (*syntax)();
  bool reads = true;      ///< reads files that may be compressed: accepts --max-unpacked
  bool parallel = false;  ///< uses several cores: accepts --jobs
};
extern const std::span<const CommandRow> kCommands;
extern const std::string_view kVersionText;  ///< "chakra 1.2.3"

/// A command of mlcommons/chakra. This program acts as that command when called through a link of that name
/// (docs/reference/names.md).
struct Translated {
  std::vector<std::string> args;  ///< the subcommand and the arguments
  std::string note;               ///< differences in behaviour; for stderr
};
struct NameRow {
  std::string_view name;
  std::string_view description;
  /// Translate to a request to a subcommand. Errors: cli.usage.
  Result<Translated> (*translate)(const std::vector<std::string>& args);
  std::string (*flags)();  ///< for --help
};
extern const std::span<const NameRow> kNames;
/// Find a row by the last part of a path; null if unknown.
const NameRow* find_name(std::string_view argv0);

/// Run the whole command. Returns the exit code (docs/reference/errors.md).
int run(int argc, char** argv);
/// Read the command line and run a subcommand; run() calls this function, or first translates a name of kNames.
int run_command_line(int argc, char** argv);

// ---- for the subcommands -------------------------------------------------------------------------------

/// Print an error to stderr and return the exit code.
int report(const Error& error);
/// Print to stdout or stderr. Only these two functions write there; terminal control characters are escaped.
void print(std::string_view text);
void print_error(std::string_view text);
/// Return the exit code of a command that would end with `exit_code`: 3, with a message on stderr, if standard output
/// did not accept all printed text.
int exit_code_of(int exit_code);
/// Print an answer to stdout, in pieces.
Result<void> print_json(const answer::Answer& answer);
/// --all TABLE, for commands that print the text of an answer.
options::Option all_option(std::string& table);
/// Errors: cli.usage if the schema does not have the table.
Result<void> check_table(const std::string& table, const answer::Answer& schema);
/// Options of a call, and --all.
template <class Call>
struct WithAll {
  Call call;
  std::string all;
};
template <class Call>
options::Options rows_of(WithAll<Call>& o) {
  options::Options rows = rows_of(o.call);
  rows.push_back(all_option(o.all));
  return rows;
}
/// Print the text, or the table given with --all. Errors: cli.usage if this answer does not have the table.
Result<void> print_answer(const answer::Answer& answer, const view::Text& text, const std::string& table);
/// Show the result of a subcommand: `files` and the file of `answer` appear together; then the answer (for "-") or the
/// text goes to stdout. Only the requested forms are made.
Result<void> show(const std::string& json_path, const std::function<answer::Answer()>& answer,
                  const std::function<std::string()>& text, job::Outputs files = {});
/// Likewise, with the text of print_answer(). Errors: also cli.usage.
Result<void> show(const std::string& json_path, const answer::Answer& answer, const view::Text& text,
                  const std::string& table, job::Outputs files = {});
/// A command such as "chakra sim" or "chakra gen step": the words, and the syntax.
struct Command {
  std::vector<std::string> words;
  std::string description, example;
  Syntax syntax;
};
/// Return all subcommands that run an action, in the order of `chakra --help`. Cost: makes all rows.
std::vector<Command> all_commands();
/// Return the --help text of a subcommand, or of the whole command if `words` is empty.
std::string help_text(const std::vector<std::string>& words, std::string_view description, const Syntax& syntax,
                      std::string_view example);

Syntax gen_cases_syntax();  ///< below `gen`

}  // namespace chakra::cli
