// The values of options: which are accepted, and texts that stand for numbers.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "chakra/cli/options.h"

namespace chakra::cli {

Accepted one_of(std::vector<std::string> values) {
  std::string shown = "{";
  for (const std::string& value : values) shown += (shown.size() > 1 ? "," : "") + value;
  shown += "}";
  return {[values = std::move(values), shown](const std::string& text) {
            return std::find(values.begin(), values.end(), text) != values.end()
                       ? std::string()
                       : fmt::format("{} not in {}", text, shown);
          },
          shown};
}

Accepted whole_number(int64_t least, int64_t most) {
  return {[=](const std::string& text) {
    int64_t number = 0;
    return parse_decimal(text, number) && number >= least && number <= most
               ? std::string()
               : fmt::format("{} is not a decimal whole number from {} to {}", quote(text), least, most);
  }};
}

Accepted real_number(double least, double most) {
  return {[=](const std::string& text) {
    double number = 0;
    return parse_decimal(text, number) && number >= least && number <= most
               ? std::string()
               : fmt::format("{} is not a decimal number from {:g} to {:g}", quote(text), least, most);
  }};
}

std::optional<uint64_t> bytes_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kUnits{
      {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}};
  int shift = 0;
  for (const auto& [unit, bits] : kUnits)
    if (text.ends_with(unit)) {
      text.remove_suffix(unit.size());
      shift = bits;
      break;
    }
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  uint64_t number = 0;
  if (!digits || text[0] == '0' || !parse_unsigned(text, number) || number > UINT64_MAX >> shift) return std::nullopt;
  return number << shift;
}

Result<std::vector<int64_t>> list_of(const std::string& text) {
  std::vector<int64_t> out;
  for (size_t at = 0; at <= text.size() && !text.empty();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    int64_t number = 0;
    if (!parse_decimal(text.substr(at, comma - at), number) || number < 1)
      return fail(Code::usage, "cli.usage", fmt::format("--dims {} is no list of whole numbers from 1", quote(text)));
    out.push_back(number);
    at = comma + 1;
  }
  return out;
}

Result<Picoseconds> time_of(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, Picoseconds>, 4> kUnits{
      {{"ns", kPsPerNs}, {"us", kPsPerUs}, {"ms", 1000 * kPsPerUs}, {"s", 1'000'000 * kPsPerUs}}};
  std::string_view number = text;
  Picoseconds unit = kPsPerUs;
  for (const auto& [name, ps] : kUnits)
    if (text.ends_with(name)) {
      unit = ps;
      number.remove_suffix(name.size());
      break;
    }
  int64_t value = 0;
  if (!parse_decimal(number, value) || value < 0 || value > kLongestPs / unit)
    return fail(Code::usage, "cli.usage", fmt::format("{} is not a time such as 7us or 250ns", quote(text)));
  return value * unit;
}

Result<std::optional<std::pair<int64_t, int64_t>>> steps_of(const char* option, const std::string& value) {
  if (value.empty()) return std::nullopt;
  const size_t colon = value.find(':');
  const std::string_view text = value;
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();
  const bool good =
      parse_decimal(text.substr(0, colon), first) &&
      (colon == std::string::npos ? (last = first, true)
                                  : colon + 1 == text.size() || parse_decimal(text.substr(colon + 1), last));
  if (!good || first < 0 || last < first)
    return fail(Code::usage, "cli.usage", fmt::format("{} takes A:B, A: or A, not {}", option, quote(value)));
  return std::pair(first, last);
}

}  // namespace chakra::cli
