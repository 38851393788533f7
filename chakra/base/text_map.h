// A hash map keyed by text. This header includes abseil and is therefore not part of base.h.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <string_view>

#include "chakra/base/strings.h"

namespace chakra {

template <class Value>
using TextMap = absl::flat_hash_map<std::string_view, Value, TextHash>;

}  // namespace chakra
