// Table -> a picture of numbers beside each other.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/view/pen.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

constexpr int kLabel = 210, kWidth = 960, kHead = 62, kBars = 110;
constexpr double kFullColour = 1;  ///< octaves from the mean

double number(const result::Table::Cell& cell) {
  CHAKRA_ASSERT(!std::holds_alternative<std::string>(cell));
  const auto* whole = std::get_if<int64_t>(&cell);
  return whole ? static_cast<double>(*whole) : std::get<double>(cell);
}

/// Red above the mean, blue below, white at it.
std::string colour(double value, double mean) {
  const double octaves = mean > 0 ? std::log2(std::max(value, mean / 1024) / mean) : 0;
  const double x = std::clamp(octaves / kFullColour, -1.0, 1.0), fade = 1 - std::abs(x);
  const auto mix = [&](int full) { return static_cast<int>(std::lround(full + (255 - full) * fade)); };
  return x >= 0 ? fmt::format("#{:02x}{:02x}{:02x}", mix(200), mix(60), mix(50))
                : fmt::format("#{:02x}{:02x}{:02x}", mix(50), mix(100), mix(200));
}

}  // namespace

std::string to_heat_map(const result::Table& table) {
  const size_t columns = table.columns.empty() ? 0 : table.columns.size() - 1, rows = table.rows.size();
  const double width = columns ? static_cast<double>(kWidth - kLabel) / static_cast<double>(columns) : 0;
  const double height = rows > 60 ? 8 : 20;
  const double bottom = kHead + height * static_cast<double>(rows), total = bottom + kBars + 40;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth + 20, total);
  const auto text = [&](double x, double y, std::string_view anchor, std::string_view what, int size = 10) {
    fmt::format_to(std::back_inserter(out), "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">", x,
                   y, anchor, size);
    append_xml(out, what);
    out += "</text>\n";
  };
  text(10, 18, "start", table.title, 14);
  text(10, 34, "start",
       "colour: a cell against the mean of its row; red is more (full: twice), blue is less (full: half)");
  const size_t every = width > 0 ? std::max<size_t>(1, static_cast<size_t>(std::ceil(30 / width))) : 1;
  std::vector<double> sums(columns, 0);
  for (size_t c = 0; c < columns; c += every)
    text(kLabel + width * (static_cast<double>(c) + 0.5), kHead - 6, "middle", table.columns[c + 1].name);
  for (size_t r = 0; r < rows; ++r) {
    const auto& row = table.rows[r];
    CHAKRA_ASSERT(row.size() == table.columns.size());
    CHAKRA_ASSERT(!row.empty() && std::holds_alternative<std::string>(row[0]));
    const double y = kHead + height * static_cast<double>(r);
    if (height > 10) text(kLabel - 8, y + height - 6, "end", std::get<std::string>(row[0]));
    double mean = 0;
    for (size_t c = 0; c < columns; ++c) mean += number(row[c + 1]) / static_cast<double>(columns);
    for (size_t c = 0; c < columns; ++c) {
      const double value = number(row[c + 1]), x = kLabel + width * static_cast<double>(c);
      sums[c] += value;
      const std::string shown = result::show(row[c + 1], table.columns[c + 1].kind);
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
    const auto kind = table.columns[c + 1].kind;
    fmt::format_to(std::back_inserter(out),
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                   "fill=\"#5b8e7d\"><title>{}</title></rect>\n",
                   x + width * 0.1, bottom + kBars - tall, width * 0.8, tall, result::show(sums[c], kind));
    if (width > 52) text(x + width / 2, bottom + kBars - tall - 4, "middle", result::show(sums[c], kind), 9);
    if (c % every == 0) text(x + width / 2, bottom + kBars + 14, "middle", table.columns[c + 1].name);
  }
  return out + "</svg>\n";
}

}  // namespace chakra::view
