// The command: one file per subcommand, a table of them, and the only code that prints, exits or reads
// the command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/cli/options.h"
#include "chakra/job/job.h"
#include "chakra/match/match.h"
#include "chakra/result/result.h"
#include "chakra/view/view.h"

namespace chakra::cli {

using job::add_csv;
using job::add_json;
using job::add_text;
using job::job_files;
using job::keep_apart;
using job::to_text;
using result::Json;
using result::json_ns;
using result::to_json;
using view::to_text;

struct CommandRow {
  std::string_view name;
  std::string_view description;
  std::string_view example;  ///< a worked example for --help
  Syntax (*syntax)();
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
/// To stdout for "-", else to a file that appears whole or not at all.
Result<void> write_json(const Json& json, const std::string& path);

/// What `make` says, where --json asks for it: of a large result it takes several times the memory of the result.
template <class Make>
Json json_if_asked(const std::string& path, const Make& make) {
  return path.empty() ? Json() : make();
}
// Options of several subcommands.
Option max_unpacked_option();
Option json_option(std::string& path);                    ///< --json FILE
Option expand_option(std::string& text);                  ///< --expand N[:RANK]
Option ranks_option(std::string& text);                   ///< --ranks FIRST:COUNT
Option max_error_option(std::optional<double>& percent);  ///< --max-error P

Syntax gen_cases_syntax();          ///< below `gen`
Syntax gen_serve_syntax();          ///< likewise
Syntax calibrate_device_syntax();   ///< below `calibrate`
Syntax calibrate_network_syntax();  ///< likewise

}  // namespace chakra::cli
