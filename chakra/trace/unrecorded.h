// The name of nodes that stand for device work that was not recorded (docs/linking.md, U1).
#pragma once

#include <string_view>

namespace chakra::trace {

inline constexpr std::string_view kUnrecorded = "[chakra|unrecorded]";

}  // namespace chakra::trace
