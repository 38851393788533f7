#include "chakra/sim/sim.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "chakra/base/testing/testing.h"
#include "chakra/net/testing/graphs.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::sim {
namespace {

using trace::Builder;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::testing::Job;

constexpr uint64_t kMiB = 1 << 20;

/// A network whose numbers are easy: 1 byte takes 1 ps, a link 1 us.
net::Fabric fabric(int64_t ranks, net::TopologyKind kind = net::TopologyKind::ring) {
  return {{{kind, ranks, 1e12 / 1073741824.0, 1000}}};
}
constexpr Picoseconds kLatency = 1'000'000;

SimInput input(Job job, net::TopologyKind kind = net::TopologyKind::ring) {
  SimInput in;
  in.fabric = fabric(static_cast<int64_t>(job.builders.size()), kind);
  in.job = job.finish();
  return in;
}

/// The same once more: a run takes its job.
SimInput again(const SimInput& in) {
  SimInput out;
  for (const Trace& t : in.job.ranks) out.job.ranks.push_back(t);
  out.fabric = in.fabric;
  out.system = in.system;
  out.groups = in.groups;
  out.collectives = in.collectives;
  out.congestion = in.congestion;
  out.fold = in.fold;
  return out;
}

void expect_adds_up(const SimReport& report) {
  for (const RankReport& r : report.ranks) {
    EXPECT_EQ(r.compute_ps + r.exposed_comm_ps + r.host_ps + r.bubble_ps + r.idle_ps, r.finish_ps) << "rank " << r.rank;
    Picoseconds exposed = 0;
    for (const ActorReport::Exposed& part : report.actors[r.actor].exposed) exposed += part.time_ps;
    EXPECT_EQ(exposed, r.exposed_comm_ps) << "rank " << r.rank;
  }
  Picoseconds at = 0;
  for (const PathPiece& piece : report.critical_path) {
    EXPECT_EQ(piece.start_ps, at);
    at = piece.end_ps;
  }
  EXPECT_EQ(at, report.makespan_ps) << "the critical path is not as long as the job";
}

TEST(Native, ARingAllReduceIsTheFormula) {
  Job job(4);
  for (size_t r = 0; r < 4; ++r) job.collective(r, CommType::all_reduce, kMiB, {job.compute(r, 5'000'000)});
  SimInput in = input(std::move(job));
  in.collectives = *coll::parse_selection("allreduce: ring");
  auto report = simulate(std::move(in));
  ASSERT_TRUE(report) << report.error().message();
  const Picoseconds collective = 6 * (kLatency + kMiB / 4);
  for (const RankReport& r : report->ranks) {
    EXPECT_EQ(r.finish_ps, 5'000'000 + collective);
    EXPECT_EQ(r.compute_ps, 5'000'000);
    EXPECT_EQ(r.exposed_comm_ps, collective);
  }
  expect_adds_up(*report);
  ASSERT_EQ(report->collectives.size(), 1u);
  EXPECT_EQ(report->collectives[0].total_ps, collective);
  EXPECT_NEAR(report->collectives[0].bus_bytes_per_s, report->collectives[0].algorithm_bytes_per_s * 1.5, 1);
}

TEST(Native, ComputeHidesCommunicationOnAnotherQueue) {
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const NodeId first = job.compute(r, 1'000'000);
    job.collective(r, CommType::all_reduce, 4 * kMiB, {first});
    job.compute(r, 20'000'000, {first});
  }
  auto report = simulate(input(std::move(job)));
  ASSERT_TRUE(report) << report.error().message();
  const Picoseconds collective = 2 * (kLatency + 2 * kMiB);  // 6,194,304
  EXPECT_LT(collective, 20'000'000);
  EXPECT_EQ(report->makespan_ps, 21'000'000);
  EXPECT_EQ(report->ranks[0].exposed_comm_ps, 0);
  expect_adds_up(*report);
}

