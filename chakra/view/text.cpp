// Table -> text.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/view/csv.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

/// Characters a terminal shows: bytes that do not continue a UTF-8 sequence.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Names come from files: long ones are cut, and what a terminal would obey is shown as bytes.
std::string shown(const result::Table::Cell& cell, result::Table::Kind kind, size_t widest) {
  std::string text = result::show(cell, kind);
  if (!std::holds_alternative<std::string>(cell)) return text;
  return text.size() <= widest && escape(text) == text ? text : quote(text, widest);
}

}  // namespace

std::string to_text(const result::Table& table, size_t widest) {
  std::vector<std::vector<std::string>> cells;
  std::vector<size_t> widths;
  for (const auto& column : table.columns) widths.push_back(width(column.name));
  for (const auto& row : table.rows) {
    auto& texts = cells.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      texts.push_back(shown(row[i], table.columns[i].kind, widest));
      widths[i] = std::max(widths[i], width(texts.back()));
    }
  }
  std::string out;
  if (!table.title.empty()) out += table.title + "\n";
  const auto reads_from_left = [](result::Table::Kind kind) {
    using enum result::Table::Kind;
    return kind == text || kind == plain || kind == real;
  };
  const auto line = [&](const auto& text_of) {
    std::string text = " ";
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const std::string& cell = text_of(i);
      const std::string pad(widths[i] - width(cell), ' ');
      text += reads_from_left(table.columns[i].kind) ? " " + cell + pad : " " + pad + cell;
      text += ' ';
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  line([&](size_t i) -> const std::string& { return table.columns[i].name; });
  for (const auto& row : cells) line([&](size_t i) -> const std::string& { return row[i]; });
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

std::string to_csv(const result::Table& table) {
  using Kind = result::Table::Kind;
  const auto header = [](const result::Table::Column& column) {
    const std::string name = column.name.empty() ? "share" : column.name;
    switch (column.kind) {
      case Kind::time_ps: return name + " (ps)";
      case Kind::bytes: return name + " (bytes)";
      case Kind::rate_bytes_per_s: return name + " (bytes/s)";
      default: return name;
    }
  };
  std::string out;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i) out += ',';
    out += csv_cell(header(table.columns[i]));
  }
  out += '\n';
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i) out += ',';
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) out += csv_cell(value);
            else out += fmt::format("{}", value);
          },
          row[i]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace chakra::view
