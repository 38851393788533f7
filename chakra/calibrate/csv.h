// What the readers of measured kernels and of measured collectives ask of a CSV table. Inside calibrate.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chakra::calibrate {

/// The text behind the mark that spreadsheets put first.
std::string_view without_byte_order_mark(std::string_view text);
/// The first name that an earlier column has, too; "" if there is none. Several columns may have no name.
std::string duplicate_column(const std::vector<std::string>& columns);

}  // namespace chakra::calibrate
