#include "chakra/analyze/message_clocks.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace chakra::analyze {
namespace {

/// A bound gets better only where clocks differ; messages that contradict each other would better it for ever.
constexpr int kMostVisits = 32;

}  // namespace

void MessageClocks::add(uint32_t sender, uint32_t receiver, double later_ns) {
  if (sender == receiver) return;
  const auto note = [&](Bounds& bounds, uint32_t first, uint32_t second) {
    Bound& bound = bounds.try_emplace({first, second}, Bound{later_ns, 0}).first->second;
    bound.least_ns = std::min(bound.least_ns, later_ns);
    ++bound.messages;
  };
  note(to_, sender, receiver);
  note(from_, receiver, sender);
}

/// The most that each clock can show, by way of messages from ranks whose clock is known.
std::vector<MessageClocks::Reached> MessageClocks::reach(const Bounds& bounds, std::span<const Offset> offsets,
                                                         double sign) {
  std::vector<Reached> reached(offsets.size(), Reached{INFINITY, 0});
  std::queue<uint32_t> todo;
  for (uint32_t rank = 0; rank < offsets.size(); ++rank)
    if (offsets[rank].this_tree && bounds.lower_bound({rank, 0}) != bounds.lower_bound({rank + 1, 0})) {
      reached[rank] = {sign * offsets[rank].ns, rank};
      todo.push(rank);
    }
  for (; !todo.empty(); todo.pop()) {
    const uint32_t rank = todo.front();
    for (auto b = bounds.lower_bound({rank, 0}); b != bounds.end() && b->first.first == rank; ++b) {
      const uint32_t other = b->first.second;
      Reached& there = reached[other];
      const double ns = reached[rank].ns + b->second.least_ns;
      if (offsets[other].known || ns >= there.ns || there.visits == kMostVisits) continue;
      there = {ns, reached[rank].from, there.visits + 1};
      todo.push(other);
    }
  }
  return reached;
}

std::optional<MessageClocks::Told> MessageClocks::next(std::span<const Offset> offsets) const {
  const std::vector<Reached> most = reach(to_, offsets, 1), least = reach(from_, offsets, -1);
  uint32_t best = 0;
  double width = INFINITY;
  for (uint32_t rank = 0; rank < offsets.size(); ++rank)
    if (const double open = std::abs(most[rank].ns + least[rank].ns); !offsets[rank].known && open < width)
      best = rank, width = open;
  if (width == INFINITY) return std::nullopt;
  const double high = most[best].ns, low = -least[best].ns;
  const uint32_t above = most[best].from, below = least[best].from;
  Told told{best, above, below, (low + high) / 2, width / 2, 0};
  for (const auto& [like, other] : {std::pair(below, above), std::pair(above, below)})
    if (const double equal = offsets[like].ns; low <= equal && equal <= high) {
      told.like = like;
      told.other = other;
      told.offset_ns = equal;
      told.uncertainty_ns = std::max(high - equal, equal - low);
    }
  for (const Bounds* bounds : {&to_, &from_})
    for (auto b = bounds->lower_bound({best, 0}); b != bounds->end() && b->first.first == best; ++b)
      told.messages += b->second.messages;
  return told;
}

}  // namespace chakra::analyze
