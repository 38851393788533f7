// Experts that are not chosen equally often: shares by Zipf's law, and steps in which ranks do different work.
#include "chakra/gen/skew.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "chakra/base/real.h"
#include "chakra/gen/gen.h"

namespace chakra::gen {
namespace {

using model::Experts, model::find_model;

Experts experts(int64_t count, int64_t active) {
  Experts e;
  e.count = count;
  e.active = active;
  return e;
}
int64_t sum(const std::vector<int64_t>& v) { return std::accumulate(v.begin(), v.end(), int64_t{0}); }

TEST(Skew, SharesFollowZipf) {
  // One active expert: no limit. The parts, largest first, are those of 1, 1/2, 1/3, 1/4 within one.
  const std::vector<int64_t> parts = choices_by_place(experts(4, 1), 100'000, 4, {1, 7}, 3);
  std::multiset<int64_t, std::greater<>> sorted(parts.begin(), parts.end());
  const double all = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0;
  double r = 1;
  for (const int64_t part : sorted) EXPECT_NEAR(real(part), 100'000 / r++ / all, 1);
  EXPECT_EQ(sum(parts), 100'000);
  EXPECT_EQ(choices_by_place(experts(4, 1), 100'000, 4, {1, 7}, 3), parts);
}

TEST(Skew, ATokenTakesAnExpertOnce) {
  for (const double exponent : {0.0, 0.5, 2.0, 100.0})
    for (const int64_t active : {1, 2, 3, 8}) {
      const int64_t tokens = 1000;
      const std::vector<int64_t> parts = choices_by_place(experts(8, active), tokens * active, 8, {exponent, 0}, 0);
      EXPECT_EQ(sum(parts), tokens * active);
      for (const int64_t part : parts) {
        EXPECT_LE(part, tokens);
        EXPECT_GE(part, 0);
        if (exponent == 0) EXPECT_EQ(part, tokens * active / 8);
      }
      // Extremely skewed: all tokens take the same experts.
      if (exponent == 100) EXPECT_EQ(std::count(parts.begin(), parts.end(), tokens), active);
    }
}

TEST(Skew, PlacesAddUpTheirExperts) {
  const Experts e = experts(12, 2);
  const std::vector<int64_t> fine = choices_by_place(e, 999, 12, {1.2, 5}, 4),
                             coarse = choices_by_place(e, 999, 3, {1.2, 5}, 4);
  for (size_t p = 0; p < 3; ++p)
    EXPECT_EQ(coarse[p], std::accumulate(fine.begin() + 4 * static_cast<long>(p),
                                         fine.begin() + 4 * static_cast<long>(p + 1), int64_t{0}));
  EXPECT_NE(fine, choices_by_place(e, 999, 12, {1.2, 6}, 4));
  EXPECT_NE(fine, choices_by_place(e, 999, 12, {1.2, 5}, 5));
}

StepOptions mixtral() {
  StepOptions o;
  o.model = find_model("mixtral-8x7b")->model;
  o.tp = 2;
  o.dp = 4;
  o.pp = 2;
  o.ep = 4;
  o.etp = 1;
  o.micro_batches = 2;
  o.sequence = 4096;
  o.model.layers.resize(4, 0);
  return o;
}

TEST(Skew, WorkIsDealtOutAsTokensAre) {
  StepOptions o = mixtral();
  const trace::ClassJob even = *step(o);
  const StepStats before = *stats(o, even);
  o.expert_skew = 1;
  o.seed = 3;
  const trace::ClassJob job = *step(o);
  const StepStats after = *stats(o, job);
  ASSERT_EQ(even.classes.size(), 2U);
  ASSERT_EQ(job.classes.size(), 8U);
  EXPECT_NEAR(after.operations / before.operations, 1, 1e-12);  // the same work, at other places
  const Experts& e = *o.model.blocks[0].experts;
  const int64_t choices = 4096 / 2 * e.active;
  for (size_t c = 0; c < job.classes.size(); ++c) {
    const trace::Trace& t = job.classes[c];
    const auto stage = static_cast<int64_t>(c / 4), place = static_cast<int64_t>(c % 4);
    EXPECT_EQ(job.ranks[static_cast<size_t>(t.rank)].cls, c);
    const Communication* all_to_all = nullptr;
    for (const Communication& m : after.classes[c].communication)
      if (m.group == "ep") all_to_all = &m;
    ASSERT_TRUE(all_to_all);
    double buffers = 0, wire = 0;
    for (int64_t layer = 2 * stage; layer < 2 * stage + 2; ++layer) {
      const std::vector<int64_t> parts = choices_by_place(e, choices, 4, {1, 3}, layer);
      const double mine = real(parts[static_cast<size_t>(place)]), token = 4096 * 2.0;  // bytes
      // Two micro-batches, forward and backward: to the experts and back.
      buffers += 2 * 2 * 2 * token * std::max(real(choices), 4 * mine);
      wire += 2 * 2 * token * ((real(choices) - mine) + 3 * mine);
    }
    EXPECT_DOUBLE_EQ(all_to_all->bytes, buffers);
    EXPECT_DOUBLE_EQ(all_to_all->wire_bytes, wire);
    EXPECT_EQ(all_to_all->count, 2 * 2 * 2 * 2);
  }
}

TEST(Skew, OptionsWithoutEffectAreRefused) {
  StepOptions o = mixtral();
  o.seed = 1;
  EXPECT_EQ(step(o).error().tag, "gen.step.divide");
  o.expert_skew = 1;
  EXPECT_TRUE(step(o));
  o.expert_skew = -1;
  EXPECT_EQ(step(o).error().tag, "gen.step.range");
  o.expert_skew = std::nan("");
  EXPECT_EQ(step(o).error().tag, "gen.step.range");
  o.expert_skew = 1;
  o.ep = 1;
  EXPECT_EQ(step(o).error().tag, "gen.step.divide");
}

}  // namespace
}  // namespace chakra::gen
