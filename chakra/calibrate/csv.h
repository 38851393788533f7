// CSV helpers for the readers of measured kernels and of measured collectives. Inside calibrate.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chakra::calibrate {

/// Return the text after the byte order mark, which spreadsheets put first.
std::string_view without_byte_order_mark(std::string_view text);
/// Return the first duplicate name of a column; "" if all names differ. Several columns may have no name.
std::string duplicate_column(const std::vector<std::string>& columns);

}  // namespace chakra::calibrate