TEST(Native, GroupsRunAtTheSameTime) {
  // Two groups' collectives and a compute stream overlap; one group's collectives run one by one.
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    job.collective(r, CommType::all_reduce, kMiB, {}, "1");
    job.collective(r, CommType::all_reduce, kMiB, {}, "1");
    job.collective(r, CommType::all_reduce, kMiB, {}, "2");
    job.compute(r, 1'000'000);
  }
  SimInput in = input(std::move(job));
  in.groups = {{"1", {0, 1}}, {"2", {0, 1}}};
  auto report = simulate(again(in));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->makespan_ps, 2 * 2 * (kLatency + kMiB / 2));
}

TEST(Native, CollectivesOnAStreamDoNotHoldUpThoseWithout) {
  // The first two of a group are on a stream, where a long kernel comes before them; the third is on none.
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const uint32_t stream = job.builders[r].lane({trace::Lane::Kind::stream, 0, 7});
    job.builders[r].trace.lane.edit(job.compute(r, 9'000'000)) = stream;
    for (int i = 0; i < 3; ++i) {
      const NodeId n = job.collective(r, CommType::all_reduce, kMiB);
      if (i < 2) job.builders[r].trace.lane.edit(n) = stream;
    }
  }
  auto report = simulate(input(std::move(job)));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->makespan_ps, 9'000'000 + 2 * 2 * (kLatency + static_cast<Picoseconds>(kMiB) / 2));
  expect_adds_up(*report);
}

TEST(Native, TheLateRankMakesOthersWait) {
  Job job(3);
  for (size_t r = 0; r < 3; ++r)
    job.collective(r, CommType::all_gather, kMiB, {job.compute(r, r == 2 ? 9'000'000 : 1'000'000)});
  SimInput in = input(std::move(job));
  in.collectives = *coll::parse_selection("allgather: ring");
  auto report = simulate(std::move(in));
  ASSERT_TRUE(report);
  // Rank 2 sends its shard at once and then rank 1's, which has been there for long.
  EXPECT_EQ(report->ranks[0].finish_ps, 9'000'000 + 2 * static_cast<Picoseconds>(kMiB) + kLatency);
  EXPECT_EQ(report->ranks[0].exposed_comm_ps, report->ranks[0].finish_ps - 1'000'000);
  EXPECT_EQ(report->collectives[0].wait_ps, 8'000'000);
  expect_adds_up(*report);
}

TEST(Native, Messages) {
  Job job(2);
  const NodeId sent = job.message(0, NodeType::send, 1, 3'000'000);
  job.compute(0, 1'000'000, {sent});
  const NodeId got = job.message(1, NodeType::recv, 0, 3'000'000);
  job.compute(1, 1'000'000, {got});
  auto report = simulate(input(std::move(job)));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->ranks[0].finish_ps, 3'000'000 + 1'000'000);             // gone when it has left
  EXPECT_EQ(report->ranks[1].finish_ps, 3'000'000 + kLatency + 1'000'000);  // there when it has arrived
  expect_adds_up(*report);
}

TEST(Native, RooflineReplacesMeasuredTimes) {
  Job job(1);
  for (const auto& [ops, bytes] : {std::pair(1e12, 1e9), std::pair(1e9, 1e9)}) {
    const NodeId n = job.compute(0, 77, {});
    Trace& t = job.builders[0].trace;
    t.num_ops.resize(n + 1);
    t.tensor_bytes.resize(n + 1);
    t.num_ops.edit(n) = static_cast<uint64_t>(ops);
    t.tensor_bytes.edit(n) = static_cast<uint64_t>(bytes);
  }
  SimInput in = input(std::move(job));
  in.system.roofline = true;
  in.system.peak_flop_per_s = 900e12;
  in.system.memory_bytes_per_s = 1600e9;
  auto report = simulate(std::move(in));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_NEAR(static_cast<double>(report->makespan_ps), (1e12 / 900e12 + 1e9 / 1600e9) * 1e12, 2);
}

