// Texts in columns, findings -> text; cells of CSV.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/view/csv.h"
#include "chakra/view/shown.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

/// Characters a terminal shows: bytes that do not continue a UTF-8 sequence.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Names come from files: long ones are cut, and what a terminal would obey is shown as bytes.
std::string shown(const std::string& cell, size_t widest) {
  return cell.size() <= widest && escape(cell) == cell ? cell : quote(cell, widest);
}

}  // namespace

std::string to_text(const Grid& grid, size_t widest) {
  std::vector<std::vector<std::string>> cells;
  std::vector<size_t> widths;
  for (const Grid::Column& column : grid.columns) widths.push_back(width(column.heading));
  for (const auto& row : grid.rows) {
    auto& texts = cells.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      texts.push_back(shown(row[i], widest));
      widths[i] = std::max(widths[i], width(texts.back()));
    }
  }
  std::string out;
  if (!grid.title.empty()) out += grid.title + "\n";
  const auto line = [&](const auto& text_of) {
    std::string text = " ";
    for (size_t i = 0; i < grid.columns.size(); ++i) {
      const std::string& cell = text_of(i);
      const std::string pad(widths[i] - width(cell), ' ');
      text += grid.columns[i].left ? " " + cell + pad : " " + pad + cell;
      text += ' ';
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  line([&](size_t i) -> const std::string& { return grid.columns[i].heading; });
  for (const auto& row : cells) line([&](size_t i) -> const std::string& { return row[i]; });
  return out;
}

std::string to_text(const Findings& findings, std::string_view indent) {
  std::string out;
  for (const Finding& f : findings) {
    out += fmt::format("{}{}: ", indent, chakra::name(f.severity));
    if (f.rank >= 0) out += fmt::format("rank {}: ", f.rank);
    if (f.node >= 0) out += fmt::format("node {}: ", f.node);
    out += fmt::format("{} [{}]\n", escape(f.text), f.tag);
  }
  return out;
}

namespace {

/// What a spreadsheet would take for a formula: it begins with one of = + - @ and goes on otherwise than a number with
/// its unit ("-1.5", "+2.3 %", "-").
bool is_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@").find(text[0]) == std::string_view::npos) return false;
  if (text[0] == '=' || text[0] == '@') return true;
  return std::any_of(text.begin() + 1, text.end(), [](char c) {
    return !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
           std::string_view(". %").find(c) == std::string_view::npos;
  });
}

}  // namespace

std::string csv_cell(std::string_view cell) {
  const std::string text = (is_formula(cell) ? "'" : "") + escape(cell);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out(1, '"');
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

}  // namespace chakra::view
