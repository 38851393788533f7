#include "chakra/recorded/delay_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace chakra::recorded {
namespace {

using sim::Delays;
using trace::NodeId;
using trace::Trace;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Failure wrong(std::string_view text, std::string_view why) {
  return fail(Code::usage, "sim.delay",
              fmt::format("{} is not a delay: {}; write RANK:PATTERN=TIME, such as 1:aten::mm=20ms", quote(text), why));
}

/// "20ms", "1.5 s".
std::optional<Picoseconds> parse_time(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
      {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double value = 0;
  if (!parse_decimal(text.substr(0, digits), value)) return std::nullopt;
  text.remove_prefix(digits);
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  for (const auto& [unit, seconds] : kUnits)
    if (text == unit) {
      const Picoseconds time = picoseconds(value * seconds);
      return time < kLongestPs ? std::optional(time) : std::nullopt;
    }
  return std::nullopt;
}

/// The nodes of a rank that the rule names are delayed; how many.
int64_t apply(const Trace& t, const DelayRule& rule, std::vector<Picoseconds>& row) {
  std::vector<char> named(t.strings.size(), 0);
  for (StringId id = 0; id < named.size(); ++id) named[id] = matches_pattern(rule.pattern, t.strings[id]);
  int64_t count = 0;
  for (const NodeId n : t.nodes()) {
    if (!named[t.name[n]] || t.part_of[n] != trace::kNoNode) continue;
    if (row.empty()) row.assign(t.size(), 0);
    row[n] = add_saturated(row[n], rule.time_ps);
    ++count;
  }
  return count;
}

}  // namespace

Result<DelayRule> parse_delay(std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return wrong(text, "it has no =");
  const std::optional<Picoseconds> time = parse_time(text.substr(equals + 1));
  if (!time)
    return wrong(text, fmt::format("{} is not a time with its unit (ps, ns, us, ms, s) of at most 26 days",
                                   quote(text.substr(equals + 1))));
  DelayRule rule{{}, std::string(text.substr(0, equals)), *time};
  const auto digits =
      static_cast<size_t>(std::find_if_not(rule.pattern.begin(), rule.pattern.end(), is_digit) - rule.pattern.begin());
  if (digits > 0 && digits < rule.pattern.size() && rule.pattern[digits] == ':') {
    int64_t rank = 0;
    if (!parse_integer(rule.pattern.substr(0, digits), rank)) return wrong(text, "the rank is too large");
    rule.rank = rank;
    rule.pattern.erase(0, digits + 1);
  }
  if (rule.pattern.empty()) return wrong(text, "the pattern is empty");
  return rule;
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  // On a mismatch the last * takes one byte more; earlier ones never need to.
  size_t p = 0, n = 0, after_star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Delays find_delays(const trace::TraceSet& job, const std::vector<DelayRule>& rules, std::vector<int64_t>& nodes) {
  Delays delays;
  delays.rows.resize(job.ranks.size());
  nodes.assign(rules.size(), 0);
  for (size_t r = 0; r < rules.size(); ++r)
    for (size_t i = 0; i < job.ranks.size(); ++i)
      if (!rules[r].rank || *rules[r].rank == job.ranks[i].rank)
        nodes[r] += apply(job.ranks[i], rules[r], delays.rows[i]);
  return delays;
}

}  // namespace chakra::recorded