TEST(Native, EveryOperationRuns) {
  for (int type = 0; type < 10; ++type)
    for (const size_t ranks : {2u, 5u, 8u}) {
      Job job(ranks);
      for (size_t r = 0; r < ranks; ++r) job.collective(r, static_cast<CommType>(type), kMiB);
      auto report = simulate(input(std::move(job), net::TopologyKind::switch_));
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_GT(report->makespan_ps, 0);
      expect_adds_up(*report);
    }
}

std::string failure(const SimInput& in) {
  auto report = simulate(again(in));
  if (report) return "";
  const int code = static_cast<int>(report.error().code);
  return fmt::format("{} {}", code, report.error().tag);
}

TEST(Native, WhatCannotFinishSaysWhoWaitsForWhom) {
  {  // a rank that runs one collective less
    Job job(3);
    for (size_t r = 0; r < 3; ++r) {
      const NodeId first = job.collective(r, CommType::all_reduce, kMiB);
      if (r != 1) job.collective(r, CommType::all_reduce, kMiB, {first});
    }
    const SimInput in = input(std::move(job));
    EXPECT_EQ(failure(in), "4 sim.stuck");
    const std::string text = simulate(again(in)).error().text;
    EXPECT_NE(text.find("rank 0 (node 2), rank 2 (node 2) wait in ALL_REDUCE number 1"), std::string::npos) << text;
    EXPECT_NE(text.find("for rank 1, which has no such collective"), std::string::npos) << text;
  }
  {  // a receive without a send
    Job job(2);
    job.message(1, NodeType::recv, 0, 100, {}, 7);
    const SimInput in = input(std::move(job));
    EXPECT_EQ(failure(in), "4 sim.stuck");
    EXPECT_NE(simulate(again(in)).error().text.find(
                  "rank 1 (node 1) waits for a message from rank 0 with tag 7, which never sends it"),
              std::string::npos);
  }
  {  // a cycle
    Job job(1);
    const NodeId a = job.compute(0, 1), b = job.compute(0, 1, {a});
    job.builders[0].dep(a, b, 0);
    EXPECT_EQ(failure(input(std::move(job))), "4 sim.stuck.cycle");
  }
  {  // opposite orders in two groups of one queue each do not block, on one stream they do
    Job job(2);
    for (size_t r = 0; r < 2; ++r) {
      Builder& b = job.builders[r];
      const uint32_t stream = b.lane({trace::Lane::Kind::stream, 0, 7});
      for (const char* group : {r == 0 ? "1" : "2", r == 0 ? "2" : "1"}) {
        const NodeId n = job.collective(r, CommType::all_reduce, kMiB, {}, group);
        b.trace.lane.edit(n) = stream;
      }
    }
    SimInput in = input(std::move(job));
    in.groups = {{"1", {0, 1}}, {"2", {0, 1}}};
    EXPECT_EQ(failure(in), "4 sim.stuck");
  }
}

TEST(Native, WhatContradictsItselfIsRefused) {
  Job job(2);
  job.collective(0, CommType::all_reduce, kMiB);
  job.collective(1, CommType::all_gather, kMiB);
  EXPECT_EQ(failure(input(std::move(job))), "1 sim.match");
  Job sizes(2);
  sizes.collective(0, CommType::all_reduce, kMiB);
  sizes.collective(1, CommType::all_reduce, 2 * kMiB);
  EXPECT_EQ(failure(input(std::move(sizes))), "1 sim.match");
  Job unknown(1);
  unknown.collective(0, CommType::unknown, kMiB);
  EXPECT_EQ(failure(input(std::move(unknown))), "1 sim.comm.type");
  Job peerless(2);
  peerless.message(0, NodeType::send, -1, 100);
  EXPECT_EQ(failure(input(std::move(peerless))), "1 sim.comm.peer");
  Job dangling(1);
  dangling.builders[0].dep_by_id(dangling.compute(0, 1), 99, 0, 0);
  EXPECT_EQ(failure(input(std::move(dangling))), "1 sim.trace.defect");
  Job large(9);
  SimInput in = input(std::move(large));
  in.fabric = fabric(8);
  EXPECT_EQ(failure(in), "1 sim.fabric.small");
}

