// What a subcommand takes, as rows, and what it runs. command_line.cpp alone knows the library that reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::cli {

/// Which values an option takes.
struct Accepted {
  /// The reason to refuse a value; empty: it is accepted.
  std::function<std::string(const std::string& text)> refuse = {};
  std::string shown = {};  ///< for --help, behind what the value is called
};
Accepted one_of(std::vector<std::string> values);
/// Whole numbers from `least` to `most`, in decimal.
Accepted whole_number(int64_t least, int64_t most);
/// Numbers from `least` to `most`; not "nan".
Accepted real_number(double least, double most);

/// "5000000", "300 MiB", "64GiB"; nothing where it is none of these, or 0.
std::optional<uint64_t> bytes_of(std::string_view text);
/// "8,8" of --dims as numbers. Errors, of these functions: cli.usage.
Result<std::vector<int64_t>> list_of(const std::string& text);
/// "7", "7us", "250ns": microseconds unless a unit follows.
Result<Picoseconds> time_of(const std::string& text);
/// "3:5", "3:" or "3"; nothing of an empty text.
Result<std::optional<std::pair<int64_t, int64_t>>> steps_of(const char* option, const std::string& text);

/// One argument, a row: {name, target, help, value, accepted}. Its target is written where it is given, and else keeps
/// what it has.
struct Option {
  /// A bool is a flag, without a value.
  using Target =
      std::variant<bool*, std::string*, int*, uint32_t*, int64_t*, uint64_t*, double*, std::optional<bool>*,
                   std::optional<int64_t>*, std::optional<uint64_t>*, std::optional<double>*, std::vector<std::string>*,
                   std::vector<int64_t>*, std::function<void(const std::string& text)>>;

  std::string names;  ///< "path": by its place; "-o,--output"
  Target target;
  std::string help;
  std::string_view value = {};  ///< what --help calls the value; empty: by its type
  Accepted accepted = {};
  bool required = false;
  bool hidden = false;         ///< --help does not show it
  bool shows_default = false;  ///< --help shows what the target has
  bool one_each = false;       ///< a list by name: a value each time it is given, not all words that follow
  char delimiter = 0;          ///< of a list, between its items
  int most = 0;                ///< of a list by its place: at most this number of values; 0: any number
  std::string_view needs = {}, excludes = {};  ///< the name of another one
};

/// The same, but it must be given.
inline Option required(Option option) {
  option.required = true;
  return option;
}

struct Syntax;
/// A subcommand below another one.
struct BelowRow {
  std::string name, description;
  Syntax (*syntax)();
};
/// The targets live as long as `run`.
struct Syntax {
  std::vector<Option> options = {};
  /// What the subcommand does. Returns the exit code; an error is reported and gives its own.
  std::function<Result<int>()> run = {};
  std::vector<std::string>* given = nullptr;  ///< takes the names of the options that were given, before `run`
  std::vector<BelowRow> below = {};           ///< one of these must follow; then nothing else is here
};
/// Syntax::run of what returns Result<void>: the exit code is 0 unless it fails.
template <class Run>
std::function<Result<int>()> exits_with_zero(Run run) {
  return [run = std::move(run)]() -> Result<int> {
    CHAKRA_TRY(run());
    return 0;
  };
}

}  // namespace chakra::cli
