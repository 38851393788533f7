#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "chakra/sim/sim.h"
#include "chakra/sim/testing/congested_jobs.h"

namespace chakra::sim {
namespace {

TEST(Congestion, Harness) {
  const char* given = std::getenv("CHAKRA_TEST_CONGESTED");
  const int rounds = given ? std::atoi(given) : 40;
  for (int seed = 0; seed < rounds; ++seed) {
    testing::CongestedJob a(static_cast<uint64_t>(seed)), b(static_cast<uint64_t>(seed));
    SimInput in = a.make();
    auto closed = simulate(std::move(in));
    SimInput shared = b.make();
    shared.congestion = Congestion::fluid;
    auto fluid = simulate(std::move(shared));
    if (!closed || !fluid) {
      fmt::print("{} FAILED {} {}\n", seed, a.name(), closed ? fluid.error().message() : closed.error().message());
      continue;
    }
    const double c = static_cast<double>(closed->makespan_ps), f = static_cast<double>(fluid->makespan_ps);
    fmt::print("{:4} truth {:7.2f} % predicted {:7.2f} %  {}  {}\n", seed, (f / c - 1) * 100,
               100 * static_cast<double>(closed->sharing.longer_ps) / c, a.name(),
               closed->sharing.links.empty() ? "" : closed->sharing.links[0].name);
  }
}

}  // namespace
}  // namespace chakra::sim
