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

/// Reads rules one by one.
class RuleReader {
 public:
  RuleReader(std::string file, const ProgramReader& read) : place_{std::move(file), -1, 0}, read_(read) {}

  Result<Selection> run(std::string_view text) && {
    while (!text.empty()) {
      std::string_view line = cut(text, "\n");
      ++place_.line;
      line = line.substr(0, line.find('#'));
      while (!line.empty())
        if (const std::string_view one = trim(cut(line, ";")); !one.empty()) CHAKRA_TRY(statement(one));
    }
    selection_.rules.insert(selection_.rules.end(), of_all_.begin(), of_all_.end());
    return std::move(selection_);
  }

 private:
  Failure error(const char* tag, std::string sentence) const {
    return fail(Code::bad_input, tag, std::move(sentence), place_);
  }

  Result<void> statement(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) return of_all(text);
    const std::string_view name = trim(text.substr(0, colon));
    const auto type = parse_type(name);
    if (!type) {
      std::string names;
      for (const std::string_view n : trace::kCommTypeNames)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", to_lower(n));
      return error("coll.selection.type", fmt::format("no operation {}; known: {}", quote(name), names));
    }
    text.remove_prefix(colon + 1);
    do {
      CHAKRA_TRY(rule(*type, trim(cut(text, ","))));
    } while (!text.empty());
    return {};
  }

  /// The row of that name, or of the file of that name; null where there is none.
  Result<const AlgorithmRow*> algorithm(std::string_view name) {
    if (name.find('.') == std::string_view::npos) return find_algorithm(name);
    if (!read_)
      return error("coll.selection.algorithm",
                   fmt::format("{} is a file, which only simulations and flows support", quote(name)));
    CHAKRA_ASSIGN(std::shared_ptr<const Program> program, read_(std::string(name)));
    selection_.programs.push_back(std::move(program));
    return &selection_.programs.back()->row;
  }

  /// An algorithm alone is for every operation that it can do.
  Result<void> of_all(std::string_view name) {
    CHAKRA_ASSIGN(const AlgorithmRow* const row, algorithm(name));
    if (!row)
      return error("coll.selection.syntax",
                   fmt::format("{} is neither an algorithm nor an operation, ':' and algorithms", quote(name)));
    for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t) {
      const auto type = static_cast<CommType>(t);
      if (!row->does(type)) continue;
      Rule rule{type, 0, UINT64_MAX, row, true};
      if (row->program) CHAKRA_TRY(limit(rule));
      of_all_.push_back(rule);
    }
    return {};
  }

  /// "0-64KiB tree", "64KiB- ring", "ring"
  Result<void> rule(CommType type, std::string_view text) {
    Rule rule;
    rule.type = type;
    const size_t space = text.find_first_of(" \t");
    std::string_view name = text;
    if (space != std::string_view::npos) {
      CHAKRA_TRY(sizes(text.substr(0, space), rule));
      name = trim(text.substr(space));
    }
    if (name.empty() || name.find_first_of(" \t") != std::string_view::npos)
      return error("coll.selection.syntax",
                   fmt::format("{} instead of an algorithm, such as 'ring' or '0-64KiB tree'", quote(text)));
    CHAKRA_ASSIGN(rule.algorithm, algorithm(name));
    if (rule.algorithm && rule.algorithm->program && !rule.algorithm->does(type))
      return error("coll.selection.algorithm",
                   fmt::format("{} is an algorithm for {}, not for {}", quote(name),
                               trace::name(rule.algorithm->program->type), trace::name(type)));
    if (!rule.algorithm || !rule.algorithm->does(type))
      return error("coll.selection.algorithm",
                   fmt::format("no algorithm {} for {}; known: {}", quote(name), trace::name(type), known(type)));
    if (rule.algorithm->program) CHAKRA_TRY(limit(rule));
    selection_.rules.push_back(rule);
    return {};
  }

  Result<void> sizes(std::string_view range, Rule& rule) const {
    const size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto from = low.empty() ? std::optional<uint64_t>(0) : parse_size(low);
    const auto to = high.empty() ? std::optional<uint64_t>(UINT64_MAX) : parse_size(high);
    if (dash == std::string_view::npos || !from || !to)
      return error("coll.selection.size",
                   fmt::format("{} is not a range of sizes, such as 0-64KiB or 64KiB-", quote(range)));
    if (*from >= *to) return error("coll.selection.size", fmt::format("no size is in {}", quote(range)));
    rule.from = *from;
    rule.to = *to;
    return {};
  }

  /// A program's rule covers the sizes that both name.
  Result<void> limit(Rule& rule) const {
    const Program& program = *rule.algorithm->program;
    const uint64_t from = std::max(rule.from, program.from), to = std::min(rule.to, program.to);
    if (from >= to)
      return error("coll.selection.size",
                   fmt::format("{} supports sizes from {} to below {}, outside the sizes of the rule", program.name,
                               show_size(program.from), show_size(program.to)));
    rule.from = from;
    rule.to = to;
    return {};
  }

  ::chakra::Place place_;
  const ProgramReader& read_;
  Selection selection_;
  std::vector<Rule> of_all_;  ///< what is said of an operation comes first
};

}  // namespace

Result<Selection> parse_selection(std::string_view text, std::string file, const ProgramReader& read) {
  return RuleReader(std::move(file), read).run(text);
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
