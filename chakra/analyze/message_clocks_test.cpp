// Clocks that only messages tell: random jobs whose clocks are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "chakra/analyze/message_clocks.h"
#include "chakra/base/base.h"

namespace chakra::analyze {
namespace {

using Offset = MessageClocks::Offset;

/// The offsets of all ranks that messages tell against rank 0, with what they are uncertain by; NaN: not told.
std::vector<std::pair<double, double>> told(const MessageClocks& clocks, size_t ranks) {
  std::vector<Offset> offsets(ranks);
  std::vector<std::pair<double, double>> out(ranks, {NAN, NAN});
  offsets[0] = {true, true, 0};
  out[0] = {0, 0};
  while (const auto next = clocks.next(offsets)) {
    EXPECT_FALSE(offsets[next->rank].known);
    offsets[next->rank] = {true, true, next->offset_ns};
    out[next->rank] = {next->offset_ns,
                       next->uncertainty_ns + std::max(out[next->like].second, out[next->other].second)};
  }
  return out;
}

TEST(MessageClocks, ARingBoundsAllOfItsRanks) {
  MessageClocks clocks;
  for (uint32_t r = 0; r < 4; ++r) clocks.add(r, (r + 1) % 4, 1'000);
  for (const auto& [offset, uncertain] : told(clocks, 4)) {
    EXPECT_EQ(offset, 0);  // nothing speaks against it
    EXPECT_LE(uncertain, 8'000);
  }
  // Rank 2 is 10 us ahead: its receive seems to end late, and that of its message before it was sent.
  MessageClocks ahead;
  ahead.add(0, 1, 1'000);
  ahead.add(1, 2, 11'000);
  ahead.add(2, 3, -9'000);
  ahead.add(3, 0, 1'000);
  const auto found = told(ahead, 4);
  EXPECT_EQ(found[1].first, 0);
  EXPECT_EQ(found[3].first, 0);
  EXPECT_NEAR(found[2].first, 10'000, found[2].second);
}

TEST(MessageClocks, OneWayTellsNothing) {
  MessageClocks clocks;
  clocks.add(0, 1, 1'000);
  clocks.add(1, 2, 1'000);
  clocks.add(2, 2, -1'000);  // to itself
  EXPECT_FALSE(clocks.next(std::vector<Offset>{{true, true, 0}, {}, {}}));
  clocks.add(2, 0, 1'000);
  EXPECT_TRUE(clocks.next(std::vector<Offset>{{true, true, 0}, {}, {}}));
  // Of a rank whose clock is known against another reference only.
  EXPECT_FALSE(clocks.next(std::vector<Offset>{{true, false, 0}, {}, {}}));
}

TEST(MessageClocks, ContradictionsEnd) {
  MessageClocks clocks;
  for (uint32_t r = 0; r < 5; ++r) clocks.add(r, (r + 1) % 5, -1'000);
  for (const auto& [offset, uncertain] : told(clocks, 5)) EXPECT_TRUE(std::isfinite(offset));
}

TEST(MessageClocks, AnyTruthLiesWithinTheUncertainty) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Prng random(seed);
    const auto ranks = static_cast<uint32_t>(2 + random.below(7));
    std::vector<double> truth(ranks, 0);
    for (uint32_t r = 1; r < ranks; ++r) truth[r] = random.chance(0.5) ? 0 : static_cast<double>(random.below(100'000));
    MessageClocks clocks;
    const auto send = [&](uint32_t from, uint32_t to) {
      clocks.add(from, to, truth[to] - truth[from] + 500 + static_cast<double>(random.below(3'000)));
    };
    for (uint32_t r = 0; r < ranks; ++r) send(r, (r + 1) % ranks);
    for (uint64_t i = 0; i < random.below(20); ++i)
      send(static_cast<uint32_t>(random.below(ranks)), static_cast<uint32_t>(random.below(ranks)));
    const auto found = told(clocks, ranks);
    for (uint32_t r = 0; r < ranks; ++r)
      EXPECT_NEAR(found[r].first, truth[r], found[r].second + 1e-6) << "seed " << seed << ", rank " << r;
  }
}

}  // namespace
}  // namespace chakra::analyze
