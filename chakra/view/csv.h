// CSV cells. Private.
#pragma once

#include <string>
#include <string_view>

namespace chakra::view {

/// Return a text cell: one line, no formula, quoted if the text has a comma or quotes.
std::string csv_cell(std::string_view cell);

}  // namespace chakra::view
