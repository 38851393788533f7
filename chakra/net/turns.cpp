#include "chakra/net/turns.h"

#include <algorithm>
#include <utility>

#include "chakra/base/base.h"

namespace chakra::net {

Turns::Turns(std::vector<uint32_t> extents, std::vector<Row> rows)
    : extents_(std::move(extents)), rows_(std::move(rows)) {
  CHAKRA_ASSERT(extents_.size() <= kMost && !rows_.empty() && rows_[0].first == 0);
  for (Row& row : rows_) row.strides.resize(extents_.size(), 0);
}

const Turns::Row& Turns::row_of(uint32_t device) const {
  size_t row = rows_.size() - 1;
  while (rows_[row].first > device) --row;
  return rows_[row];
}

Turns::Steps Turns::place(uint32_t device) const {
  Steps place{};
  const Row& row = row_of(device);
  const uint32_t number = device - row.first;
  for (size_t t = 0; t < extents_.size(); ++t)
    if (row.strides[t] > 0) place[t] = number / row.strides[t] % extents_[t];
  return place;
}

uint32_t Turns::turned(uint32_t device, const Steps& steps, bool back) const {
  const Row& row = row_of(device);
  const uint32_t number = device - row.first;
  uint32_t to = device;
  for (size_t t = 0; t < extents_.size(); ++t) {
    if (row.strides[t] == 0 || steps[t] == 0) continue;
    const uint32_t extent = extents_[t], at = number / row.strides[t] % extent;
    const uint32_t sum = at + (back ? extent - steps[t] : steps[t]);
    to += ((sum >= extent ? sum - extent : sum) - at) * row.strides[t];  // modulo 2^32: may go down
  }
  return to;
}

DeviceTurns::DeviceTurns(Turns turns, const std::vector<uint32_t>& of, uint32_t classes)
    : DeviceTurns(std::move(turns)) {
  if (turns_.empty()) return;
  of_ = of;
  first_.assign(classes, UINT32_MAX);
  for (uint32_t d = 0; d < of.size(); ++d)
    if (first_[of[d]] == UINT32_MAX) first_[of[d]] = d;
  for (uint32_t d = 0; d < of.size(); ++d) {
    const uint32_t first = first_[of[d]];
    if (first == d) continue;
    const Turns::Steps a = turns_.place(first), b = turns_.place(d);
    for (size_t t = 0; t < count(); ++t)
      if (a[t] != b[t] || turns_.moves(t, first) != turns_.moves(t, d)) drop(t);
  }
}

Turns::Steps DeviceTurns::place(uint32_t device) const {
  if (used_ == 0) return {};
  Turns::Steps place = turns_.place(first_of(device));
  for (size_t t = 0; t < count(); ++t)
    if ((used_ >> t & 1) == 0) place[t] = 0;
  return place;
}

uint64_t DeviceTurns::orbit(uint32_t device) const {
  uint64_t size = 1;
  for (size_t t = 0; t < count(); ++t)
    if (moves(t, device)) size *= extent(t);
  return size;
}

}  // namespace chakra::net
