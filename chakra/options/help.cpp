// Options as --help shows them.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/options/options.h"

namespace chakra::options {
namespace {

constexpr size_t kNameColumns = 30;  ///< of the column with names

/// "FILE", "N", "{a,b}".
std::string value_of(const Option& option) {
  if (is_flag(option)) return "";
  if (!option.value.empty()) return std::string(option.value);
  if (!names_of(option).empty()) return "NAME";
  return type_of(option) == "true or false" ? "BOOL" : "TEXT";
}

std::string left_of(const Option& option) {
  if (is_placed(option)) return fmt::format("  {}", option.value.empty() ? option.names : std::string(option.value));
  const std::string value = value_of(option);
  return fmt::format("  {}{}{}", join(spellings_of(option), ", "), value.empty() ? "" : " ", value);
}

/// What --help says behind the sentence: the names, the default.
std::string right_of(const Option& option) {
  std::string text = option.help;
  const std::string standard = default_of(option);
  if (const auto& names = names_of(option); !names.empty()) text += fmt::format(" {{{}}}", join(names, ", "));
  if (!standard.empty() && standard != "false")
    text += fmt::format("{}[default: {}]", text.empty() ? "" : " ", standard);
  if (option.required && !is_placed(option)) text += " [required]";
  return text;
}

}  // namespace

std::string wrapped(std::string_view text, size_t columns, size_t indent) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (column > indent && column + 1 + word.size() > columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out;
}

std::string help_of(std::span<const Option> rows, std::string_view title) {
  std::string text;
  for (const Option& option : rows) {
    if (option.hidden) continue;
    const std::string left = left_of(option);
    const bool fits = left.size() + 2 <= kNameColumns;
    text += left + (fits ? std::string(kNameColumns - left.size(), ' ') : "\n" + std::string(kNameColumns, ' '));
    text += wrapped(right_of(option), kHelpColumns, kNameColumns) + "\n";
  }
  return text.empty() ? "" : fmt::format("{}:\n{}", title, text);
}

std::string usage_of(std::span<const Option> rows) {
  std::string text = "[OPTIONS]";
  for (const Option& option : rows)
    if (is_placed(option)) {
      const std::string value = option.value.empty() ? option.names : std::string(option.value);
      text += option.required ? " " + value : fmt::format(" [{}]", value);
    }
  return text;
}

}  // namespace chakra::options
