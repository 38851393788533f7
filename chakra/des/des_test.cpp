#include "chakra/des/des.h"

#include <gtest/gtest.h>

#include <map>

namespace chakra::des {
namespace {

TEST(EventQueue, ByTimeThenByOrder) {
  EventQueue<int> queue;
  std::multimap<Picoseconds, int> expected;  // keeps insertion order among equal keys
  Prng random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto time = queue.now() + static_cast<Picoseconds>(random.below(20));
    queue.push(time, i);
    expected.emplace(time, i);
    if (random.chance(0.5)) {
      EXPECT_EQ(queue.next_time(), expected.begin()->first);
      EXPECT_EQ(queue.pop(), expected.begin()->second);
      EXPECT_EQ(queue.now(), expected.begin()->first);
      expected.erase(expected.begin());
    }
  }
  for (; !queue.empty(); expected.erase(expected.begin())) EXPECT_EQ(queue.pop(), expected.begin()->second);
  EXPECT_TRUE(expected.empty());
}

/// Times of all magnitudes, many of them equal, and pushes between a look at the next time and the pop.
TEST(EventQueue, TimesNearAndFar) {
  Prng random(2);
  for (int trial = 0; trial < 200; ++trial) {
    EventQueue<int> queue;
    std::multimap<Picoseconds, int> expected;
    const int magnitude = static_cast<int>(random.between(0, 60));
    for (int i = 0; i < 1000; ++i) {
      const auto apart = static_cast<Picoseconds>(random.next() >> random.between(63 - magnitude, 63));
      const Picoseconds time = random.chance(0.2) ? queue.now() : add_saturated(queue.now(), apart);
      queue.push(time, i);
      expected.emplace(time, i);
      ASSERT_EQ(queue.size(), expected.size());
      ASSERT_EQ(queue.next_time(), expected.begin()->first);
      if (random.chance(0.6)) {
        ASSERT_EQ(queue.pop(), expected.begin()->second);
        ASSERT_EQ(queue.now(), expected.begin()->first);
        expected.erase(expected.begin());
      }
      if (queue.empty()) {
        queue.push(queue.now(), -1);
        expected.emplace(queue.now(), -1);
      }
    }
  }
}

}  // namespace
}  // namespace chakra::des
