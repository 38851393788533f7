// Access to the metadata of a file by name.
#pragma once

#include <optional>
#include <string_view>

#include "chakra/trace/trace.h"

namespace chakra::trace {

/// Return the first attribute with that name; std::nullopt if absent. Cost: O(metadata).
inline std::optional<Attr> metadata(const Trace& t, std::string_view name) {
  for (const Attr& attr : t.metadata)
    if (t.strings[attr.name] == name) return attr;
  return std::nullopt;
}

}  // namespace chakra::trace
