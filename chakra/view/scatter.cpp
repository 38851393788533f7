// Points in a plane -> an image.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/view/pen.h"
#include "chakra/view/svg.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

constexpr double kSide = 720, kMargin = 40, kTitle = 50, kPoint = 3, kLargest = 28;

struct Bounds {
  double low[2] = {0, 0}, high[2] = {0, 0};
  double span[2] = {1, 1};  ///< length of the side of the figure
  double most = 0;          ///< the largest weight
};

/// Places without a meaning are shown with their zero.
Bounds bounds_of(const Scatter& figure) {
  constexpr double kLeast = 1e-9;
  Bounds bounds;
  if (!figure.x.empty() && !figure.points.empty()) {
    const Scatter::Point& first = figure.points[0];
    bounds.low[0] = bounds.high[0] = first.x;
    bounds.low[1] = bounds.high[1] = first.y;
  }
  for (const Scatter::Point& p : figure.points) {
    const double at[2] = {p.x, p.y};
    for (size_t d = 0; d < 2; ++d) {
      bounds.low[d] = std::min(bounds.low[d], at[d]);
      bounds.high[d] = std::max(bounds.high[d], at[d]);
    }
    bounds.most = std::max(bounds.most, p.weight);
  }
  for (size_t d = 0; d < 2; ++d) bounds.span[d] = std::max(bounds.high[d] - bounds.low[d], kLeast);
  if (figure.same_scale) bounds.span[0] = bounds.span[1] = std::max(bounds.span[0], bounds.span[1]);
  return bounds;
}

}  // namespace

std::string to_scatter(const Scatter& figure) {
  const Bounds bounds = bounds_of(figure);
  const auto& [low, high, span, most] = bounds;
  const auto x_of = [&](const Scatter::Point& p) { return kMargin + (p.x - low[0]) / span[0] * kSide; };
  const auto y_of = [&](const Scatter::Point& p) { return kTitle + kMargin + (high[1] - p.y) / span[1] * kSide; };
  const double width = 2 * kMargin + kSide, height = kTitle + 2 * kMargin + (high[1] - low[1]) / span[1] * kSide;
  std::string out = begin_svg(width, height, 11);
  const auto text = [&](double x, double y, std::string_view anchor, std::string_view what, int size) {
    append_svg_text(out, x, y, anchor, what, size);
  };
  text(12, 22, "start", figure.title, 15);
  text(12, 40, "start", figure.note, 11);
  if (!figure.x.empty()) {
    text(width / 2, height - 8, "middle", fmt::format("{}: {:.6g} to {:.6g}", figure.x, low[0], high[0]), 11);
    text(12, kTitle + kMargin / 2, "start", fmt::format("{}: {:.6g} to {:.6g}", figure.y, low[1], high[1]), 11);
  }
  for (const bool marked : {false, true})
    for (const Scatter::Point& p : figure.points) {
      if (p.marked != marked) continue;
      const double radius = marked && most > 0 ? std::max(kPoint + 1, kLargest * std::sqrt(p.weight / most)) : kPoint;
      fmt::format_to(std::back_inserter(out),
                     "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" fill-opacity=\"{}\" "
                     "stroke=\"{}\"><title>",
                     x_of(p), y_of(p), radius, marked ? "#e69f00" : "#0072b2", marked ? 0.45 : 0.5,
                     marked ? "#8a5f00" : "none");
      append_xml(out, p.weight > 0 ? fmt::format("{}: weight {:.3f}", p.label, p.weight) : p.label);
      out += "</title></circle>\n";
      if (!marked) continue;
      const bool left = x_of(p) > width / 2;  // the label stays inside the figure
      text(x_of(p) + (left ? -radius - 3 : radius + 3), y_of(p) + 4, left ? "end" : "start",
           p.label.substr(p.label.rfind('/') + 1), 10);
    }
  return out + "</svg>\n";
}

}  // namespace chakra::view
