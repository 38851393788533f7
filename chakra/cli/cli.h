// The command: one file per subcommand, a table of them, and the only code that prints, exits or reads
// the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/table/table.h"

namespace chakra::cli {

using Json = nlohmann::ordered_json;

struct CommandRow {
  std::string_view name;
  std::string_view description;
  std::string_view example;  ///< a worked example for --help
  /// Adds options to `app`; when the subcommand runs, its exit code goes to `exit_code`.
  void (*add)(CLI::App& app, int& exit_code);
};
extern const std::array<CommandRow, 14> kCommands;

/// A command of the peer, as which this one can be called through a link of that name (docs/names.md).
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
extern const std::array<NameRow, 6> kNames;
/// By the last part of a path; null where it is none of them.
const NameRow* find_name(std::string_view argv0);

/// The whole command. Returns the exit code (docs/errors.md).
int run(int argc, char** argv);

// ---- for the subcommands -------------------------------------------------------------------------------

/// Says what went wrong on stderr and gives the exit code.
int report(const Error& error);
void print(std::string_view text);        ///< to stdout
void print_error(std::string_view text);  ///< to stderr
/// To stdout for "-", else to a file that appears whole or not at all.
Result<void> write_json(const Json& json, const std::string& path);

std::string to_text(const Json& json);

Json to_json(const Findings& findings);
/// A line per finding.
std::string to_text(const Findings& findings, std::string_view indent = "  ");
/// The first rows, and how many there are beside them.
std::string show_some(table::Table table, size_t most, const char* what);
/// A list of objects: keys are the columns' names with _ for what is no letter or digit, times in nanoseconds with _ns,
/// bytes with _bytes where the name does not say bytes.
Json to_json(const table::Table& table);
/// Nanoseconds as JSON: whole where they are whole.
Json json_ns(Picoseconds time);

/// No output may replace an input, no two outputs one another; "-" is for JSON only. Empty paths do not
/// count. A folder among the inputs stands for all in it. Errors: cli.usage.
Result<void> keep_apart(const std::vector<std::string>& inputs, std::vector<std::string> outputs,
                        const std::string& json);
/// The files of a job, or the folder of one by classes, for keep_apart(). Errors: those of io::find_ranks.
Result<std::vector<std::string>> job_files(const std::string& path);
/// JSON that is to appear together with other files: in a file that the caller commits. None for "-" and "".
Result<std::optional<AtomicFile>> prepare_json(const Json& json, const std::string& path);
/// --max-unpacked for a subcommand: sets how far inputs are unpacked.
void add_max_unpacked(CLI::App& app);
/// Accepts whole numbers from `least` to `most`.
CLI::Validator whole_number(int64_t least, int64_t most);
/// Accepts numbers from `least` to `most`; "nan", which CLI::Range lets through, is none.
CLI::Validator real_number(double least, double most);

/// Adds "--json FILE".
void add_json_option(CLI::App& app, std::string& path);

/// Adds "--expand N[:RANK]".
void add_expand_option(CLI::App& app, std::string& text);
/// Does what it says; nothing where it is not given. Errors: cli.usage, edit.expand.*
Result<void> expand_job(const std::string& text, trace::TraceSet& job, match::GroupTable& groups, Findings& findings);

// The rows of the table.
void add_link(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_sim(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);
void add_analyze(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_info(CLI::App& app, int& exit_code);
void add_convert(CLI::App& app, int& exit_code);
void add_pack(CLI::App& app, int& exit_code);
void add_unpack(CLI::App& app, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_import(CLI::App& app, int& exit_code);
void add_gen(CLI::App& app, int& exit_code);
void add_gen_cases(CLI::App& gen, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);

}  // namespace chakra::cli
