#include "chakra/trace/columns.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "chakra/trace/varint.h"

namespace chakra::trace {

Ids Ids::counting(uint64_t first, size_t size) {
  Ids ids;
  ids.first_ = first;
  ids.size_ = size;
  return ids;
}

void Ids::push_back(uint64_t id) {
  if (size_ == 0) first_ = id;
  if (listed_.empty() && (id != first_ + size_ || id < first_)) list();
  if (!listed_.empty()) listed_.push_back(id);
  ++size_;
}

void Ids::set(size_t row, uint64_t id) {
  if ((*this)[row] == id) return;
  if (listed_.empty()) list();
  listed_.edit(row) = id;
}

void Ids::list() {
  listed_.reserve(size_ + 1);
  for (size_t row = 0; row < size_; ++row) listed_.push_back(first_ + row);
}

bool Ids::ascend() const {
  return std::adjacent_find(listed_.begin(), listed_.end(), std::greater_equal<>()) == listed_.end();
}

size_t Ids::find(uint64_t id) const {
  if (listed_.empty()) return id >= first_ && id - first_ < size_ ? id - first_ : size_;
  return static_cast<size_t>(std::find(listed_.begin(), listed_.end(), id) - listed_.begin());
}

bool Ids::operator==(const Ids& other) const {
  if (size_ != other.size_ || listed_.empty() != other.listed_.empty()) return false;
  return listed_.empty() ? size_ == 0 || first_ == other.first_ : listed_ == other.listed_;
}

Lags::Lags(size_t edges, std::span<const std::pair<uint32_t, Picoseconds>> lags) {
  if (lags.empty()) return;
  marks_.resize(edges / 64 + 1);
  const std::span<uint64_t> marks = marks_.edit();
  for (const auto& [edge, lag] : lags) marks[edge / 64] |= uint64_t{1} << edge % 64;
  before_.reserve(marks_.size());
  uint32_t count = 0;
  for (const uint64_t bits : marks_) {
    before_.push_back(count);
    count += static_cast<uint32_t>(std::popcount(bits));
  }
  values_.resize(count);
  const std::span<Picoseconds> values = values_.edit();
  for (const auto& [edge, lag] : lags) {
    const uint64_t below = marks_[edge / 64] & ((uint64_t{1} << edge % 64) - 1);
    values[before_[edge / 64] + static_cast<uint32_t>(std::popcount(below))] = lag;
  }
}

PackedIo::PackedIo(const Io& io, Arena& arena) {
  const size_t most = 8 * kMostVarint + io.inputs.values.size() + io.outputs.values.size();
  auto* const begin = reinterpret_cast<uint8_t*>(arena.reserve(most));
  uint8_t* at = begin;
  for (const Tensors* tensors : {&io.inputs, &io.outputs})
    for (const uint64_t number :
         {uint64_t{tensors->shapes}, uint64_t{tensors->types}, uint64_t{tensors->strides}, tensors->values.size()})
      at = put_varint(at, number);
  for (const Tensors* tensors : {&io.inputs, &io.outputs})
    at = std::copy(tensors->values.begin(), tensors->values.end(), at);
  arena.shrink(most - static_cast<size_t>(at - begin));
  at_ = begin;
}

PackedIo::operator Io() const {
  const uint8_t* at = at_;
  std::array<size_t, 2> sizes{};
  Io io;
  size_t direction = 0;
  for (Tensors* tensors : {&io.inputs, &io.outputs}) {
    for (StringId* id : {&tensors->shapes, &tensors->types, &tensors->strides})
      *id = static_cast<StringId>(take_varint(at));
    sizes[direction++] = take_varint(at);
  }
  const auto* text = reinterpret_cast<const char*>(at);
  io.inputs.values = {text, sizes[0]};
  io.outputs.values = {text + sizes[0], sizes[1]};
  return io;
}

}  // namespace chakra::trace
