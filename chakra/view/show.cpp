// Rows of a text -> text: lines, tables, findings.
#include "chakra/view/show.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "chakra/view/shown.h"
#include "chakra/view/template.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using answer::Answer;
using answer::Series;
using answer::Type;
using answer::Unit;

bool is_template(std::string_view key) { return key.find_first_of("{[") != std::string_view::npos; }

/// A row of a text: of a table or of values, alone or for several.
struct Line {
  size_t row = 0;
  int64_t count = 1;
  std::vector<std::optional<Shown>> sums = {};  ///< of Show::sum: by column
};

/// What a Show says of one table.
struct Part {
  const Show* show = nullptr;
  Scope scope;
  Rows rows = {};
  std::vector<Line> lines = {};

  Scope at(const Line& line) const {
    Scope in = scope;
    in.row = line.row;
    in.count = line.count;
    return in;
  }
  std::optional<Shown> value(size_t c, const Line& line) const {
    std::string_view key = show->columns[c].key;
    if (is_template(key)) {
      std::optional<std::string> text = at(line).fill(key);
      return text ? std::optional(Shown{Type::text, Unit::none, std::move(*text)}) : std::nullopt;
    }
    if (key == "#") return Shown{Type::whole, Unit::count, line.count};
    if (c < line.sums.size()) return line.sums[c];
    if (key.starts_with('+')) key.remove_prefix(1);
    return at(line).find(key);
  }
  /// What a share in this column is of.
  double whole_of(const ShowColumn& column, const Line& line) const {
    if (column.share != "*") {
      const std::optional<Shown> whole = at(line).find(column.share);
      return whole ? number_of(*whole) : 0;
    }
    double sum = 0;
    const Series* const series = scope.table ? scope.table->column(column.key) : nullptr;
    for (size_t row = rows.begin; series && row < rows.end; ++row)
      if (const auto value = shown_of(*series, row)) sum += number_of(*value);
    return sum;
  }
  std::string more() const {
    if (lines.size() <= show->first) return "";
    const size_t rest = lines.size() - show->first;
    return fmt::format("  ... and {} more {}; '--all {}' shows {}\n", show_count(static_cast<int64_t>(rest)),
                       rest == 1 ? "row" : "rows", rows.table->key, rest == 1 ? "it" : "them");
  }
};

/// Return the columns of a table among names with commas between them; null for a missing column.
std::vector<const Series*> columns_of(const answer::Table& table, std::string_view names) {
  std::vector<const Series*> columns;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    columns.push_back(table.column(name));
  }
  return columns;
}

/// The bytes of a row in some columns: rows with the same bytes are equal there. Missing cells count as one value.
void bytes_of(std::span<const Series* const> columns, size_t row, std::string& bytes) {
  bytes.clear();
  const auto append = [&](const auto& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const Series* const series : columns) {
    const bool has = series->has(row);
    append(has);
    if (!has) continue;
    if (series->info().type == Type::any) append_exactly(bytes, *series, row);
    else if (series->info().type == Type::real) append(series->real(row));
    else append(series->whole(row));
  }
}

/// A row without one of the columns stays alone.
void fold(Part& part) {
  const std::vector<const Series*> columns = columns_of(*part.scope.table, part.show->fold);
  const bool all = std::find(columns.begin(), columns.end(), nullptr) == columns.end();
  std::unordered_map<std::string, size_t> known;
  std::string bytes;
  for (size_t row = part.rows.begin; row < part.rows.end; ++row) {
    const bool alone =
        !all || std::any_of(columns.begin(), columns.end(), [&](const Series* s) { return !s->has(row); });
    if (!alone) bytes_of(columns, row, bytes);
    const auto [at, added] = alone ? std::pair(known.end(), true) : known.try_emplace(bytes, part.lines.size());
    if (added) part.lines.push_back({row});
    else ++part.lines[at->second].count;
  }
}

std::optional<Shown> sum_of(std::optional<Shown> sum, std::optional<Shown> value) {
  if (!sum || !value) return sum ? sum : value;
  if (!is_number(*sum)) return sum;
  constexpr double kLargest = 9e18;
  const double both = number_of(*sum) + number_of(*value);
  int64_t* const whole = std::get_if<int64_t>(&sum->cell);
  const int64_t* const more = std::get_if<int64_t>(&value->cell);
  if (whole && more && std::abs(both) < kLargest) *whole += *more;
  else *sum = {Type::real, sum->unit, both};
  return sum;
}

/// The columns that a template may name.
std::vector<const Series*> named_in(std::string_view text, const answer::Table& table) {
  std::vector<const Series*> columns;
  for (const Series& series : table.columns)
    if (series.info().type != Type::rows && text.find(series.info().key) != text.npos) columns.push_back(&series);
  return columns;
}

