// The command: one file per subcommand, a table of them, and the only code that prints, exits or reads
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
using options::required;
using view::to_text;

/// What every subcommand takes.
struct Globals {
  std::string json;           ///< a file, "-" for standard output, "" for none
  std::string all;            ///< a table of the answer, of which every row is shown; "": none
  int64_t jobs = 0;           ///< cores; 0: all
  uint64_t max_unpacked = 0;  ///< bytes; 0: the default
};
options::Options rows_of(Globals& globals);

struct Syntax;
/// A subcommand below another one.
struct BelowRow {
  std::string name, description;
  Syntax (*syntax)();
};
/// What a subcommand takes, as rows, and what it runs. The rows are bound to what `run` holds.
struct Syntax {
  options::Options rows = {};
  /// What the subcommand does. Returns the exit code; an error is reported and gives its own.
  std::function<Result<int>(const Globals& globals)> run = {};
  std::function<Result<void>()> settle = {};  ///< what some options say of others, before all are checked
  std::vector<BelowRow> below = {};           ///< one of these must follow; then nothing else is here
};
/// Syntax::run of what returns Result<void>: the exit code is 0 unless it fails.
template <class Run>
std::function<Result<int>(const Globals&)> exits_with_zero(Run run) {
  return [run = std::move(run)](const Globals& globals) -> Result<int> {
    CHAKRA_TRY(run(globals));
    return 0;
  };
}
/// Of a subcommand that takes an Asked and passes it to `run`.
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
  bool reads = true;      ///< files that may be packed: --max-unpacked is for it
  bool parallel = false;  ///< it works on several cores: --jobs is for it
};
extern const std::span<const CommandRow> kCommands;
extern const std::string_view kVersionText;  ///< "chakra 1.2.3"

/// A command of mlcommons/chakra, as which this one can be called through a link of that name
/// (docs/reference/names.md).
struct Translated {
  std::vector<std::string> args;  ///< of the subcommand, its name first
  std::string note;               ///< where we differ; for stderr
};
struct NameRow {
  std::string_view name;
  std::string_view description;
  /// The same request to a subcommand. Errors: cli.usage.
  Result<Translated> (*translate)(const std::vector<std::string>& args);
  std::string (*flags)();  ///< for --help
};
extern const std::span<const NameRow> kNames;
/// By the last part of a path; null where it is none of them.
const NameRow* find_name(std::string_view argv0);

/// The whole command. Returns the exit code (docs/reference/errors.md).
int run(int argc, char** argv);
/// Reads the command line and runs a subcommand; run() does this, or first translates a name of kNames.
int run_command_line(int argc, char** argv);

// ---- for the subcommands -------------------------------------------------------------------------------

/// Says what went wrong on stderr and gives the exit code.
int report(const Error& error);
/// To stdout and to stderr. The only places that write there; characters that a terminal would obey are escaped.
void print(std::string_view text);
void print_error(std::string_view text);
/// The exit code of a command that would end with that one: 3, said on stderr, where standard output did not take all
/// that was printed.
int exit_code_of(int exit_code);
/// An answer to stdout, in pieces.
Result<void> print_json(const answer::Answer& answer);
/// Errors: cli.usage where no answer of the subcommand with these words has such a table.
Result<void> check_table(const std::string& table, const std::vector<std::string>& words);
/// The text of an answer, or where --all names one that table. Errors: cli.usage where this answer has none.
Result<void> print_answer(const answer::Answer& answer, const view::Text& text, const std::string& table);
/// Results of a subcommand: `files` and the file of `answer` appear together; then the answer goes to standard output,
/// as JSON or as print_answer() shows it. Errors: also those of print_answer().
Result<void> show(const Globals& globals, const answer::Answer& answer, const view::Text& text,
                  job::Outputs files = {});
/// The same of a text that is the whole answer.
Result<void> show_words(const std::string& json_path, const answer::Answer& answer, const std::string& words);
/// The answer and the text of a result of `job`.
template <class Made>
Result<void> show(const Globals& globals, const Made& made, job::Outputs files = {}) {
  return show(globals, answer_of(made), text_of(made), std::move(files));
}
/// "chakra sim", "chakra gen step" and so on: the words, and what each takes.
struct Command {
  std::vector<std::string> words;
  std::string description, example;
  Syntax syntax;
};
/// All subcommands that run something, in the order of `chakra --help`. Cost: makes all rows.
std::vector<Command> all_commands();
/// --help of a subcommand, or of the command where there are no words.
std::string help_text(const std::vector<std::string>& words, std::string_view description, const Syntax& syntax,
                      std::string_view example);

Syntax gen_cases_syntax();  ///< below `gen`

}  // namespace chakra::cli
