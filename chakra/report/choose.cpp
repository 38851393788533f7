// Choice of ranks and rows.
#include "chakra/report/choose.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "chakra/base/base.h"

namespace chakra::report {
namespace {

using answer::Answer;
using answer::Series;
using answer::Table;
using answer::Type;

/// Tables of which the page shows the rows with the largest values of a column.
struct Largest {
  std::string_view table, column;
};
constexpr std::array<Largest, 2> kLargest{{{"links", "busy_ps"}, {"critical_path", "time_ps"}}};
/// Tables in which a row stands for all rows that are equal except for ids and groups.
constexpr std::array<std::string_view, 2> kFolded{"ranks", "collectives"};
/// Tables with a row for each rank, and the column that orders the ranks.
constexpr std::array<Largest, 2> kRanked{{{"critical_path", "length_ps"}, {"ranks", "finish_ps"}}};

/// A column of whole numbers or of texts; null if the table lacks such a column.
const Series* whole_column(const Table& table, std::string_view key) {
  const Series* const found = table.column(key);
  return found && (found->info().type == Type::whole || found->info().type == Type::natural) ? found : nullptr;
}
const Series* text_column(const Table& table, std::string_view key) {
  const Series* const found = table.column(key);
  return found && found->info().type == Type::text ? found : nullptr;
}

/// The worst stragglers, and the ranks of the evidence.
std::set<int64_t> remarkable_ranks(const Answer& answer) {
  std::set<int64_t> ranks;
  const auto add = [&](const Table& table, size_t row) {
    const Series* const rank = whole_column(table, "rank");
    if (rank && row < table.rows && rank->has(row)) ranks.insert(rank->whole(row));
  };
  if (const Table* const table = answer.table("stragglers"))
    for (size_t r = 0; r < kStragglers; ++r) add(*table, r);
  for (const auto& [key, rows] : evidence_of(answer))
    if (const Table* const table = answer.table(key))
      for (const size_t r : rows) add(*table, r);
  return ranks;
}

/// All cells of a row, except ids and the group, as a text that is equal for equal rows.
std::string content_of(const Table& table, size_t row) {
  std::string content;
  for (const Series& series : table.columns) {
    const answer::Info& info = series.info();
    if (info.unit == answer::Unit::id || info.key == "group" || info.type == Type::rows) continue;
    content += '\x1f';
    if (!series.has(row)) continue;
    switch (info.type) {
      case Type::real: answer::append_real(content, series.real(row)); break;
      case Type::text: answer::append_text(content, series.text(row)); break;
      case Type::any: break;  // such tables are not folded
      default: content += std::to_string(series.whole(row));
    }
  }
  return content;
}

bool is_folded(const Table& table) {
  if (std::find(kFolded.begin(), kFolded.end(), table.key) == kFolded.end()) return false;
  return std::none_of(table.columns.begin(), table.columns.end(),
                      [](const Series& series) { return series.info().type == Type::any; });
}

/// The first of all equal rows, with their number.
Chosen folded(const Table& table) {
  Chosen chosen;
  std::unordered_map<std::string, size_t> places;
  for (size_t r = 0; r < table.rows; ++r) {
    const auto [at, added] = places.try_emplace(content_of(table, r), chosen.rows.size());
    if (added) chosen.rows.push_back(r), chosen.identical.push_back(0);
    ++chosen.identical[at->second];
  }
  return chosen;
}

/// Keep the rows at these places.
void keep(Chosen& chosen, const std::vector<size_t>& places) {
  Chosen kept;
  for (const size_t at : places) {
    kept.rows.push_back(chosen.rows[at]);
    if (!chosen.identical.empty()) kept.identical.push_back(chosen.identical[at]);
  }
  kept.cut = true;
  chosen = std::move(kept);
}

/// Keep the rows with the largest values, as many as a page can have.
void keep_largest(const Series& by, Chosen& chosen) {
  std::vector<size_t> places(chosen.rows.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return by.whole(chosen.rows[a]) > by.whole(chosen.rows[b]); });
  places.resize(kMostRows);
  std::sort(places.begin(), places.end());
  keep(chosen, places);
}

/// Keep equally many rows of each rank; without ranks, the first rows.
void keep_of_each(const Series* rank, Chosen& chosen) {
  std::map<int64_t, size_t> count;
  for (const size_t r : chosen.rows) ++count[rank ? rank->whole(r) : 0];
  const size_t each = std::max<size_t>(1, kMostRows / count.size());
  count.clear();
  std::vector<size_t> places;
  for (size_t at = 0; at < chosen.rows.size() && places.size() < kMostRows; ++at)
    if (++count[rank ? rank->whole(chosen.rows[at]) : 0] <= each) places.push_back(at);
  keep(chosen, places);
}

const Series* largest_column(const Table& table) {
  for (const Largest& each : kLargest)
    if (each.table == table.key)
      if (const Series* const column = whole_column(table, each.column)) return column;
  return nullptr;
}

}  // namespace