void sum(Part& part) {
  const std::vector<const Series*> columns = named_in(part.show->columns[0].key, *part.scope.table);
  std::unordered_map<std::string, size_t> lines;  // by text of the first column
  std::unordered_map<std::string, size_t> known;  // by what that text is made of
  std::string bytes;
  for (size_t row = part.rows.begin; row < part.rows.end; ++row) {
    const Line line{row};
    bytes_of(columns, row, bytes);
    const auto [seen, fresh] = known.try_emplace(bytes, 0);
    if (fresh) {
      const std::optional<Shown> group = part.value(0, line);
      const auto [at, added] = lines.try_emplace(group ? show(*group) : "", part.lines.size());
      if (added) {
        part.lines.push_back({row, 0, std::vector<std::optional<Shown>>(part.show->columns.size())});
        part.lines.back().sums[0] = group;
      }
      seen->second = at->second;
    }
    Line& to = part.lines[seen->second];
    ++to.count;
    for (size_t c = 1; c < part.show->columns.size(); ++c) to.sums[c] = sum_of(to.sums[c], part.value(c, line));
  }
}

void rank(Part& part) {
  size_t by = 0;
  while (by < part.show->columns.size() && part.show->columns[by].key != part.show->ranked) ++by;
  const auto size_of = [&](const Line& line) {
    const std::optional<Shown> value =
        by < part.show->columns.size() ? part.value(by, line) : part.at(line).find(part.show->ranked);
    return value ? number_of(*value) : -INFINITY;
  };
  std::vector<std::pair<double, size_t>> order;
  for (const Line& line : part.lines) order.emplace_back(-size_of(line), order.size());
  std::sort(order.begin(), order.end());
  std::vector<Line> ranked;
  for (const auto& [size, index] : order) ranked.push_back(std::move(part.lines[index]));
  part.lines = std::move(ranked);
}

/// No lines where the answer has none of it.
Part part_of(const Show& show, const Scope& in) {
  Part part{&show, {in.answer, in.subject}};
  if (!show.when.empty() && !in.fill(show.when)) return part;
  if (show.table.ends_with('.')) {
    part.scope.prefix = show.table;
    const auto& values = in.answer.values();
    if (show.table == "." || std::any_of(values.begin(), values.end(), [&](const answer::Value& v) {
          return v.present && v.key.starts_with(show.table);
        }))
      part.lines.emplace_back();
    return part;
  }
  part.rows = in.rows_of(show.table);
  part.scope.table = part.rows.table;
  if (!part.rows.table) return part;
  if (show.sum) sum(part);
  else if (!show.fold.empty()) fold(part);
  else
    for (size_t row = part.rows.begin; row < part.rows.end; ++row) part.lines.push_back({row});
  if (!show.only.empty())
    std::erase_if(part.lines, [&](const Line& line) {
      const std::optional<Shown> value = part.at(line).find(show.only);
      return !value || number_of(*value) == 0;
    });
  if (!show.ranked.empty()) rank(part);
  return part;
}

/// A table of one part, or of several that are joined.
class TableText {
 public:
  TableText(std::vector<Part> parts, std::string_view title) : parts_(std::move(parts)), title_(title) {
    for (const Part& part : parts_) CHAKRA_ASSERT(part.show->columns.size() == columns().size());
    const auto has_lines = [](const Part& part) { return !part.lines.empty(); };
    if (std::any_of(parts_.begin(), parts_.end(), has_lines)) write();
  }
  std::string text() && { return std::move(out_); }

 private:
  std::span<const ShowColumn> columns() const { return parts_.front().show->columns; }

  void write() {
    Grid grid{std::string(title_)};
    for (size_t c = 0; c < columns().size(); ++c) {
      shown_.push_back(is_shown(c));
      if (!shown_[c]) continue;
      grid.columns.push_back({std::string(columns()[c].heading), is_left(c)});
      if (!columns()[c].share.empty()) grid.columns.emplace_back();
      if (columns()[c].bar) grid.columns.push_back({"", true});
    }
    std::string more;
    for (const Part& part : parts_) {
      const size_t rows = std::min(part.show->first, part.lines.size());
      for (size_t line = 0; line < rows; ++line) grid.rows.push_back(row(part, part.lines[line]));
      more += part.more();
    }
    out_ = "\n" + to_text(grid) + more;
  }

  template <class Is>
  bool any(const Is& is) const {
    for (const Part& part : parts_)
      for (const Line& line : part.lines)
        if (is(part, line)) return true;
    return false;
  }
  bool is_shown(size_t c) const {
    const Hide hide = columns()[c].hide;
    return hide == Hide::never || any([&](const Part& part, const Line& line) {
             const std::optional<Shown> value = part.value(c, line);
             return value && (hide == Hide::missing || number_of(*value) != 0);
           });
  }
  bool is_folded(size_t c) const {
    return columns()[c].alike && any([](const Part&, const Line& line) { return line.count > 1; });
  }
  bool is_left(size_t c) const {
    std::optional<Shown> value;
    any([&](const Part& part, const Line& line) { return (value = part.value(c, line)).has_value(); });
    return is_folded(c) || (value && !is_number(*value));
  }

