// Which algorithm is taken: the readable rules.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "chakra/coll/coll.h"

namespace chakra::coll {
namespace {

using trace::CommType;

struct Unit {
  std::string_view name;
  uint64_t bytes;
};
constexpr uint64_t kKi = 1024, kK = 1000;
constexpr std::array<Unit, 10> kUnits{{{"TiB", kKi* kKi* kKi* kKi},
                                       {"GiB", kKi* kKi* kKi},
                                       {"MiB", kKi* kKi},
                                       {"KiB", kKi},
                                       {"B", 1},
                                       {"", 1},
                                       {"KB", kK},
                                       {"MB", kK* kK},
                                       {"GB", kK* kK* kK},
                                       {"TB", kK* kK* kK* kK}}};

/// "64KiB", the largest unit that leaves no rest.
std::string show_size(uint64_t bytes) {
  for (const Unit& unit : kUnits)
    if (bytes > 0 && bytes % unit.bytes == 0 && unit.bytes > 1)
      return fmt::format("{}{}", bytes / unit.bytes, unit.name);
  return fmt::format("{}", bytes);
}

std::optional<uint64_t> parse_size(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  uint64_t count = 0, bytes = 0;
  if (digits == 0 || !parse_decimal(text.substr(0, digits), count)) return {};
  const std::string unit = to_lower(text.substr(digits));
  for (const Unit& u : kUnits)
    if (to_lower(u.name) == unit && !__builtin_mul_overflow(count, u.bytes, &bytes)) return bytes;
  return {};
}

/// Lower case, without "_" and "-".
std::string plain(std::string_view name) {
  std::string out = to_lower(name);
  std::erase_if(out, [](char c) { return c == '_' || c == '-'; });
  return out;
}

std::optional<CommType> parse_type(std::string_view text) {
  for (size_t i = 0; i < trace::kCommTypeNames.size(); ++i)
    if (plain(trace::kCommTypeNames[i]) == plain(text)) return static_cast<CommType>(i);
  return {};
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

/// The part of `rest` before the first of `ends`, which is taken off with it.
std::string_view cut(std::string_view& rest, std::string_view ends) {
  const size_t end = std::min(rest.find_first_of(ends), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::string known(CommType type) {
  std::string names;
  for (const AlgorithmRow& row : kAlgorithms)
    if (row.does(type)) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

/// An algorithm alone is for every operation that it can do.
Result<std::vector<Rule>> rules_of_all(std::string_view name, const ::chakra::Place& place) {
  const AlgorithmRow* const row = find_algorithm(name);
  if (!row)
    return fail(Code::bad_input, "coll.selection.syntax",
                fmt::format("{} is neither an algorithm nor an operation, ':' and algorithms", quote(name)), place);
  std::vector<Rule> rules;
  for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t)
    if (const auto type = static_cast<CommType>(t); row->does(type)) rules.push_back({type, 0, UINT64_MAX, row, true});
  return rules;
}

/// "0-64KiB tree", "64KiB- ring", "ring"
Result<Rule> parse_rule(CommType type, std::string_view text, const ::chakra::Place& place) {
  const auto error = [&](const char* tag, std::string sentence) {
    return fail(Code::bad_input, tag, std::move(sentence), place);
  };
  Rule rule;
  rule.type = type;
  const size_t space = text.find_first_of(" \t");
  std::string_view name = text;
  if (space != std::string_view::npos) {
    const std::string_view range = text.substr(0, space);
    name = trim(text.substr(space));
    const size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto from = low.empty() ? std::optional<uint64_t>(0) : parse_size(low);
    const auto to = high.empty() ? std::optional<uint64_t>(UINT64_MAX) : parse_size(high);
    if (dash == std::string_view::npos || !from || !to)
      return error("coll.selection.size",
                   fmt::format("{} is no range of sizes, such as 0-64KiB or 64KiB-", quote(range)));
    if (*from >= *to) return error("coll.selection.size", fmt::format("no size is in {}", quote(range)));
    rule.from = *from;
    rule.to = *to;
  }
  if (name.empty() || name.find_first_of(" \t") != std::string_view::npos)
    return error("coll.selection.syntax",
                 fmt::format("{} instead of an algorithm, such as 'ring' or '0-64KiB tree'", quote(text)));
  rule.algorithm = find_algorithm(name);
  if (!rule.algorithm || !rule.algorithm->does(type))
    return error("coll.selection.algorithm",
                 fmt::format("no algorithm {} for {}; known: {}", quote(name), trace::name(type), known(type)));
  return rule;
}

}  // namespace

Result<Selection> parse_selection(std::string_view text, std::string file) {
  Selection selection;
  std::vector<Rule> of_all;  // what is said of an operation comes first
  ::chakra::Place place{std::move(file), -1, 0};
  while (!text.empty()) {
    std::string_view line = cut(text, "\n");
    ++place.line;
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      std::string_view statement = trim(cut(line, ";"));
      if (statement.empty()) continue;
      const size_t colon = statement.find(':');
      if (colon == std::string_view::npos) {
        CHAKRA_ASSIGN(const std::vector<Rule> rules, rules_of_all(statement, place));
        of_all.insert(of_all.end(), rules.begin(), rules.end());
        continue;
      }
      const std::string_view name = trim(statement.substr(0, colon));
      const auto type = parse_type(name);
      if (!type) {
        std::string names;
        for (const std::string_view n : trace::kCommTypeNames)
          names += fmt::format("{}{}", names.empty() ? "" : ", ", to_lower(n));
        return fail(Code::bad_input, "coll.selection.type",
                    fmt::format("no operation {}; known: {}", quote(name), names), place);
      }
      statement.remove_prefix(colon + 1);
      do {
        CHAKRA_ASSIGN(const Rule rule, parse_rule(*type, trim(cut(statement, ",")), place));
        selection.rules.push_back(rule);
      } while (!statement.empty());
    }
  }
  selection.rules.insert(selection.rules.end(), of_all.begin(), of_all.end());
  return selection;
}

std::string Selection::describe() const {
  std::string out;
  for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t) {
    std::string line;
    for (const Rule& rule : rules) {
      if (rule.type != static_cast<CommType>(t)) continue;
      line += line.empty() ? fmt::format("{}: ", to_lower(trace::kCommTypeNames[t])) : ", ";
      if (rule.from > 0 || rule.to != UINT64_MAX)
        line += fmt::format("{}-{} ", show_size(rule.from), rule.to == UINT64_MAX ? "" : show_size(rule.to));
      line += rule.algorithm->name;
    }
    if (!line.empty()) out += line + "\n";
  }
  return out;
}

const AlgorithmRow* by_rule(const Selection& selection, const Operation& op, const Place& place) {
  for (const Rule& rule : selection.rules)
    if (rule.covers(op) && rule.algorithm->can(op, place)) return rule.algorithm;
  return nullptr;
}

}  // namespace chakra::coll
