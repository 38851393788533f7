// Parse the name of a trace's file.
#pragma once

#include <cstdint>
#include <string_view>

namespace chakra::io {

/// Return the part of a name before .gz or .zst.
std::string_view without_packing(std::string_view name);
/// "trace.12.et.gz", ".et" -> {"trace", 12}; false for other names.
bool split_name(std::string_view name, std::string_view ending, std::string_view& prefix, int64_t& rank);

}  // namespace chakra::io
