#include "chakra/base/result.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/findings.h"
#include "chakra/base/quantity.h"
#include "chakra/base/strings.h"

namespace chakra {

std::string Place::text() const {
  if (byte >= 0) return fmt::format("{} @{}", file, byte);
  if (line >= 0) return fmt::format("{}:{}", file, line);
  return file;
}

std::string Error::message() const {
  const std::string where = place.text();
  return fmt::format("{}{}{} [{}]", escape(where), where.empty() ? "" : ": ", escape(text), tag);
}

void LimitedFindings::add(Finding finding) {
  auto& [n, severity] = count_[{finding.tag, finding.rank}];
  severity = finding.severity;
  if (++n <= limit_) listed_.push_back(std::move(finding));
}

void LimitedFindings::add(LimitedFindings&& others) {
  for (Finding& finding : others.listed_) {
    auto& [n, severity] = others.count_[{finding.tag, finding.rank}];
    --n;
    add(std::move(finding));
  }
  for (const auto& [key, of] : others.count_) {
    auto& [n, severity] = count_[key];
    n += of.first;
    severity = of.second;
  }
}

Findings LimitedFindings::take() && {
  for (const auto& [key, of] : count_)
    if (of.first > limit_)
      listed_.push_back({key.first, of.second, key.second, -1,
                         fmt::format("and {} more of these", show_count(static_cast<int64_t>(of.first - limit_)))});
  std::stable_sort(listed_.begin(), listed_.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return std::move(listed_);
}

void LimitedFindings::append_to(Findings& to) && {
  for (Finding& finding : std::move(*this).take()) to.push_back(std::move(finding));
}

const char* v1::name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

}  // namespace chakra
