// From an algorithm's blocks to what one member of the plan does.
#include "chakra/coll/algorithms.h"

namespace chakra::coll {
namespace {

/// Adds a move to the transfer with the other member.
void add_move(const Outline& o, const Move& move, uint32_t other, std::vector<PartTransfer>& transfers) {
  auto transfer =
      std::find_if(transfers.begin(), transfers.end(), [&](const PartTransfer& t) { return t.other == other; });
  if (transfer == transfers.end()) transfer = transfers.insert(transfers.end(), {other, 0, {}});
  transfer->moves.push_back(move);
  if (o.splits.empty()) transfer->bytes = add_bytes(transfer->bytes, multiply_bytes(move.count, o.unit_bytes));
  else
    for (uint64_t i = 0; i < move.count; ++i)
      transfer->bytes = add_bytes(transfer->bytes, unit_bytes(o, move.block + i * move.step));
}

}  // namespace

std::vector<Part> parts_of(const AlgorithmRow& row, const Operation& op, const Place& place, uint32_t member) {
  CHAKRA_ASSERT(row.can(op, place) && member < place.members());
  std::vector<Part> parts;
  if (place.members() < 2) return parts;
  const Outline o = row.outline(op, place);
  std::vector<uint32_t> lane_of(o.rounds);
  std::vector<int32_t> last(o.lanes, -1);
  Moves moves;
  for (uint32_t k = 0; k < o.rounds; ++k) {
    Round head;
    moves.clear();
    row.round(o, k, o.members, head, moves);
    lane_of[k] = head.lane;
    Part part{k, head.lane, last[head.lane], -1, {}, {}};
    // The lane that it waits for has its last round so far at `after`.
    if (head.after >= 0) part.after = last[lane_of[static_cast<size_t>(head.after)]];
    for (const Move& move : moves) {
      if (move.from == member) add_move(o, move, move.to, part.sends);
      if (move.to == member) add_move(o, move, move.from, part.receives);
    }
    if (!o.splits.empty())
      for (std::vector<PartTransfer>* side : {&part.sends, &part.receives})
        std::erase_if(*side, [](const PartTransfer& t) { return t.bytes == 0; });
    if (part.sends.empty() && part.receives.empty()) continue;
    last[head.lane] = static_cast<int32_t>(parts.size());
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace chakra::coll
