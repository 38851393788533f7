// From an algorithm's blocks to the plan: the bytes of each round's transfers.
#include "chakra/coll/algorithms.h"

namespace chakra::coll {
namespace {

/// A round from the blocks that move in it; what is sent to the same member stands together in `moves`.
void count_bytes(const Outline& o, std::span<const Move> moves, std::vector<Transfer>& list) {
  for (const Move& move : moves) {
    uint64_t bytes = 0;
    if (o.splits.empty()) bytes = multiply_bytes(move.count, o.unit_bytes);
    else
      for (uint64_t i = 0; i < move.count; ++i) bytes = add_bytes(bytes, unit_bytes(o, move.block + i * move.step));
    if (!list.empty() && list.back().from == move.from && list.back().to == move.to)
      list.back().bytes = add_bytes(list.back().bytes, bytes);
    else list.push_back({move.from, move.to, bytes});
  }
}

}  // namespace

uint64_t unit_bytes(const Outline& outline, uint64_t unit) {
  return outline.splits.empty() ? outline.unit_bytes : outline.splits[unit];
}

bool AlgorithmRow::can(const Operation& op, const Place& place) const {
  if (!does(op.type) || (!op.splits.empty() && !splits)) return false;
  if (program) return misfit(*program, op, place.members()).empty();
  switch (needs) {
    case Needs::nothing: return true;
    case Needs::grid: return grid_of(place).size() >= 2;
    case Needs::nodes: return !nodes_of(place).empty();
    case Needs::reduction: return switch_traffic(op.type, place).has_value();
    case Needs::grid_reduction: return reduces_in_grid(place);
  }
  return false;
}

Plan AlgorithmRow::plan(const Operation& op, const Place& place) const {
  CHAKRA_ASSERT(can(op, place));
  CHAKRA_ASSERT(!trace::has_root(op.type) || op.root < place.members());
  if (place.members() < 2) return {place.members(), 1, {}};
  if (program) return scaled(*program, op);
  const Outline o = outline(op, place);
  CHAKRA_ASSERT(o.members == place.members());
  Plan plan{o.members, o.lanes, {}};
  plan.rounds.resize(o.rounds);
  std::vector<Move> moves;
  std::vector<Transfer> of_member_0;
  for (uint32_t k = 0; k < o.rounds; ++k) {
    Round& head = plan.rounds[k];
    moves.clear();
    round(o, k, o.splits.empty() ? 1 : o.members, head, moves);
    if (head.extent == 0 || !o.splits.empty()) {
      count_bytes(o, moves, head.list);
      if (!o.splits.empty()) std::erase_if(head.list, [](const Transfer& t) { return t.bytes == 0; });
      head.stride = 1;
      head.extent = 0;
      continue;
    }
    of_member_0.clear();
    count_bytes(o, moves, of_member_0);
    head.shifts = static_cast<uint32_t>(of_member_0.size());
    head.shift = of_member_0[0].to / head.stride;
    head.apart = head.shifts < 2 ? 1 : of_member_0[1].to / head.stride - head.shift;
    head.bytes = of_member_0[0].bytes;
    if (head.extent == o.members) head.extent = 0;
    if (traffic) traffic(o, k, head);
  }
  assert_whole(plan);
  return plan;
}

void assert_whole(const Plan& plan) {
  CHAKRA_ASSERT(plan.behind.empty() || plan.behind.size() == plan.rounds.size());
  for (uint32_t k = 0; k < plan.rounds.size(); ++k) {
    const Round& round = plan.rounds[k];
    CHAKRA_ASSERT(round.lane < plan.lanes);
    CHAKRA_ASSERT(round.after < static_cast<int64_t>(k));  // a round waits for earlier ones only
    for (const int32_t wait : plan.waits(k))
      CHAKRA_ASSERT(wait >= 0 && wait < static_cast<int64_t>(k) &&
                    plan.rounds[static_cast<size_t>(wait)].lane != round.lane);
    CHAKRA_ASSERT_SLOW(std::all_of(round.list.begin(), round.list.end(), [&](const Transfer& t) {
      return t.from < plan.members && t.to < plan.members && t.from != t.to;
    }));
  }
}

std::vector<Move> AlgorithmRow::moves(const Operation& op, const Place& place, uint32_t k) const {
  const Outline o = outline(op, place);
  CHAKRA_ASSERT(k < o.rounds);
  std::vector<Move> moves;
  Round head;
  round(o, k, o.members, head, moves);
  return moves;
}

}  // namespace chakra::coll
