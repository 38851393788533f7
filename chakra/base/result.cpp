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

const char* name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

}  // namespace chakra
