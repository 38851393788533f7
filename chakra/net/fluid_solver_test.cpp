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
  return p;
}

TEST(FluidSolver, RatesAreMaxMinFair) {
  Prng random(6);
  FluidSolver solver;
  for (int trial = 0; trial < 2000; ++trial) {
    const Problem p = random_problem(random);
    std::vector<double> rate(p.flows(), -1), used(p.capacity.size(), 0), fastest(p.capacity.size(), 0);
    solver.solve(p.capacity, p.first, p.uses, {}, rate);
    for (size_t f = 0; f < p.flows(); ++f)
      for (const uint32_t l : p.links_of(f)) {
        used[l] += rate[f];
        fastest[l] = std::max(fastest[l], rate[f]);
      }
    for (size_t l = 0; l < used.size(); ++l) EXPECT_LE(used[l], p.capacity[l] * (1 + 1e-12));
    for (size_t f = 0; f < p.flows(); ++f) {
      bool has_bottleneck = false;
      for (const uint32_t l : p.links_of(f))
        has_bottleneck |= used[l] >= p.capacity[l] * (1 - 1e-12) && rate[f] >= fastest[l] * (1 - 1e-12);
      EXPECT_TRUE(has_bottleneck);
    }
    const std::vector<double> expected = fill(p);
    for (size_t f = 0; f < p.flows(); ++f) EXPECT_NEAR(rate[f], expected[f], 1e-7 * expected[f]);
  }
}

}  // namespace
}  // namespace chakra::net
