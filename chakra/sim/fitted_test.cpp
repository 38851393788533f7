// Collectives that take what the network file's fits say.
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/sim/sim.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::sim {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::testing::Job;

/// An all-reduce of four ranks takes 5 us and 1 ns a byte, whatever the links are.
net::Fabric fabric(bool fitted) {
  net::Fabric f{{{net::TopologyKind::switch_, 4, 1, 1000}}};
  if (!fitted) return f;
  net::CollectiveFit fit;
  fit.form = net::find_collective_form("all_reduce", "nvls");
  fit.ranks = {4};
  fit.to_bytes = 1 << 20;
  fit.error_percent = 3;
  fit.protocols.push_back({"all", 5000, 0, 1e9 / 1073741824.0, 0, {}});
  f.fits.push_back(fit);
  return f;
}

/// Rank r comes after r us; then all of them at once.
SimInput input(bool fitted) {
  Job job(4);
  for (size_t r = 0; r < 4; ++r) {
    const NodeId first = job.compute(r, static_cast<Picoseconds>(r + 1) * 1'000'000);
    const NodeId reduce = job.collective(r, CommType::all_reduce, 1000, {first});
    job.collective(r, CommType::all_reduce, 2000, {reduce});
  }
  SimInput in;
  in.job = job.finish();
  in.fabric = fabric(fitted);
  return in;
}

bool has(const SimReport& report, std::string_view tag) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) { return f.tag == tag; });
}

TEST(Fitted, CollectivesEndTogetherThatLongAfterTheLastHasCome) {
  for (const bool fold : {true, false}) {
    SimInput in = input(true);
    in.fold = fold;
    const auto report = simulate(std::move(in));
    ASSERT_TRUE(report) << report.error().message();
    for (const RankReport& r : report->ranks) EXPECT_EQ(r.finish_ps, 4'000'000 + 6'000'000 + 7'000'000);
    ASSERT_EQ(report->collectives.size(), 2u);
    ASSERT_TRUE(report->collectives[0].fitted);
    EXPECT_EQ(report->collectives[0].total_ps, 6'000'000);
    EXPECT_EQ(report->collectives[0].wait_ps, 3'000'000);
    EXPECT_EQ(report->collectives[0].fitted->algorithm, "nvls");
    EXPECT_EQ(report->collectives[0].fitted->error_percent, 3);
    EXPECT_TRUE(has(*report, "sim.fitted.error"));
    EXPECT_FALSE(has(*report, "sim.fitted.beyond"));
  }
}

TEST(Fitted, RulesAndSharedLinksGoBeforeThem) {
  const auto makespan = [](SimInput in) { return simulate(std::move(in))->makespan_ps; };
  for (const Congestion congestion : {Congestion::closed, Congestion::fluid}) {
    SimInput with = input(true), without = input(false);
    for (SimInput* in : {&with, &without}) {
      in->congestion = congestion;
      if (congestion == Congestion::closed) in->collectives = *coll::parse_selection("allreduce: ring");
    }
    EXPECT_EQ(makespan(std::move(with)), makespan(std::move(without)));
  }
  SimInput shared = input(true);
  shared.congestion = Congestion::fluid;
  EXPECT_TRUE(has(*simulate(std::move(shared)), "sim.fitted.not_used"));
}

TEST(Burst, IsForFluidCongestionAlone) {
  for (const Congestion congestion : {Congestion::closed, Congestion::fluid, Congestion::packet}) {
    SimInput with = input(false), without = input(false);
    with.congestion = without.congestion = congestion;
    with.fabric.burst_bytes = 1e4;
    const auto a = simulate(std::move(with)), b = simulate(std::move(without));
    ASSERT_TRUE(a && b);
    EXPECT_EQ(has(*a, "sim.burst.not_used"), congestion != Congestion::fluid);
    if (congestion == Congestion::fluid) EXPECT_LT(a->makespan_ps, b->makespan_ps);
    else EXPECT_EQ(a->makespan_ps, b->makespan_ps);
  }
}

}  // namespace
}  // namespace chakra::sim
