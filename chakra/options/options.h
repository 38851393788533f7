// Options of calls: one row for each option, bound to a member of the options struct of the call. The command line,
// set() by name, the checks inside every call, --help, completion and the reference pages are all based on these
// rows.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::options {

/// Values that an option accepts.
struct Accepted {
  /// The reason to reject a value; empty: the value is accepted.
  std::function<std::string(const std::string& text)> refuse = {};
  std::string shown = {};               ///< "1 to 1024", "{auto,closed}": for people
  std::vector<std::string> names = {};  ///< all values, if enumerable
};
Accepted one_of(std::vector<std::string> names);
/// Whole numbers from `least` to `most`, in decimal.
Accepted whole_number(int64_t least, int64_t most);
/// Numbers from `least` to `most`; not "nan".
Accepted real_number(double least, double most);

/// An enumeration member: the value is the position of a name.
struct Choice {
  std::function<std::optional<size_t>()> get;  ///< nullopt: unset
  std::function<void(size_t)> set;
  std::vector<std::string> names;
};
/// A member with a special text format.
struct Form {
  std::function<std::string()> get;  ///< "": unset
  std::function<Result<void>(const std::string& text)> set;
};

using Steps = std::optional<std::pair<int64_t, int64_t>>;  ///< both included
/// "3:5", "3:" or "3".
Form steps_form(Steps& steps);
/// "7", "7us", "250ns": microseconds unless a unit follows. Not negative.
Form time_form(Picoseconds& time);
/// "5000000", "300 MiB", "64GiB"; from 1. 0 is unset.
Form bytes_form(uint64_t& bytes);

/// One option: {names, member, help, value, accepted, more}. If the option is not given, the member keeps the value
/// from the struct, which is the default.
struct Option {
  /// A bool without `value` is a flag.
  using Target = std::variant<bool*, std::string*, int64_t*, uint64_t*, double*, std::optional<bool>*,
                              std::optional<int64_t>*, std::optional<uint64_t>*, std::optional<double>*,
                              std::vector<std::string>*, std::vector<int64_t>*, Choice, Form>;

  std::string names;  ///< "path": positional; "-o,--output"
  Target target;
  std::string help;             ///< at most 80 characters
  std::string_view value = {};  ///< name of the value in --help; empty: by type; "P": a percentage, "5" or "5%"
  Accepted accepted = {};
  std::string more = {};  ///< further sentences, for the manual page and the reference
  bool required = false;
  bool hidden = false;    ///< omitted in --help
  bool one_each = false;  ///< a named list: one value per occurrence, instead of all words that follow
  char delimiter = 0;     ///< separator of items in a list
  int most = 0;           ///< for a positional list: maximum number of values; 0: no maximum
  /// Options separated by commas, each "--name" or "--name value": at least one must be given (`needs`), or all must be
  /// absent (`excludes`).
  std::string_view needs = {}, excludes = {};
};
using Options = std::vector<Option>;

/// Return the option as a required option.
inline Option required(Option option) {
  option.required = true;
  return option;
}
/// Return the names of rows, for one_of() and nearest().
template <class Rows>
std::vector<std::string> names(const Rows& rows) {
  std::vector<std::string> all;
  for (const auto& row : rows) all.emplace_back(row.name);
  return all;
}
/// Append rows.
void add(Options& rows, Options more);

/// An enumeration with values from 0. `names`: one per value.
template <class Enum, class Names>
Choice choice(Enum& value, const Names& names) {
  return {[&value] { return std::optional(static_cast<size_t>(value)); },
          [&value](size_t place) { value = static_cast<Enum>(place); },
          {std::begin(names), std::end(names)}};
}
template <class Enum, class Names>
Choice choice(std::optional<Enum>& value, const Names& names) {
  return {[&value] { return value ? std::optional(static_cast<size_t>(*value)) : std::nullopt; },
          [&value](size_t place) { value = static_cast<Enum>(place); },
          {std::begin(names), std::end(names)}};
}

/// Return the name for programs: "output" for "-o,--output", "path" for a positional option.
std::string key_of(const Option& option);
/// Return the name for people: "--output", or "path".
std::string name_of(const Option& option);
/// Return every spelling on the command line: "-o", "--output".
std::vector<std::string> spellings_of(const Option& option);
bool is_flag(const Option& option);
bool is_list(const Option& option);
bool is_placed(const Option& option);  ///< positional instead of named
/// "text", "whole number", "number", "flag", "true or false", "name", "list".
std::string_view type_of(const Option& option);
/// Return the accepted names, if enumerable; else empty.
const std::vector<std::string>& names_of(const Option& option);
/// "1 to 1024", "{a,b}", "".
std::string shown_of(const Option& option);
/// Return the value of the member; "" if unset. Items of a list are separated by commas.
std::string text_of(const Option& option);

/// Return the default, from rows of an unchanged struct, if the option accepts this value; "" for flags and if unset.
std::string default_of(const Option& option);

/// Find an option by any spelling, or by key (without dashes, and with _ or -); null if unknown.
const Option* find(std::span<const Option> rows, std::string_view name);
/// Set a member to the value of a text; append to a list. Errors: cli.usage for a value that the option does not
/// accept.
Result<void> set(const Option& option, const std::string& text);
/// Set a member by name. Errors: also cli.usage for an unknown name, with the nearest name.
Result<void> set(std::span<const Option> rows, std::string_view name, const std::string& text);
/// Return true if the member differs from `fresh`, the same rows of an unchanged struct.
bool is_given(std::span<const Option> rows, std::span<const Option> fresh, std::string_view name);
/// Return the names of all given options.
std::vector<std::string> given(std::span<const Option> rows, std::span<const Option> fresh);
/// Check that all members have accepted values, and that the given options go together. Required positional options
/// must be given. Errors: cli.usage.
Result<void> check(std::span<const Option> rows, std::span<const Option> fresh);

/// Check the options struct of a call; rows_of(struct&) returns the rows.
template <class Asked>
concept HasRows = requires(Asked& asked) {
  rows_of(asked);
};
template <HasRows Asked>
Result<void> check_call(const Asked& asked) {
  Asked copy = asked, fresh;
  return check(rows_of(copy), rows_of(fresh));
}
/// Set a member of an options struct: struct, name, text. Errors: as for set().
template <HasRows Asked>
Result<void> set(Asked& asked, std::string_view name, const std::string& text) {
  return set(std::span<const Option>(rows_of(asked)), name, text);
}

/// Report that a given option did not change the result: "--congestion fluid has no effect: nothing communicates".
Finding no_effect(std::string_view option, std::string_view why);
/// "--device H100-SXM has no effect on a part: 2.50 % of the device time is unchanged: ..."
Finding partial_effect(std::string_view option, std::string_view why);

/// Return the word of `known` that `word` misspells or begins; "" without a match.
std::string nearest(std::string_view word, std::span<const std::string> known);
/// "; did you mean --network?", or "".
std::string suggestion(std::string_view word, std::span<const std::string> known);

inline constexpr size_t kHelpColumns = 100;
/// Wrap text in lines of at most `columns`, all except the first indented by `indent`. A longer word stays on one line.
std::string wrapped(std::string_view text, size_t columns, size_t indent);
/// Return the arguments and options for --help, in lines of at most kHelpColumns. `fresh`: rows with the defaults.
std::string help_of(std::span<const Option> rows, std::string_view title);
/// Return "[OPTIONS] path", for the line of usage.
std::string usage_of(std::span<const Option> rows);

}  // namespace chakra::options
