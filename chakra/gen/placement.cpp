#include "chakra/gen/placement.h"

namespace chakra::gen {

Move move(Placement from, Placement to) {
  using trace::CommType;
  constexpr Move nothing{true, std::nullopt}, never{false, std::nullopt};
  constexpr std::array<std::array<Move, 3>, 3> table{{
      // to replicated, sharded, partial
      {nothing, nothing, never},                                                      // from replicated
      {Move{true, CommType::all_gather}, {true, CommType::all_to_all}, never},        // from sharded
      {Move{true, CommType::all_reduce}, {true, CommType::reduce_scatter}, nothing},  // from partial
  }};
  if (from == to) return nothing;
  return table[static_cast<size_t>(from.kind)][static_cast<size_t>(to.kind)];
}

}  // namespace chakra::gen
