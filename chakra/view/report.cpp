// Findings -> text.
#include <fmt/core.h>

#include "chakra/view/view.h"

namespace chakra::view {

std::string to_text(const Findings& findings, std::string_view indent) {
  std::string out;
  for (const Finding& f : findings) {
    out += fmt::format("{}{}: ", indent, chakra::name(f.severity));
    if (f.rank >= 0) out += fmt::format("rank {}: ", f.rank);
    if (f.node >= 0) out += fmt::format("node {}: ", f.node);
    out += fmt::format("{} [{}]\n", f.text, f.tag);
  }
  return out;
}

}  // namespace chakra::view
