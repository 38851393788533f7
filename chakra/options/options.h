// What a call may be asked for: one row for each option, bound to a member of the struct that the call takes. The
// command line, set() by name, the checks inside every call, --help, completion and the reference pages all read these
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

/// Which values an option takes.
struct Accepted {
  /// The reason to refuse a value; empty: it is accepted.
  std::function<std::string(const std::string& text)> refuse = {};
  std::string shown = {};               ///< "1 to 1024", "{auto,closed}": for people
  std::vector<std::string> names = {};  ///< all values, where there is a list
};
Accepted one_of(std::vector<std::string> names);
/// Whole numbers from `least` to `most`, in decimal.
Accepted whole_number(int64_t least, int64_t most);
/// Numbers from `least` to `most`; not "nan".
Accepted real_number(double least, double most);

/// A member that is an enumeration: its value is the place of a name.
struct Choice {
  std::function<std::optional<size_t>()> get;  ///< nothing: unset
  std::function<void(size_t)> set;
  std::vector<std::string> names;
};
/// A member whose text has a form of its own.
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

/// One option: {names, member, help, value, accepted, more}. A member keeps its value where the option is not given, so
/// the default stands in the struct.
struct Option {
  /// A bool without `value` is a flag.
  using Target = std::variant<bool*, std::string*, int64_t*, uint64_t*, double*, std::optional<bool>*,
                              std::optional<int64_t>*, std::optional<uint64_t>*, std::optional<double>*,
                              std::vector<std::string>*, std::vector<int64_t>*, Choice, Form>;

  std::string names;  ///< "path": by its place; "-o,--output"
  Target target;
  std::string help;             ///< at most 80 characters
  std::string_view value = {};  ///< what --help calls the value; empty: by its type
  Accepted accepted = {};
  std::string more = {};  ///< further sentences, for the manual page and the reference
  bool required = false;
  bool hidden = false;    ///< --help does not show it
  bool one_each = false;  ///< a list by name: a value each time it is given, not all words that follow
  char delimiter = 0;     ///< of a list, between its items
  int most = 0;           ///< of a list by its place: at most this number of values; 0: any number
  /// Options with commas between them, each as "--name" or as "--name value": one of them must be given (`needs`), none
  /// of them may be (`excludes`).
  std::string_view needs = {}, excludes = {};
};
using Options = std::vector<Option>;

/// The same, but it must be given.
inline Option required(Option option) {
  option.required = true;
  return option;
}
/// The names of rows that have one, for one_of() and nearest().
template <class Rows>
std::vector<std::string> names(const Rows& rows) {
  std::vector<std::string> all;
  for (const auto& row : rows) all.emplace_back(row.name);
  return all;
}
/// Appends rows.
void add(Options& rows, Options more);

/// An enumeration with values from 0 on. `names`: of each.
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

/// The name that a program uses: "output" of "-o,--output", "path" of a place.
std::string key_of(const Option& option);
/// As people type it: "--output", or "path".
std::string name_of(const Option& option);
/// Every spelling that the command line takes: "-o", "--output".
std::vector<std::string> spellings_of(const Option& option);
bool is_flag(const Option& option);
bool is_list(const Option& option);
bool is_placed(const Option& option);  ///< by its place, not by name
/// "text", "whole number", "number", "flag", "true or false", "name", "list".
std::string_view type_of(const Option& option);
/// The names that it takes, where they are a list; else none.
const std::vector<std::string>& names_of(const Option& option);
/// "1 to 1024", "{a,b}", "".
std::string shown_of(const Option& option);
/// The value that its member has; "" where it is unset. Of a list, items with commas between them.
std::string text_of(const Option& option);

/// The same of rows that nobody changed, where it is a value that the option takes; "" of flags and unset options.
std::string default_of(const Option& option);

/// By any spelling, or without dashes and then also with _ for -, as members are called; null where there is none.
const Option* find(std::span<const Option> rows, std::string_view name);
/// Gives a member the value that a text stands for; of a list it adds to it. Errors: cli.usage for a value that the
/// option does not take.
Result<void> set(const Option& option, const std::string& text);
/// The same by name. Errors: also cli.usage for a name that no row has, with the nearest one.
Result<void> set(std::span<const Option> rows, std::string_view name, const std::string& text);
/// Whether a member has another value than in `fresh`, the same rows of a struct that nobody changed.
bool is_given(std::span<const Option> rows, std::span<const Option> fresh, std::string_view name);
/// The names of all such options.
std::vector<std::string> given(std::span<const Option> rows, std::span<const Option> fresh);
/// Whether all members have values that their options take, and those that are given go together. Options that are by
/// their place and required must be there. Errors: cli.usage.
Result<void> check(std::span<const Option> rows, std::span<const Option> fresh);

/// The same of the struct that a call takes, whose rows rows_of(struct&) makes.
template <class Asked>
concept HasRows = requires(Asked& asked) {
  rows_of(asked);
};
template <HasRows Asked>
Result<void> check_call(const Asked& asked) {
  Asked copy = asked, fresh;
  return check(rows_of(copy), rows_of(fresh));
}
/// Options struct, name, text. Errors: those of set().
template <HasRows Asked>
Result<void> set(Asked& asked, std::string_view name, const std::string& text) {
  return set(std::span<const Option>(rows_of(asked)), name, text);
}

/// The word of `known` that is a slip of the finger away from `word`; "" where none is.
std::string nearest(std::string_view word, std::span<const std::string> known);
/// "; did you mean --network?", or "".
std::string suggestion(std::string_view word, std::span<const std::string> known);

inline constexpr size_t kHelpColumns = 100;
/// Text in lines of at most `columns`, all but the first indented by `indent`. A word that is longer keeps its line.
std::string wrapped(std::string_view text, size_t columns, size_t indent);
/// The arguments and options as --help shows them, in lines of at most kHelpColumns. `fresh`: rows with the defaults.
std::string help_of(std::span<const Option> rows, std::string_view title);
/// "[OPTIONS] path", for the line of usage.
std::string usage_of(std::span<const Option> rows);

}  // namespace chakra::options