TEST(Native, RandomJobsAddUpAndRepeat) {
  Prng random(1);
  for (int round = 0; round < 200; ++round) {
    const size_t ranks = 1 + random.below(6);
    const uint64_t seed = random.next();
    const auto make = [&] {
      Job job(ranks);
      Prng program(seed);
      std::vector<std::vector<NodeId>> nodes(ranks);
      for (int step = 0; step < 30; ++step) {
        const bool comm = ranks > 1 && program.chance(0.4);
        const auto type = static_cast<CommType>(program.below(10));
        const uint64_t bytes = program.below(kMiB);
        for (size_t r = 0; r < ranks; ++r) {
          std::vector<NodeId> deps;
          if (!nodes[r].empty() && program.chance(0.7)) deps.push_back(nodes[r][program.below(nodes[r].size())]);
          nodes[r].push_back(comm ? job.collective(r, type, bytes, deps)
                                  : job.compute(r, static_cast<Picoseconds>(program.below(5'000'000)), deps));
        }
      }
      return input(std::move(job), static_cast<net::TopologyKind>(seed % 3));
    };
    auto report = simulate(make());
    ASSERT_TRUE(report) << report.error().message();
    expect_adds_up(*report);
    auto again = simulate(make());
    ASSERT_TRUE(again);
    EXPECT_EQ(report->makespan_ps, again->makespan_ps);
    EXPECT_EQ(report->events, again->events);
  }
}

// ---- folding ---------------------------------------------------------------------------------------------

/// A random job of similar ranks, on a random network: the same program for all, or for all but a
/// few; groups that are the rows and columns of a grid; messages round rings.
SimInput alike(Prng& random) {
  const size_t inner = 1 + random.below(4), outer = 1 + random.below(4), ranks = inner * outer;
  const size_t odd_rank = random.chance(0.15) ? random.below(ranks) : SIZE_MAX;
  const uint64_t seed = random.next();
  const bool symmetric = random.chance(0.8);  // no roots, no lines of switches that have ends
  Job job(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    Prng program(seed);
    std::vector<NodeId> nodes;
    const auto deps = [&] {
      std::vector<NodeId> out;
      if (!nodes.empty() && program.chance(0.8)) out.push_back(nodes[program.below(nodes.size())]);
      if (!nodes.empty() && program.chance(0.5)) out.push_back(nodes.back());
      if (out.size() == 2 && out[0] == out[1]) out.pop_back();
      return out;
    };
    for (int step = 0; step < 16; ++step) {
      const uint64_t what = program.below(6), bytes = program.below(kMiB);
      constexpr CommType kSymmetric[] = {CommType::all_reduce, CommType::all_gather, CommType::all_to_all,
                                         CommType::reduce_scatter, CommType::barrier};
      const auto type = symmetric ? kSymmetric[program.below(5)] : static_cast<CommType>(program.below(10));
      const auto time = static_cast<Picoseconds>(program.below(5'000'000));
      const size_t row = r / inner, column = r % inner;
      const size_t next = row * inner + (column + 1) % inner, last = row * inner + (column + inner - 1) % inner;
      const std::vector<NodeId> on = deps();
      const bool both = program.chance(0.5);
      if (what == 0) nodes.push_back(job.collective(r, type, bytes, on));
      else if (what == 1) nodes.push_back(job.collective(r, type, bytes, on, fmt::format("row{}", row).c_str()));
      else if (what == 2) nodes.push_back(job.collective(r, type, bytes, on, fmt::format("column{}", column).c_str()));
      else if (what == 3 && inner > 1) {
        job.message(r, NodeType::send, static_cast<int64_t>(next), bytes, on, 1);
        if (both) job.message(r, NodeType::send, static_cast<int64_t>(last), bytes / 2, on, 1);
        nodes.push_back(job.message(r, NodeType::recv, static_cast<int64_t>(last), bytes, on, 1));
        if (both) nodes.push_back(job.message(r, NodeType::recv, static_cast<int64_t>(next), bytes / 2, on, 1));
      } else nodes.push_back(job.compute(r, time + (r == odd_rank ? 1234 : 0), on));
    }
  }
  SimInput in;
  in.job = job.finish();
  for (size_t row = 0; row < outer; ++row)
    for (size_t column = 0; column < inner; ++column) {
      in.groups[fmt::format("row{}", row)].push_back(static_cast<int64_t>(row * inner + column));
      in.groups[fmt::format("column{}", column)].push_back(static_cast<int64_t>(row * inner + column));
    }
  const auto kind = [&] { return static_cast<net::TopologyKind>(random.below(symmetric ? 3 : 5)); };
  const auto dimension = [&](size_t n) {
    return net::Dimension{kind(), static_cast<int64_t>(n), 1.0 + static_cast<double>(random.below(100)),
                          static_cast<double>(random.below(2000))};
  };
  if (random.chance(0.2)) {
    const auto number = [](size_t n) { return static_cast<int64_t>(n); };
    const std::string text = random.chance(0.2)
                                 ? net::testing::fat_tree(4)
                                 : net::testing::leaf_spine(number(ranks / inner), number(inner), random.between(1, 4));
    in.fabric = *net::parse_fabric(*parse_spec(text, "net.yml"));
    if (in.fabric.size() < number(ranks))
      in.fabric = *net::parse_fabric(*parse_spec(net::testing::leaf_spine(1, number(ranks), 2), "net.yml"));
  } else if (random.chance(0.5)) in.fabric.dimensions = {dimension(ranks)};
  else in.fabric.dimensions = {dimension(inner), dimension(outer)};
  if (random.chance(0.1) && !in.fabric.graph && in.fabric.link_count() > 0) {
    const auto link = static_cast<net::LinkId>(random.below(in.fabric.link_count()));
    in.fabric.odd_links.push_back({link, 1e8, 5'000'000});
  }
  if (random.chance(0.1)) in.system.unlike[static_cast<int64_t>(random.below(ranks))].speed = 0.5;
  if (random.chance(0.1))
    for (size_t r = 0; r < ranks; ++r)
      in.system.unlike[static_cast<int64_t>(r)].start_ps = static_cast<Picoseconds>(1'000'000 * (r * 7919 % ranks));
  return in;
}

