// Runs that need more memory than there is are refused before they begin.
#include "chakra/sim/run_size.h"

#include <gtest/gtest.h>

#include "chakra/sim/sim.h"

namespace chakra::sim {
namespace {

constexpr int64_t kRanks = 4;
constexpr uint32_t kNodes = 60'000;

SimInput job() {
  SimInput in;
  in.fabric.dimensions = {{net::TopologyKind::switch_, kRanks, 50, 500}};
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    trace::Builder b;
    b.trace.rank = rank;
    for (uint32_t n = 0; n < kNodes; ++n) b.add(n + 1, 0, trace::NodeType::comp);
    in.job.ranks.push_back(std::move(b).finish());
  }
  return in;
}

TEST(RunSize, RefusesARunThatDoesNotFit) {
  const uint64_t one_rank = uint64_t{36} * kNodes;
  SimInput folded = job();
  folded.memory = 2 * one_rank;
  EXPECT_TRUE(simulate(std::move(folded)));  // one actor

  SimInput whole = job();
  whole.fold = false;
  whole.memory = 2 * one_rank;
  const auto refused = simulate(std::move(whole));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().tag, "sim.memory");
  EXPECT_NE(refused.error().text.find("4 of 4 ranks"), std::string::npos) << refused.error().text;
  EXPECT_NE(refused.error().text.find("240,000 nodes"), std::string::npos) << refused.error().text;
  EXPECT_NE(refused.error().text.find("--no-fold"), std::string::npos) << refused.error().text;

  SimInput enough = job();
  enough.fold = false;
  enough.memory = 5 * one_rank;
  EXPECT_TRUE(simulate(std::move(enough)));
}

TEST(RunSize, NamesTheRankThatDiffers) {
  SimInput in = job();
  in.system.unlike[2].speed = 0.5;
  in.memory = uint64_t{36} * kNodes * 3 / 2;
  const auto refused = simulate(std::move(in));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().tag, "sim.memory");
  EXPECT_NE(refused.error().text.find("2 of 4 ranks"), std::string::npos) << refused.error().text;
  EXPECT_NE(refused.error().text.find("rank 2 has"), std::string::npos) << refused.error().text;
  EXPECT_NE(refused.error().text.find("--dp"), std::string::npos) << refused.error().text;
}

TEST(RunSize, GrowsWithTheActors) {
  SimInput in = job();
  const trace::ClassJob classes = trace::by_class(std::move(in.job));
  const RunSize one = size_of_run(classes, {0, 0, 0, 0}), three = size_of_run(classes, {0, 1, 0, 2});
  EXPECT_EQ(one.actors, 1);
  EXPECT_EQ(one.nodes, kNodes);
  EXPECT_EQ(three.ranks, kRanks);
  EXPECT_EQ(three.bytes(), 3 * one.bytes());
  EXPECT_GT(three.seconds(), 3 * one.seconds());
}

}  // namespace
}  // namespace chakra::sim
