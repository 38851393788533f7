// The parts of an SVG that every figure has.
#pragma once

#include <string>
#include <string_view>

namespace chakra::view {

/// Begin a figure of this size in pixels, on white. The caller ends the figure with "</svg>\n".
std::string begin_svg(double width, double height, int font_size);
/// Append a line of text; `anchor`: the part of the text at (x, y), which is start, middle or end.
void append_svg_text(std::string& out, double x, double y, std::string_view anchor, std::string_view text, int size);

}  // namespace chakra::view
