// The values that an option takes, and texts with a special form.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/base/join.h"
#include "chakra/options/options.h"

namespace chakra::options {

Accepted one_of(std::vector<std::string> names) {
  std::string shown = fmt::format("{{{}}}", join(names, ","));
  return {[names, shown](const std::string& text) {
            if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
            return fmt::format("{} is not one of {}{}", quote(text), shown, suggestion(text, names));
          },
          std::move(shown), std::move(names)};
}

Accepted whole_number(int64_t least, int64_t most) {
  constexpr int64_t kLarge = int64_t{1} << 40;  // nobody needs to read such a bound
  return {[=](const std::string& text) {
            int64_t number = 0;
            return parse_decimal(text, number) && number >= least && number <= most
                       ? std::string()
                       : fmt::format("{} is not a decimal whole number from {} to {}", quote(text), least, most);
          },
          most >= kLarge ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most)};
}

Accepted real_number(double least, double most) {
  return {[=](const std::string& text) {
            double number = 0;
            return parse_decimal(text, number) && number >= least && number <= most
                       ? std::string()
                       : fmt::format("{} is not a decimal number from {:g} to {:g}", quote(text), least, most);
          },
          most >= 1e12 ? fmt::format("{:g} or more", least) : fmt::format("{:g} to {:g}", least, most)};
}

namespace {

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

std::optional<Picoseconds> time_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Picoseconds>, 4> kUnits{
      {{"ns", kPsPerNs}, {"us", kPsPerUs}, {"ms", 1000 * kPsPerUs}, {"s", 1'000'000 * kPsPerUs}}};
  Picoseconds unit = kPsPerUs;
  for (const auto& [name, ps] : kUnits)
    if (text.ends_with(name)) {
      unit = ps;
      text.remove_suffix(name.size());
      break;
    }
  int64_t value = 0;
  if (!parse_decimal(text, value) || value < 0 || value > kLongestPs / unit) return std::nullopt;
  return value * unit;
}

std::optional<std::pair<int64_t, int64_t>> steps_of(std::string_view text) {
  const size_t colon = text.find(':');
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();
  const bool good =
      parse_decimal(text.substr(0, colon), first) &&
      (colon == std::string_view::npos ? (last = first, true)
                                       : colon + 1 == text.size() || parse_decimal(text.substr(colon + 1), last));
  if (!good || first < 0 || last < first) return std::nullopt;
  return std::pair(first, last);
}

/// A member that `parse` makes of a text; `show` is its way back.
template <class To, class Parse, class Show>
Form form(To& to, Parse parse, Show show, std::string_view wanted) {
  return {[&to, show] { return show(to); },
          [&to, parse, wanted](const std::string& text) -> Result<void> {
            const auto value = parse(text);
            if (!value) return fail(Code::usage, "cli.usage", fmt::format("{} is not {}", quote(text), wanted));
            to = *value;
            return {};
          }};
}

}  // namespace

Form steps_form(Steps& steps) {
  const auto show = [](const Steps& s) -> std::string {
    if (!s) return "";
    return s->second == std::numeric_limits<int64_t>::max() ? fmt::format("{}:", s->first)
                                                            : fmt::format("{}:{}", s->first, s->second);
  };
  return form(steps, steps_of, show, "of the form A:B, A: or A, with A up to B");
}

Form time_form(Picoseconds& time) {
  const auto show = [](Picoseconds t) {
    return t % kPsPerUs == 0 ? fmt::format("{}us", t / kPsPerUs) : fmt::format("{}ns", t / kPsPerNs);
  };
  return form(time, time_of, show, "a time such as 7us or 250ns");
}

Form bytes_form(uint64_t& bytes) {
  const auto show = [](uint64_t n) { return n == 0 ? std::string() : fmt::format("{}", n); };
  return form(bytes, bytes_of, show, "a number of bytes, such as 5000000 or 64GiB");
}

}  // namespace chakra::options
