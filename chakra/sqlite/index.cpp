#include "chakra/sqlite/index.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace chakra::sqlite {

TableRows::TableRows(const Table& table) : table_(table), begins_{0} {
  for (const Part& part : table.parts) begins_.push_back(begins_.back() + part.rows);
}

size_t TableRows::part_of(size_t row, size_t near) const {
  if (near < table_.parts.size() && begins_[near] <= row && row < begins_[near + 1]) return near;
  return static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), row) - begins_.begin()) - 1;
}

std::optional<size_t> TableRows::find_part(int64_t key) const {
  const auto at = std::lower_bound(table_.parts.begin(), table_.parts.end(), key,
                                   [](const Part& part, int64_t value) { return part.key < value; });
  if (at == table_.parts.end() || at->key != key) return std::nullopt;
  return static_cast<size_t>(at - table_.parts.begin());
}

const TableRows::Index& TableRows::index_of(size_t part, size_t column) {
  const auto [found, is_new] = indices_.try_emplace({part, column});
  if (!is_new) return found->second;
  Index& index = found->second;
  const Part& rows = table_.parts[part];
  for (size_t row = 0; row < rows.rows; ++row)
    if (const Cell cell = table_.columns[column].get(rows.of, column, row); cell.kind == Cell::Kind::present)
      index.emplace_back(cell.bits, static_cast<uint32_t>(row));
  if (!std::is_sorted(index.begin(), index.end())) std::sort(index.begin(), index.end());
  return index;
}

void TableRows::find(size_t part, size_t column, int64_t bits, std::vector<uint64_t>& rows) {
  const Index& index = index_of(part, column);
  auto at = std::lower_bound(index.begin(), index.end(), std::pair(bits, uint32_t{0}));
  for (; at != index.end() && at->first == bits; ++at) rows.push_back(begins_[part] + at->second);
}

namespace {

/// A value of a column, among the rows that are equal in the columns before.
struct Key {
  uint32_t group = 0;
  Cell cell;
  bool operator==(const Key& other) const {
    return group == other.group && cell.kind == other.cell.kind && cell.bits == other.cell.bits;
  }
  template <class Hash>
  friend Hash AbslHashValue(Hash hash, const Key& key) {
    return Hash::combine(std::move(hash), key.group, key.cell.kind, key.cell.bits);
  }
};

/// Whether a cell comes before another one of its column.
bool is_before(const Table& table, ValueType type, const Cell& a, const Cell& b) {
  if (a.kind != b.kind || a.kind != Cell::Kind::present) return a.kind < b.kind;
  switch (type) {
    case ValueType::whole: return a.bits < b.bits;
    case ValueType::real: return std::bit_cast<double>(a.bits) < std::bit_cast<double>(b.bits);
    case ValueType::text:
      return (*table.texts)[static_cast<StringId>(a.bits)] < (*table.texts)[static_cast<StringId>(b.bits)];
  }
  return false;
}

/// Return the place of each key, by number, in the order of the keys.
std::vector<uint32_t> places_of(const Table& table, const SortBy& by, const std::vector<Key>& keys) {
  const ValueType type = table.columns[by.column].type;
  std::vector<uint32_t> order(keys.size()), places(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (keys[a].group != keys[b].group) return keys[a].group < keys[b].group;
    return by.descending ? is_before(table, type, keys[b].cell, keys[a].cell)
                         : is_before(table, type, keys[a].cell, keys[b].cell);
  });
  for (uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  return places;
}

}  // namespace

void TableRows::sort(std::span<const SortBy> by, std::vector<uint64_t>& rows) const {
  std::vector<uint32_t> groups(rows.size(), 0);
  size_t count = 1;
  for (const SortBy& each : by) {
    const size_t c = each.column;
    const TableColumn& column = table_.columns[c];
    absl::flat_hash_map<Key, uint32_t> numbers;
    std::vector<Key> keys;
    uint32_t number = 0;
    for (size_t i = 0, part = 0; i < rows.size(); ++i) {
      part = part_of(rows[i], part);
      const Part& of = table_.parts[part];
      const Key key{groups[i],
                    c == 0 && table_.by_key ? Cell::whole(of.key) : column.get(of.of, c, rows[i] - begins_[part])};
      if (keys.empty() || !(key == keys[number])) {
        const auto [at, is_new] = numbers.try_emplace(key, static_cast<uint32_t>(keys.size()));
        if (is_new) keys.push_back(key);
        number = at->second;
      }
      groups[i] = number;
    }
    const std::vector<uint32_t> places = places_of(table_, each, keys);
    for (uint32_t& group : groups) group = places[group];
    count = keys.size();
  }
  std::vector<size_t> next(count + 1, 0);
  for (const uint32_t group : groups) ++next[group + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<uint64_t> ordered(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) ordered[next[groups[i]]++] = rows[i];
  rows = std::move(ordered);
}

}  // namespace chakra::sqlite
