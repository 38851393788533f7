// A hash map by text. It brings abseil with it, so it is not part of base.h: who needs it includes it.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <string_view>

#include "chakra/base/strings.h"

namespace chakra {

template <class Value>
using TextMap = absl::flat_hash_map<std::string_view, Value, TextHash>;

}  // namespace chakra
