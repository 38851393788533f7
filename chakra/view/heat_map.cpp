// Bytes beside each other -> an image.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/view/svg.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

constexpr int kLabel = 210, kWidth = 960, kHead = 62, kBars = 110;
constexpr double kFullColour = 1;  ///< octaves from the mean

/// Red above the mean, blue below, white at it.
std::string colour(double value, double mean) {
  const double octaves = mean > 0 ? std::log2(std::max(value, mean / 1024) / mean) : 0;
  const double x = std::clamp(octaves / kFullColour, -1.0, 1.0), fade = 1 - std::abs(x);
  const auto mix = [&](int full) { return static_cast<int>(std::lround(full + (255 - full) * fade)); };
  return x >= 0 ? fmt::format("#{:02x}{:02x}{:02x}", mix(200), mix(60), mix(50))
                : fmt::format("#{:02x}{:02x}{:02x}", mix(50), mix(100), mix(200));
}

}  // namespace

std::string to_heat_map(const HeatMap& map) {
  const size_t columns = map.columns.size(), rows = map.rows.size();
  const double width = columns ? static_cast<double>(kWidth - kLabel) / static_cast<double>(columns) : 0;
  const double height = rows > 60 ? 8 : 20;
  const double bottom = kHead + height * static_cast<double>(rows), total = bottom + kBars + 40;
  std::string out = begin_svg(kWidth + 20, total, 10);
  const auto text = [&](double x, double y, std::string_view anchor, std::string_view what, int size = 10) {
    append_svg_text(out, x, y, anchor, what, size);
  };
  text(10, 18, "start", map.title, 14);
  text(10, 34, "start",
       "colour: a cell against the mean of its row; red is more (full: twice), blue is less (full: half)");
  const size_t every = width > 0 ? std::max<size_t>(1, static_cast<size_t>(std::ceil(30 / width))) : 1;
  std::vector<double> sums(columns, 0);
  for (size_t c = 0; c < columns; c += every)
    text(kLabel + width * (static_cast<double>(c) + 0.5), kHead - 6, "middle", map.columns[c]);
  for (size_t r = 0; r < rows; ++r) {
    const HeatMap::Row& row = map.rows[r];
    CHAKRA_ASSERT(row.bytes.size() == columns);
    const double y = kHead + height * static_cast<double>(r);
    if (height > 10) text(kLabel - 8, y + height - 6, "end", row.label);
    double mean = 0;
    for (const uint64_t bytes : row.bytes) mean += static_cast<double>(bytes) / static_cast<double>(columns);
    for (size_t c = 0; c < columns; ++c) {
      const double value = static_cast<double>(row.bytes[c]), x = kLabel + width * static_cast<double>(c);
      sums[c] += value;
      const std::string shown = show_bytes(value);
      fmt::format_to(std::back_inserter(out),
                     "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#ddd\" "
                     "stroke-width=\"0.5\"><title>{}</title></rect>\n",
                     x, y, width, height, colour(value, mean), shown);
      if (width > 52 && height > 10) text(x + width / 2, y + height - 6, "middle", shown, 9);
    }
  }
  const double most = sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  text(kLabel - 8, bottom + kBars - 4, "end", "sum");
  for (size_t c = 0; c < columns; ++c) {
    const double tall = most > 0 ? sums[c] / most * (kBars - 30) : 0, x = kLabel + width * static_cast<double>(c);
    const std::string shown = show_bytes(sums[c]);
    fmt::format_to(std::back_inserter(out),
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                   "fill=\"#5b8e7d\"><title>{}</title></rect>\n",
                   x + width * 0.1, bottom + kBars - tall, width * 0.8, tall, shown);
    if (width > 52) text(x + width / 2, bottom + kBars - tall - 4, "middle", shown, 9);
    if (c % every == 0) text(x + width / 2, bottom + kBars + 14, "middle", map.columns[c]);
  }
  return out + "</svg>\n";
}

}  // namespace chakra::view