struct FoldCount {
  size_t ranks = 0, actors = 0;
};

void expect_same(const SimReport& folded, const SimReport& unfolded) {
  expect_adds_up(folded);
  expect_adds_up(unfolded);
  ASSERT_EQ(folded.ranks.size(), unfolded.ranks.size());
  for (size_t r = 0; r < folded.ranks.size(); ++r) {
    const RankReport &a = folded.ranks[r], &b = unfolded.ranks[r];
    ASSERT_EQ(a.finish_ps, b.finish_ps) << "rank " << r;
    EXPECT_EQ(a.compute_ps, b.compute_ps);
    EXPECT_EQ(a.exposed_comm_ps, b.exposed_comm_ps);
    EXPECT_EQ(a.bubble_ps, b.bubble_ps);
  }
  ASSERT_EQ(folded.collectives.size(), unfolded.collectives.size());
  for (const CollectiveReport& c : folded.collectives)
    EXPECT_TRUE(std::any_of(unfolded.collectives.begin(), unfolded.collectives.end(), [&](const auto& d) {
      return c.group == d.group && c.type == d.type && c.bytes == d.bytes && c.count == d.count &&
             c.total_ps == d.total_ps && c.wait_ps == d.wait_ps;
    })) << c.group;
  // Bytes of a message that is spread are rounded link by link.
  ASSERT_EQ(folded.links.size(), unfolded.links.size());
  for (size_t l = 0; l < folded.links.size(); ++l) {
    const auto &a = folded.links[l], &b = unfolded.links[l];
    EXPECT_EQ(a.from + a.to, b.from + b.to);
    EXPECT_NEAR(static_cast<double>(a.bytes), static_cast<double>(b.bytes), 400) << a.from << " -> " << a.to;
  }
}

