#include "chakra/view/svg.h"

#include <fmt/core.h>

#include "chakra/view/pen.h"

namespace chakra::view {

std::string begin_svg(double width, double height, int font_size) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"{2}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height, font_size);
}

void append_svg_text(std::string& out, double x, double y, std::string_view anchor, std::string_view text, int size) {
  fmt::format_to(std::back_inserter(out), "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">", x, y,
                 anchor, size);
  append_xml(out, text);
  out += "</text>\n";
}

}  // namespace chakra::view
