#include "chakra/replay_fabric/units.h"

#include <algorithm>
#include <cstring>

#include "chakra/replay/replay.h"

namespace chakra::replay_fabric {

using trace::CommType;

namespace {

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (const size_t bytes = std::min(from.size(), to.size())) std::memcpy(to.data(), from.data(), bytes);
}

/// Bytes of the part that belongs to each member: whole elements, the last parts may be shorter.
uint64_t part_bytes(const replay::Operation& o) {
  const uint64_t element = o.type == CommType::scatter ? 1 : replay::element_of(o.dtype).bytes;
  const uint64_t count = o.in_bytes / element, n = o.members.size();
  return (count / n + (count % n != 0)) * element;
}

}  // namespace

bool Units::gathers() const { return operation_.type == CommType::all_gather || operation_.type == CommType::gather; }

Units::Units(const replay::Operation& operation, const UnitLayout& layout) : operation_(operation), layout_(layout) {
  CHAKRA_ASSERT(operation.kind == replay::Operation::Kind::collective && operation.type != CommType::barrier);
  const bool reduced = operation.type == CommType::all_reduce || operation.type == CommType::reduce ||
                       operation.type == CommType::broadcast;
  if (!reduced) per_member_ = layout.units / n() / (all_to_all() ? n() : 1);
  if (all_to_all()) {
    parts_.resize(layout.units);
    exchange(true);
    return;
  }
  work_in(layout.units * layout.unit_bytes);
  const uint64_t of_member = per_member_ * layout.unit_bytes;
  if (gathers()) {
    copy(operation.in, {block(operation.place), of_member});
    return;
  }
  if (per_member_ == 0) {
    if (whole_.data() != operation.in.data()) copy(operation.in, whole_);
    return;
  }
  const uint64_t part = part_bytes(operation);
  for (uint32_t j = 0; j < n() && j * part < operation.in.size(); ++j)
    copy(operation.in.subspan(j * part, std::min<uint64_t>(part, operation.in.size() - j * part)),
         {block(j), of_member});
}

/// Work in the output if all of it are units, or in the input if that is only sent; else in separate memory.
void Units::work_in(uint64_t bytes) {
  const std::span<std::byte> out = operation_.out;
  const bool whole = per_member_ == 0 || gathers();
  if (whole && bytes > 0 && out.size() == bytes) {
    whole_ = out;
    return;
  }
  if (operation_.type == CommType::broadcast && operation_.place == operation_.root && operation_.in.size() == bytes) {
    // Of a broadcast the root's units are only read.
    whole_ = {const_cast<std::byte*>(operation_.in.data()), bytes};
    return;
  }
  own_ = std::make_unique<std::byte[]>(bytes);
  whole_ = {own_.get(), bytes};
}

std::span<std::byte> Units::at(uint64_t unit) {
  CHAKRA_ASSERT(unit < layout_.units);
  const uint64_t bytes = layout_.bytes(unit);
  if (all_to_all()) {
    if (!parts_[unit]) parts_[unit] = std::make_unique<std::byte[]>(bytes);
    return {parts_[unit].get(), bytes};
  }
  // Blocks that belong to members stand in the order of the operation's members.
  if (per_member_ > 0 && !layout_.order.empty())
    return {block(layout_.member(static_cast<uint32_t>(unit / per_member_))) + unit % per_member_ * bytes, bytes};
  return {whole_.data() + unit * bytes, bytes};
}

void Units::pieces_of(const coll::Move& move, std::vector<std::span<std::byte>>& pieces) {
  for (uint64_t i = 0; i < move.count; ++i) {
    const std::span<std::byte> piece = at(move.block + i * move.step);
    if (piece.empty()) continue;
    if (i > 0 && !pieces.empty() && pieces.back().data() + pieces.back().size() == piece.data())
      pieces.back() = {pieces.back().data(), pieces.back().size() + piece.size()};
    else pieces.push_back(piece);
  }
}

/// Between units of all-to-alls and the memory of the operation: what this member sends each one, or gets from each.
void Units::exchange(bool from_input) {
  std::vector<uint32_t> plan_of(n());  // the plan's member that stands for a member of the operation
  for (uint32_t p = 0; p < n(); ++p) plan_of[layout_.member(p)] = p;
  const uint64_t me = plan_of[operation_.place];
  const std::span<const uint64_t> split = from_input ? operation_.in_split : operation_.out_split;
  const uint64_t even = (from_input ? operation_.in_bytes : operation_.out_bytes) / n();
  uint64_t begin = 0;
  for (uint32_t j = 0; j < n(); ++j) {
    const uint64_t other = plan_of[j], bytes = split.empty() ? even : split[j];
    const uint64_t first = (from_input ? me * n() + other : other * n() + me) * per_member_;
    uint64_t done = 0;
    for (uint64_t k = 0; k < per_member_ && done < bytes; ++k) {
      const std::span<std::byte> unit = at(first + k);
      const uint64_t count = std::min<uint64_t>(unit.size(), bytes - done);
      if (from_input) copy(operation_.in.subspan(begin + done, count), unit);
      else copy(unit.first(count), operation_.out.subspan(begin + done, count));
      done += count;
    }
    begin += bytes;
  }
}

void Units::deliver() {
  const std::span<std::byte> out = operation_.out;
  if (out.empty()) return;
  const uint64_t of_member = per_member_ * layout_.unit_bytes;
  if (all_to_all()) return exchange(false);
  if (gathers()) {
    if (whole_.data() == out.data()) return;
    const uint64_t each = operation_.in_bytes;
    for (uint32_t j = 0; j < n() && j * each < out.size(); ++j) copy({block(j), each}, out.subspan(j * each));
  } else if (per_member_ > 0) {
    copy({block(operation_.place), of_member}, out);
  } else if (whole_.data() != out.data()) {
    copy(whole_, out);
  }
  const bool sums = operation_.type == CommType::all_reduce || operation_.type == CommType::reduce ||
                    operation_.type == CommType::reduce_scatter || operation_.type == CommType::reduce_scatter_block;
  if (sums && operation_.reduce == replay::ReduceOp::average) replay::element_of(operation_.dtype).divide(out, n());
}

}  // namespace chakra::replay_fabric
