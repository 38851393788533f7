// The command: one file per subcommand, a table of subcommands, and the only code that prints, exits or reads
// the command line.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/chakra.h"
#include "chakra/facade/facade.h"
#include "chakra/options/options.h"

namespace chakra::cli {

using facade::rows_of;
using options::required;

/// Options of every subcommand.
struct Globals {
  std::string json;           ///< a file; "-": standard output; "": no JSON
  std::string all;            ///< a table of the answer to print in full; "": no table
  int64_t jobs = 0;           ///< cores; 0: all
  uint64_t max_unpacked = 0;  ///< bytes; 0: the default

  /// Return where and how a call of the library puts its answer. `files`: those of table_options().
  Control control(Control files = {}) const;
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
/// Arguments of a subcommand and the options of a call of the library.
template <class Options>
struct With {
  std::string path = {};                ///< the first argument
  std::vector<std::string> paths = {};  ///< the same, of subcommands that take several
  std::string other = {};               ///< the second argument, or the output
  Control files = {};                   ///< for tables of the answer
  Options options = {};
};
/// Return the syntax of a subcommand with options of type Asked, which are passed to `run`. `rows`: of an Asked.
template <class Asked, class Rows, class Run>
Syntax syntax_of(Rows rows, Run run) {
  auto asked = std::make_shared<Asked>();
  return {.rows = rows(*asked),
          .run = [asked, run](const Globals& globals) -> Result<int> { return run(*asked, globals); }};
}
/// Return the rows of --csv and --arrow.
options::Options table_options(Control& files);

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
/// Check the table of --all. Errors: cli.usage if no answer of the subcommand with these words has the table.
Result<void> check_table(const std::string& table, const std::vector<std::string>& words);
/// Print an answer: as JSON (--json -), the table of --all, or the text. Returns the exit code: that of the failure of
/// the answer, else 1 if the answer is not ok. Errors: cli.usage if the answer does not have the table.
Result<int> show(const Globals& globals, const Answer& answer);
/// Likewise, for the result of a verb.
Result<int> show(const Globals& globals, const Result<Answer>& answer);
Result<int> show(const Globals& globals, const Result<Job>& job);  ///< what made the job

/// A line on a terminal about a long call: the completed share and the remaining time, after the first second.
class ProgressLine {
 public:
  /// `of`: the parts of the work, such as "nodes".
  explicit ProgressLine(std::string_view of) : of_(of) {}
  /// Without a terminal at standard error: no effect.
  void show(double share);
  /// Return the control with this line as its progress.
  Control on(Control control);

 private:
  std::string_view of_;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now(), last_ = begun_;
};

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

}  // namespace chakra::cli