void compare_folded(SimInput in, FoldCount& count) {
  SimInput whole = again(in);
  whole.fold = false;
  auto folded = simulate(std::move(in));
  auto unfolded = simulate(std::move(whole));
  ASSERT_EQ(folded.has_value(), unfolded.has_value())
      << (folded ? unfolded.error().message() : folded.error().message());
  if (!folded) {
    EXPECT_EQ(folded.error().tag, unfolded.error().tag);
    return;
  }
  count.ranks += folded->ranks.size();
  count.actors += folded->actors.size();
  expect_same(*folded, *unfolded);
}

TEST(Fold, FoldedAndUnfoldedRunsAgree) {
  Prng random(5);
  FoldCount count;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    compare_folded(alike(random), count);
  }
  EXPECT_LT(count.actors * 8, count.ranks * 7) << "hardly anything was folded: the test has no point";
}

TEST(Fold, OnSharedLinks) {
  Prng random(6);
  FoldCount count;
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE(round);
    SimInput in = alike(random);
    in.congestion = Congestion::fluid;
    constexpr net::Routing kKinds[] = {net::Routing::spread, net::Routing::ecmp, net::Routing::single};
    in.fabric.routing.kind = kKinds[random.below(3)];
    in.link_loads = random.chance(0.5);
    compare_folded(std::move(in), count);
  }
  EXPECT_LT(count.actors * 10, count.ranks * 9) << "hardly anything was folded: the test has no point";
}

/// Jobs of which some ranks are slow, begin later, or have slow links.
SimInput uneven(Prng& random) {
  SimInput in = alike(random);
  const auto rank = [&] { return static_cast<int64_t>(random.below(in.job.ranks.size())); };
  for (uint64_t i = random.below(3) + 1; i > 0; --i) {
    const uint64_t what = random.below(3);
    if (what == 0) in.system.unlike[rank()].speed = 0.3 + 0.1 * static_cast<double>(random.below(6));
    if (what == 1) in.system.unlike[rank()].start_ps = static_cast<Picoseconds>(random.below(20'000'000));
    if (what == 2 && !in.fabric.graph && in.fabric.odd_links.empty() && in.fabric.link_count() > 0)
      in.fabric.odd_links.push_back({static_cast<net::LinkId>(random.below(in.fabric.link_count())), 1e8, 5'000'000});
  }
  return in;
}

/// The nodes of a rank in the order of their starts.
std::vector<size_t> order_of(const SimReport& report, size_t rank) {
  const NodeTimes& times = report.times[report.ranks[rank].actor];
  std::vector<size_t> nodes(times.start.size());
  std::iota(nodes.begin(), nodes.end(), size_t{0});
  std::stable_sort(nodes.begin(), nodes.end(), [&](size_t a, size_t b) { return times.start[a] < times.start[b]; });
  return nodes;
}

/// Equal ranks on a network of which the first switch has a rank more: groups of the same operations differ in place.
SimInput unlike_places(Prng& random) {
  SimInput in = alike(random);
  const size_t ranks = in.job.ranks.size(), left = ranks / 2 + 1;
  std::string text = fmt::format("ranks: {}\nswitches: [a, b, c]\nlinks:\n", ranks);
  for (size_t r = 0; r < ranks; ++r)
    text += fmt::format("  - {{ from: {}, to: {}, bandwidth: 40, latency: 500 }}\n", r, r < left ? "a" : "c");
  text += "  - { from: a, to: b, bandwidth: 40, latency: 900 }\n  - { from: b, to: c, bandwidth: 80, latency: 300 }\n";
  in.fabric = *net::parse_fabric(*parse_spec(text, "network"));
  in.system.unlike.clear();
  return in;
}

