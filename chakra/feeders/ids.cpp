#include "chakra/feeders/ids.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace chakra::feeders {

Result<void> Ids::sort(const std::string& file) {
  if (ascend_) return {};
  by_id_.resize(ids_.size());
  std::iota(by_id_.begin(), by_id_.end(), Row{0});
  std::sort(by_id_.begin(), by_id_.end(), [&](Row a, Row b) { return ids_[a] < ids_[b]; });
  const auto twice = std::adjacent_find(by_id_.begin(), by_id_.end(), [&](Row a, Row b) { return ids_[a] == ids_[b]; });
  if (twice == by_id_.end()) return {};
  return fail(Code::bad_input, "feed.id.duplicate", fmt::format("node {} is a duplicate", ids_[*twice]), {file});
}

std::optional<Row> Ids::search(uint64_t id) const {
  size_t low = 0, high = ids_.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ids_[row_at(middle)] < id) low = middle + 1;
    else high = middle;
  }
  if (low == ids_.size() || ids_[row_at(low)] != id) return std::nullopt;
  return row_at(low);
}

}  // namespace chakra::feeders
