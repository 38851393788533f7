// Fair rates.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/net/fluid_solver.h"
#include "chakra/net/testing/fair_rates.h"

namespace chakra::net {
namespace {

using testing::fill;
using testing::Problem;

Problem random_problem(Prng& random) {
  Problem p;
  const auto links = static_cast<uint32_t>(random.between(1, 12));
  for (uint32_t l = 0; l < links; ++l)
    p.capacity.push_back(random.chance(0.5) ? 100 : static_cast<double>(random.between(1, 1000)));
  for (int64_t f = random.between(0, 30); f-- > 0;) {
    std::set<uint32_t> chosen;
    for (int64_t k = random.between(1, 4); k-- > 0;) chosen.insert(static_cast<uint32_t>(random.below(links)));
    p.uses.insert(p.uses.end(), chosen.begin(), chosen.end());
    p.first.push_back(static_cast<uint32_t>(p.uses.size()));
  }
  if (random.chance(0.5))
    for (size_t i = 0; i < p.uses.size(); ++i)
      p.parts.push_back(random.chance(0.5) ? 1 / static_cast<double>(random.between(1, 16))
                                           : static_cast<double>(random.between(1, 200)));
  return p;
}

TEST(FluidSolver, RatesAreMaxMinFair) {
  Prng random(6);
  FluidSolver solver;
  for (int trial = 0; trial < 2000; ++trial) {
    const Problem p = random_problem(random);
    const double rounding = p.parts.empty() ? 1e-12 : 1e-9;
    std::vector<double> rate(p.flows(), -1), used(p.capacity.size(), 0), fastest(p.capacity.size(), 0);
    solver.solve(p.capacity, p.first, p.uses, p.parts, rate);
    for (size_t f = 0; f < p.flows(); ++f)
      p.each(f, [&](uint32_t l, double part) {
        used[l] += rate[f] * part;
        fastest[l] = std::max(fastest[l], rate[f]);
      });
    for (size_t l = 0; l < used.size(); ++l) EXPECT_LE(used[l], p.capacity[l] * (1 + rounding));
    for (size_t f = 0; f < p.flows(); ++f) {
      bool has_bottleneck = false;
      for (const uint32_t l : p.links_of(f))
        has_bottleneck |= used[l] >= p.capacity[l] * (1 - rounding) && rate[f] >= fastest[l] * (1 - rounding);
      EXPECT_TRUE(has_bottleneck);
    }
    const std::vector<double> expected = fill(p);
    for (size_t f = 0; f < p.flows(); ++f) EXPECT_NEAR(rate[f], expected[f], 1e-7 * expected[f]);
  }
}

}  // namespace
}  // namespace chakra::net