TEST(Fold, GroupsThatStartLateBoundEveryFinish) {
  Prng random(77);
  size_t bounded = 0, wide = 0, fewer = 0, certain = 0, reordered = 0, beyond = 0, by_place = 0;
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(round);
    const bool places = round % 3 == 0;
    SimInput in = places ? unlike_places(random) : uneven(random);
    SimInput whole = again(in);
    whole.fold = false;
    in.node_times = whole.node_times = true;
    in.exact_nodes = 16 * random.below(8);
    auto folded = simulate(std::move(in)), unfolded = simulate(std::move(whole));
    ASSERT_EQ(folded.has_value(), unfolded.has_value())
        << (folded ? unfolded.error().message() : folded.error().message());
    if (!folded) continue;
    expect_adds_up(*folded);
    const bool late = folded->late_start.has_value();
    by_place += late && places;
    fewer += folded->actors.size() < unfolded->actors.size();
    if (!late) {
      for (size_t r = 0; r < folded->ranks.size(); ++r)
        ASSERT_EQ(folded->ranks[r].finish_ps, unfolded->ranks[r].finish_ps) << "rank " << r;
      continue;
    }
    if (!folded->late_start->same_order) continue;
    ++bounded;
    certain += folded->late_start->certain;
    wide += folded->late_start->least_makespan_ps < folded->makespan_ps;
    bool same = true, within = true;
    for (size_t r = 0; r < folded->ranks.size(); ++r) {
      same &= order_of(*folded, r) == order_of(*unfolded, r);
      within &= unfolded->ranks[r].finish_ps <= folded->ranks[r].finish_ps &&
                unfolded->ranks[r].finish_ps >= folded->ranks[r].finish_ps - folded->late_start->most_rank_ps;
    }
    within &= unfolded->makespan_ps <= folded->makespan_ps;
    within &= unfolded->makespan_ps >= folded->late_start->least_makespan_ps;
    EXPECT_TRUE(within || !same) << "only another order in a queue may lead beyond the bounds";
    if (folded->late_start->certain) EXPECT_TRUE(within);
    reordered += !same;
    beyond += !within;
  }
  fmt::print("{} bounded, {} of these certain, {} wide, {} folded, {} reordered, {} of these beyond\n", bounded,
             certain, wide, fewer, reordered, beyond);
  EXPECT_GT(certain, bounded / 4);
  EXPECT_GT(bounded - reordered, 50u);
  EXPECT_GT(by_place, 20u);
  EXPECT_GT(wide, bounded / 4) << "the bounds hardly differ: the test has no point";
}

TEST(Fold, ManyEqualRanksAreOne) {
  Job job(64);
  for (size_t r = 0; r < 64; ++r) job.collective(r, CommType::all_reduce, kMiB, {job.compute(r, 5'000'000)});
  SimInput in = input(std::move(job));
  in.collectives = *coll::parse_selection("allreduce: ring");
  auto report = simulate(std::move(in));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->actors.size(), 1u);
  EXPECT_EQ(report->actors[0].ranks, 64);
  EXPECT_EQ(report->ranks.size(), 64u);
  EXPECT_EQ(report->makespan_ps, 5'000'000 + 126 * (kLatency + static_cast<Picoseconds>(kMiB) / 64));
}

// ---- shared networks -----------------------------------------------------------------------------------------

TEST(Shared, ACollectiveAloneCostsWhatTheClosedFormSays) {
  for (const auto congestion : {Congestion::fluid, Congestion::packet})
    for (const auto kind : {net::TopologyKind::ring, net::TopologyKind::switch_, net::TopologyKind::fully_connected})
      for (const size_t ranks : {2u, 5u, 8u}) {
        Job job(ranks);
        for (size_t r = 0; r < ranks; ++r)
          job.collective(r, CommType::all_reduce, 16 * kMiB, {job.compute(r, static_cast<Picoseconds>(r) * 1'000'000)});
        SimInput in = input(std::move(job), kind);
        auto closed = simulate(again(in));
        in.congestion = congestion;
        auto shared = simulate(std::move(in));
        ASSERT_TRUE(closed && shared) << shared.error().message();
        expect_adds_up(*shared);
        for (size_t r = 0; r < ranks; ++r) {
          const auto expected = static_cast<double>(closed->ranks[r].finish_ps);
          const double tolerance = congestion == Congestion::fluid ? 64 : expected * 0.05;
          EXPECT_NEAR(static_cast<double>(shared->ranks[r].finish_ps), expected, tolerance);
        }
        EXPECT_FALSE(shared->links.empty());
      }
}

