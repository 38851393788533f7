#include "chakra/feeders/ids.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace chakra::feeders {

Result<void> Ids::sort(const std::string& file) {
  if (ascend_) return {};
  std::vector<std::pair<uint64_t, Row>> order;  // ids with their places
  order.reserve(ids_.size());
  for (const uint64_t id : ids_) order.emplace_back(id, static_cast<Row>(order.size()));
  std::sort(order.begin(), order.end());
  for (size_t row = 1; row < order.size(); ++row)
    if (order[row].first == order[row - 1].first)
      return fail(Code::bad_input, "feed.id.duplicate", fmt::format("node {} is a duplicate", order[row].first),
                  {file});
  places_.resize(ids_.size());
  for (size_t row = 0; row < order.size(); ++row) std::tie(ids_[row], places_[row]) = order[row];
  return {};
}

std::optional<Row> Ids::search(uint64_t id) const {
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return std::nullopt;
  return static_cast<Row>(found - ids_.begin());
}

}  // namespace chakra::feeders
