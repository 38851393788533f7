// Switches that reduce, with messages that share links.
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/sim/alone.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::sim {
namespace {

using trace::CommType;

constexpr uint64_t kBytes = 64 << 20;

net::Fabric parse(const std::string& text) { return *net::parse_fabric(*parse_spec(text, "net.yml")); }

TEST(InNetwork, SharedLinksTakeTheClosedTime) {
  const std::string star = "topology: [Switch]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n";
  for (const std::string& text :
       {star + "reduction: [{bandwidth: 80, latency: 900}]\n", star + "reduction: [{bandwidth: 30, latency: 900}]\n",
        std::string("topology: FatTree\ndown: [4, 2]\nup: [1, 2]\nbandwidth: [50, 20]\nlatency: 500\n"
                    "reduction: {bandwidth: 80, latency: 900}\n")}) {
    const net::Fabric fabric = parse(text);
    const std::vector<int64_t> ranks{0, 1, 2, 3, 4, 5, 6, 7};
    for (const CommType type : {CommType::all_reduce, CommType::reduce_scatter, CommType::all_gather}) {
      const coll::Place place{&fabric, ranks};
      const coll::Plan plan = coll::find_algorithm("in_network")->plan({type, kBytes, 0, {}}, place);
      const auto closed = static_cast<double>(coll::price(plan, place).together_ps);
      EXPECT_NEAR(static_cast<double>(time_alone(fabric, Congestion::fluid, plan, {}, ranks, 0)), closed, 10) << text;
      // Packets of 4 KiB are stored and forwarded.
      const auto packets = static_cast<double>(time_alone(fabric, Congestion::packet, plan, {}, ranks, 0));
      EXPECT_GE(packets, 0.999 * closed) << text;
      EXPECT_LE(packets, 1.01 * closed) << text;
    }
  }
}

TEST(InNetwork, AllWaitForTheLastMember) {
  for (const Congestion congestion : {Congestion::closed, Congestion::fluid, Congestion::packet}) {
    trace::testing::Job job(4);
    for (size_t r = 0; r < 4; ++r)
      job.collective(r, CommType::all_reduce, kBytes,
                     {job.compute(r, static_cast<Picoseconds>(r + 1) * 1'000'000'000)});
    SimInput in;
    in.job = job.finish();
    in.fabric = parse(
        "topology: [Switch]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\nreduction: [{bandwidth: 50, latency: "
        "900}]\n");
    in.collectives = *coll::parse_selection("allreduce: in_network");
    in.congestion = congestion;
    const auto report = simulate(std::move(in));
    ASSERT_TRUE(report) << report.error().message();
    const double must = 4e9 + 2e6 + 0.9e6 + static_cast<double>(kBytes) * 1.25 / (50 * 1073741824.0) * 1e12;
    for (const RankReport& r : report->ranks)
      EXPECT_NEAR(static_cast<double>(r.finish_ps), must, congestion == Congestion::packet ? 1e6 : 10);
  }
}

/// What the shipped file says of its switches against what it says was measured.
TEST(InNetwork, TheShippedH100FilePredictsItsMeasurements) {
  const auto fabric = net::load_fabric("examples/networks/measured_8xh100.yml");
  ASSERT_TRUE(fabric) << fabric.error().message();
  const std::vector<int64_t> ranks{0, 1, 2, 3, 4, 5, 6, 7};
  const coll::Place place{&*fabric, ranks};
  for (uint64_t bytes = uint64_t{32} << 20; bytes <= uint64_t{16} << 30; bytes *= 2) {
    const coll::Operation op{CommType::all_reduce, bytes, 0, {}};
    const auto measured = coll::fitted_time(op, place);
    ASSERT_TRUE(measured);
    const coll::Plan plan = coll::find_algorithm("in_network")->plan(op, place);
    EXPECT_NEAR(static_cast<double>(coll::price(plan, place).together_ps) / (measured->ns * 1e3), 1, 0.045) << bytes;
  }
}

}  // namespace
}  // namespace chakra::sim