/// Where every pair has a direct link, only lanes of one member contend for a link: played out as
/// messages, the plan of every algorithm takes the time that the recurrence over its rounds yields.
TEST(Shared, EveryAlgorithmAloneCostsWhatTheClosedFormSays) {
  Prng random(3);
  int compared = 0;
  for (const coll::AlgorithmRow& row : coll::kAlgorithms)
    for (int type = 0; type < 10; ++type)
      for (const size_t ranks : {2u, 3u, 7u, 8u}) {
        const auto comm = static_cast<CommType>(type);
        if (!row.does(comm) || row.name == "double_binary_tree") continue;  // its trees share links
        if (row.needs != coll::AlgorithmRow::Needs::nothing) continue;      // there are no nodes, and nothing reduces
        const uint64_t bytes = 1 + random.below(4 * kMiB);
        Job job(ranks);
        for (size_t r = 0; r < ranks; ++r)
          job.collective(r, comm, bytes, {job.compute(r, static_cast<Picoseconds>(random.below(3'000'000)))});
        SimInput in = input(std::move(job), net::TopologyKind::fully_connected);
        auto rules = coll::parse_selection(fmt::format("{}: {}", trace::name(comm), row.name));
        ASSERT_TRUE(rules) << rules.error().message();
        in.collectives = *rules;
        auto closed = simulate(again(in));
        in.congestion = Congestion::fluid;
        auto fluid = simulate(std::move(in));
        ASSERT_TRUE(closed && fluid) << row.name;
        for (size_t r = 0; r < ranks; ++r)
          EXPECT_NEAR(static_cast<double>(fluid->ranks[r].finish_ps), static_cast<double>(closed->ranks[r].finish_ps),
                      200)
              << row.name << " " << trace::name(comm) << " of " << ranks;
        ++compared;
      }
  EXPECT_GT(compared, 60);
}

TEST(Shared, TwoMessagesOnALinkTakeTwiceTheTime) {
  for (const auto congestion : {Congestion::fluid, Congestion::packet}) {
    Job job(3);  // a ring of three: 0 -> 1 twice, on two streams
    for (int64_t tag = 0; tag < 2; ++tag) {
      const NodeId n = job.message(0, NodeType::send, 1, 64 * kMiB, {}, tag);
      job.builders[0].trace.lane.edit(n) = job.builders[0].lane({trace::Lane::Kind::stream, 0, tag});
      job.message(1, NodeType::recv, 0, 64 * kMiB, {}, tag);
    }
    job.compute(2, 1);
    SimInput in = input(std::move(job));
    auto closed = simulate(again(in));
    in.congestion = congestion;
    auto shared = simulate(std::move(in));
    ASSERT_TRUE(closed && shared);
    EXPECT_EQ(closed->makespan_ps, static_cast<Picoseconds>(64 * kMiB) + kLatency);
    EXPECT_NEAR(static_cast<double>(shared->makespan_ps), static_cast<double>(128 * kMiB) + kLatency, 5000);
    ASSERT_EQ(shared->links.size(), 1u);
    EXPECT_EQ(shared->links[0].bytes, 128 * kMiB);
    EXPECT_NEAR(static_cast<double>(shared->links[0].busy_ps), static_cast<double>(128 * kMiB), 5000);
  }
}

TEST(Shared, RandomJobsRunOnEveryNetwork) {
  Prng random(8);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    SimInput in = alike(random);
    in.congestion = random.chance(0.5) ? Congestion::fluid : Congestion::packet;
    auto first = simulate(again(in));
    auto second = simulate(std::move(in));
    ASSERT_EQ(first.has_value(), second.has_value());
    if (!first) continue;
    expect_adds_up(*first);
    EXPECT_EQ(first->makespan_ps, second->makespan_ps);
    EXPECT_EQ(first->events, second->events);
  }
}

}  // namespace
}  // namespace chakra::sim
