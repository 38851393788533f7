// Cells of CSV. Private.
#pragma once

#include <string>
#include <string_view>

namespace chakra::view {

/// A cell of text: one line, no formula, in quotes where it has a comma or quotes.
std::string csv_cell(std::string_view cell);

}  // namespace chakra::view
