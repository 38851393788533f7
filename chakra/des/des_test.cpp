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

}  // namespace
}  // namespace chakra::des