Evidence evidence_of(const Answer& answer) {
  Evidence evidence;
  const Table* const diagnosis = answer.table("diagnosis");
  const Series* const table = diagnosis ? text_column(*diagnosis, "evidence") : nullptr;
  const Series* const row = diagnosis ? whole_column(*diagnosis, "row") : nullptr;
  if (!table || !row) return evidence;
  for (size_t r = 0; r < diagnosis->rows; ++r)
    if (table->has(r) && row->has(r) && row->whole(r) >= 0)
      evidence[std::string(table->text(r))].insert(static_cast<size_t>(row->whole(r)));
  return evidence;
}

std::set<int64_t> chosen_ranks(std::span<const Part> parts) {
  for (const Part& part : parts)
    for (const Largest& each : kRanked) {
      const Table* const table = part.answer->table(each.table);
      const Series* const rank = table ? whole_column(*table, "rank") : nullptr;
      const Series* const length = table ? whole_column(*table, each.column) : nullptr;
      if (!rank || !length || table->rows <= kMostRanks) continue;
      std::vector<std::pair<int64_t, int64_t>> order;
      std::set<int64_t> chosen;
      if (is_folded(*table))
        for (const size_t r : folded(*table).rows) order.emplace_back(length->whole(r), rank->whole(r));
      else
        for (size_t r = 0; r < table->rows; ++r) order.emplace_back(length->whole(r), rank->whole(r));
      std::sort(order.begin(), order.end());
      const size_t most = std::min(order.size(), kMostRanks);
      for (size_t i = 0; i < most; ++i) chosen.insert(order[most < 2 ? 0 : i * (order.size() - 1) / (most - 1)].second);
      for (const int64_t one : remarkable_ranks(*part.answer)) chosen.insert(one);
      return chosen;
    }
  return {};
}

size_t Chosen::all() const {
  return identical.empty() ? rows.size() : std::accumulate(identical.begin(), identical.end(), size_t{0});
}

Chosen chosen_rows(const Table& table, const std::set<int64_t>& ranks, const std::set<size_t>& evidence) {
  const Series* const rank = whole_column(table, "rank");
  const Series* const largest = largest_column(table);
  Chosen chosen;
  if (table.rows > kMostRanks && is_folded(table)) chosen = folded(table);
  else {
    chosen.rows.resize(table.rows);
    std::iota(chosen.rows.begin(), chosen.rows.end(), size_t{0});
  }
  if (rank && !largest && !ranks.empty()) {
    std::vector<size_t> places;
    for (size_t at = 0; at < chosen.rows.size(); ++at)
      if (!rank->has(chosen.rows[at]) || ranks.contains(rank->whole(chosen.rows[at]))) places.push_back(at);
    const bool cut = chosen.cut;
    keep(chosen, places);
    chosen.cut = cut;
  }
  if (chosen.rows.size() > kMostRows) largest ? keep_largest(*largest, chosen) : keep_of_each(rank, chosen);
  for (const size_t r : evidence) {
    const auto at = std::lower_bound(chosen.rows.begin(), chosen.rows.end(), r);
    if (r >= table.rows || (at != chosen.rows.end() && *at == r)) continue;
    if (!chosen.identical.empty()) chosen.identical.insert(chosen.identical.begin() + (at - chosen.rows.begin()), 1);
    chosen.rows.insert(at, r);
  }
  return chosen;
}

}  // namespace chakra::report
