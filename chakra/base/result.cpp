#include "chakra/base/result.h"

#include <fmt/format.h>

namespace chakra {

std::string Place::text() const {
  if (byte >= 0) return fmt::format("{} @{}", file, byte);
  if (line >= 0) return fmt::format("{}:{}", file, line);
  return file;
}

std::string Error::message() const {
  const std::string where = place.text();
  return fmt::format("{}{}{} [{}]", where, where.empty() ? "" : ": ", text, tag);
}

void AlikeFindings::add(std::string tag, Severity severity, std::string text) {
  tag_ = std::move(tag);
  severity_ = severity;
  if (++count_ <= kMost) findings_.push_back({tag_, severity, -1, -1, std::move(text)});
}

void AlikeFindings::finish(std::string_view what) {
  if (count_ > kMost) findings_.push_back({tag_, severity_, -1, -1, fmt::format("{} more {}", count_ - kMost, what)});
}

const char* name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

}  // namespace chakra
