#include <fmt/core.h>

#include <filesystem>

#include "chakra/sweep/parts.h"

namespace chakra::sweep {
namespace {

using fleet::append_key;
using fleet::append_member;
using fleet::text_at;

constexpr std::string_view kStem = "points";
constexpr std::array kSeverities{Severity::note, Severity::warning, Severity::error};

bool read_value(const Spec& spec, const MetricRow& row, answer::Cell& cell) {
  if (row.type == answer::Type::whole) {
    const Result<int64_t> value = spec.integer();
    if (value) cell = *value;
    return value.has_value();
  }
  if (row.type == answer::Type::real) {
    const Result<double> value = spec.number();
    if (value) cell = *value;
    return value.has_value();
  }
  if (spec.kind != Spec::Kind::scalar) return false;
  cell = spec.scalar;
  return true;
}

bool read_findings(const Spec& list, Findings& findings) {
  for (const Spec& item : list.items) {
    const std::string *const tag = text_at(item, "tag"), *const severity = text_at(item, "severity"),
                             *const text = text_at(item, "text");
    if (!tag || !severity || !text) return false;
    const auto* const known =
        std::find_if(kSeverities.begin(), kSeverities.end(), [&](Severity each) { return name(each) == *severity; });
    if (known == kSeverities.end()) return false;
    findings.push_back({*tag, *known, -1, -1, *text});
  }
  return true;
}

}  // namespace

std::string journal_of(const std::string& output, const fleet::Shard& shard) {
  return (std::filesystem::path(output) / fleet::journal_name(kStem, shard)).string();
}

std::string Journal::line_of(const std::string& key, const Outcome& outcome) {
  std::string line = "{";
  append_member(line, "key", key);
  if (outcome.failed()) {
    append_member(line, "failure", outcome.tag);
    append_member(line, "text", outcome.text);
  }
  append_key(line, "values");
  line += '{';
  for (size_t m = 0; m < kMetrics.size(); ++m) {
    const answer::Cell& cell = outcome.values[m];
    if (const auto* const whole = std::get_if<int64_t>(&cell)) {
      append_key(line, kMetrics[m].name);
      line += fmt::format("{}", *whole);
    } else if (const auto* const real = std::get_if<double>(&cell)) {
      append_key(line, kMetrics[m].name);
      line += fmt::format("{}", *real);  // the shortest text that becomes the same number
    } else if (const auto* const text = std::get_if<std::string>(&cell)) {
      append_member(line, kMetrics[m].name, *text);
    }
  }
  line += "},\"findings\":[";
  for (const Finding& finding : outcome.findings) {
    line += line.back() == '[' ? "{" : ",{";
    append_member(line, "tag", finding.tag);
    append_member(line, "severity", name(finding.severity));
    append_member(line, "text", finding.text);
    line += '}';
  }
  return line + "]}";
}

std::optional<std::pair<std::string, Outcome>> Journal::parse(std::string_view line) {
  const Result<Spec> spec = parse_spec(line, "");
  if (!spec) return std::nullopt;
  const std::string* const key = text_at(*spec, "key");
  const Spec *const values = spec->find("values"), *const findings = spec->find("findings");
  if (!key || !values || !findings) return std::nullopt;
  Outcome outcome;
  if (const std::string* const tag = text_at(*spec, "failure")) outcome.tag = *tag;
  if (const std::string* const text = text_at(*spec, "text")) outcome.text = *text;
  for (const SpecField& field : values->fields) {
    const MetricRow* const row = find_row(kMetrics, field.key);
    if (!row || !read_value(field.value, *row, outcome.values[static_cast<size_t>(row - kMetrics.data())]))
      return std::nullopt;
  }
  if (!read_findings(*findings, outcome.findings)) return std::nullopt;
  return std::pair(*key, std::move(outcome));
}

Result<Journal> Journal::open(const std::string& folder, const fleet::Shard& shard, size_t& damaged) {
  CHAKRA_TRY(make_directories(folder));
  std::string lines;
  CHAKRA_ASSIGN(AppendFile file, AppendFile::open(journal_of(folder, shard), lines));
  Journal journal(std::move(file));
  const auto take = [&](std::string_view line) {
    if (auto one = parse(line)) journal.finished_.insert_or_assign(one->first, std::move(one->second));
    else ++damaged;
  };
  CHAKRA_ASSIGN(const std::vector<std::string> others, fleet::journals_in(folder, kStem, shard));
  for (const std::string& other : others) {
    CHAKRA_ASSIGN(const std::string text, read_file(other));
    for (const std::string_view line : fleet::lines_of(text)) take(line);
  }
  for (const std::string_view line : fleet::lines_of(lines)) take(line);
  return journal;
}

std::optional<Outcome> Journal::take(const std::string& key) {
  auto found = finished_.extract(key);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

}  // namespace chakra::sweep