  std::vector<std::string> row(const Part& part, const Line& line) const {
    std::vector<std::string> cells;
    for (size_t c = 0; c < columns().size(); ++c) {
      if (!shown_[c]) continue;
      const ShowColumn& column = part.show->columns[c];
      const std::optional<Shown> value = part.value(c, line);
      std::string text = value ? show(*value, column.key.starts_with('+')) : "-";
      if (value && column.words) text = column.words(text);
      if (column.alike && line.count > 1) text += fmt::format(" (and {} identical)", show_count(line.count - 1));
      cells.emplace_back(std::move(text));
      const double number = value ? number_of(*value) : 0;
      if (!columns()[c].share.empty()) {
        const double whole = column.share.empty() ? 0 : part.whole_of(column, line);
        cells.emplace_back(value ? show_percent(whole == 0 ? 0 : number / whole) : "");
      }
      if (columns()[c].bar) cells.emplace_back(bar(part, c, number));
    }
    return cells;
  }
  static std::string bar(const Part& part, size_t c, double number) {
    constexpr double kLongest = 20;
    double most = 0;
    for (const Line& line : part.lines)
      if (const auto value = part.value(c, line)) most = std::max(most, number_of(*value));
    return most > 0 && number > 0 ? std::string(static_cast<size_t>(kLongest * number / most + 0.5), '#') : "";
  }

  std::vector<Part> parts_;
  std::string_view title_;
  std::vector<bool> shown_;
  std::string out_;
};

std::string line_of(const Show& show, const Scope& scope) {
  const std::optional<std::string> text = filled(show.line, [&](std::string_view reference) {
    const std::optional<std::string> value = scope.text(reference);
    return value ? std::optional(escape(*value)) : std::nullopt;
  });
  return text && !text->empty() ? *text + "\n" : "";
}

/// Of all, those of a row, or those of a table of findings.
Findings findings_of(const Scope& scope, std::string_view table) {
  const Findings& all = scope.answer.findings();
  if (!scope.table && table.empty()) return all;
  const auto part = [](const Findings& of, size_t begin, size_t end) {
    const auto first = of.begin();
    return Findings(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
  };
  if (const Rows rows = scope.rows_of(table.empty() ? "findings" : table); rows.table)
    return part(*rows.table->findings, rows.begin, rows.end);
  const Series* const counts = scope.table ? scope.table->column("findings") : nullptr;
  if (!counts) return {};
  const auto end = counts->wholes().begin() + static_cast<std::ptrdiff_t>(scope.row);
  const auto begin = static_cast<size_t>(std::accumulate(counts->wholes().begin(), end, int64_t{0}));
  return part(all, begin, begin + static_cast<size_t>(*end));
}

std::string findings_text(const Scope& scope, std::string_view table) {
  Findings findings = findings_of(scope, table);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  return to_text(findings, scope.table ? "  " : "");
}

/// All tables whose keys begin with `prefix`, in their order.
std::string all_tables(const Show& show, std::string_view prefix, const Answer& answer) {
  std::string out;
  for (const answer::Table& table : answer.tables()) {
    const bool named = table.key.starts_with(prefix) && table.key.find('.', prefix.size()) == std::string::npos;
    if (!named || !table.present || table.detail || table.parent >= 0 || table.findings) continue;
    std::vector<ShowColumn> columns;
    for (const Series& series : table.columns)
      if (!series.info().heading.empty())
        columns.push_back({.key = series.info().key, .heading = series.info().heading});
    if (columns.empty()) continue;
    const Show rows{.table = table.key, .first = show.first, .columns = columns};
    std::string title = table.meaning;
    if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
    out += TableText({part_of(rows, {answer})}, title).text();
  }
  return out;
}

std::string to_text(std::span<const Show> shows, const Scope& scope) {
  std::string out;
  for (size_t s = 0; s < shows.size(); ++s) {
    const Show& show = shows[s];
    Part part = part_of(show, scope);
    if (show.findings) {
      out += findings_text(scope, show.table);
    } else if (show.table.empty()) {
      out += show.when.empty() || scope.fill(show.when) ? line_of(show, scope) : "";
    } else if (show.table.ends_with('*')) {
      out += all_tables(show, show.table.substr(0, show.table.size() - 1), scope.answer);
    } else if (!show.line.empty()) {
      for (size_t line = 0; line < std::min(show.first, part.lines.size()); ++line) {
        const Scope at = part.at(part.lines[line]);
        out += line_of(show, at);
        if (show.inside) out += to_text(show.inside->shows, at);
      }
      out += part.more();
    } else {
      std::vector<Part> parts{std::move(part)};
      for (; s + 1 < shows.size() && shows[s + 1].joined; ++s) parts.push_back(part_of(shows[s + 1], scope));
      out += TableText(std::move(parts), show.title).text();
    }
  }
  return out;
}

}  // namespace

std::string to_text(const Answer& answer, const Text& text) { return to_text(text.shows, Scope{answer, text.subject}); }

}  // namespace chakra::view
