#include "chakra/net/turns.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "chakra/base/base.h"

namespace chakra::net {

Turns::Turns(std::vector<uint32_t> extents, std::vector<Row> rows, uint32_t free)
    : extents_(std::move(extents)), rows_(std::move(rows)), free_(free) {
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
  auto known = std::make_shared<Classes>(Classes{std::vector<uint32_t>(classes, UINT32_MAX), of});
  for (uint32_t d = 0; d < of.size(); ++d)
    if (known->first[of[d]] == UINT32_MAX) known->first[of[d]] = d;
  classes_ = known;
  for (uint32_t d = 0; d < of.size(); ++d) {
    const uint32_t first = known->first[of[d]];
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
    if (!uses(t)) place[t] = 0;
  return place;
}

uint64_t DeviceTurns::orbit(uint32_t device) const {
  uint64_t size = 1;
  for (size_t t = 0; t < count(); ++t)
    if (moves(t, device)) size *= extent(t);
  return size;
}

Cycles::Cycles(const DeviceTurns& turns, std::span<const int64_t> devices) : turns_(&turns), cycles_(turns.count()) {
  if (turns.empty()) return;
  std::vector<std::vector<char>> occurs(turns.count());
  for (size_t t = 0; t < turns.count(); ++t) occurs[t].assign(turns.extent(t), 0);
  for (const int64_t device : devices) {
    const Turns::Steps place = turns.place(static_cast<uint32_t>(device));
    for (size_t t = 0; t < turns.count(); ++t) occurs[t][place[t]] = 1;
  }
  const absl::flat_hash_set<uint32_t> set(devices.begin(), devices.end());
  for (size_t t = 0; t < turns.count(); ++t) {
    if (!turns.uses(t)) continue;
    auto found = cycle(occurs[t], turns.free(t));
    if (!found) continue;
    cycles_[t] = *std::move(found);
    used_ |= 1u << t;
    if (!std::all_of(devices.begin(), devices.end(),
                     [&](int64_t d) { return set.contains(next(t, static_cast<uint32_t>(d))); }))
      drop(t);
  }
}

std::optional<Cycles::Cycle> Cycles::cycle(const std::vector<char>& occurs, bool free) {
  const auto extent = static_cast<uint32_t>(occurs.size());
  std::vector<uint32_t> values;
  for (uint32_t c = 0; c < extent; ++c)
    if (occurs[c] != 0) values.push_back(c);
  const auto count = static_cast<uint32_t>(values.size());
  if (count < 2) return std::nullopt;
  Cycle cycle{std::vector<uint32_t>(extent), std::vector<uint32_t>(extent, 0), std::vector<uint32_t>(extent, 1)};
  if (free) {
    std::iota(cycle.next.begin(), cycle.next.end(), 0u);
    for (uint32_t i = 0; i < count; ++i) {
      cycle.next[values[i]] = values[(i + 1) % count];
      cycle.index[values[i]] = i;
      cycle.length[values[i]] = count;
    }
    return cycle;
  }
  const uint32_t apart = extent / count;
  for (uint32_t i = 0; i < count; ++i)
    if (extent % count != 0 || values[i] != values[0] + i * apart) return std::nullopt;
  for (uint32_t c = 0; c < extent; ++c) {
    cycle.next[c] = (c + apart) % extent;
    cycle.index[c] = c / apart;
    cycle.length[c] = count;
  }
  return cycle;
}

uint32_t Cycles::next(size_t turn, uint32_t device) const {
  if (!turns_->moves(turn, device)) return device;
  const uint32_t at = turns_->place(device)[turn], to = cycles_[turn].next[at];
  Turns::Steps steps{};
  steps[turn] = to < at ? to + turns_->extent(turn) - at : to - at;
  return turns_->turned(device, steps, false);
}

bool Cycles::are_among(const Cycles& others) const {
  for (size_t t = 0; t < cycles_.size(); ++t)
    if (uses(t) && !(others.uses(t) && others.cycles_[t].next == cycles_[t].next)) return false;
  return true;
}

bool Cycles::is_first(uint32_t device) const {
  if (empty()) return true;
  const Turns::Steps place = turns_->place(device);
  for (size_t t = 0; t < cycles_.size(); ++t)
    if (uses(t) && turns_->moves(t, device) && cycles_[t].index[place[t]] > 0) return false;
  return true;
}

uint32_t Cycles::length(size_t turn, uint32_t device) const {
  if (!uses(turn) || !turns_->moves(turn, device)) return 1;
  return cycles_[turn].length[turns_->place(device)[turn]];
}

uint64_t Cycles::orbit(uint32_t device) const {
  uint64_t size = 1;
  for (size_t t = 0; t < cycles_.size(); ++t) size *= length(t, device);
  return size;
}

}  // namespace chakra::net
