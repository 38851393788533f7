// Tiers of storage: closed forms, an independent oracle for ranks that come and go, folding, and errors.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "chakra/base/testing/testing.h"
#include "chakra/net/net.h"
#include "chakra/sim/engine/processor_sharing.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::sim {
namespace {

using device::Tier;
using device::TierScope;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::testing::Job;

constexpr double kRate = 1e9;  ///< bytes per second: 1000 ps a byte
constexpr Picoseconds kPsPerByte = 1000;
constexpr Picoseconds kLatency = 77'000;

Tier tier(TierScope scope, int64_t ranks_per_node = 0, std::string name = "pfs") {
  return {std::move(name), kRate, kLatency, scope, ranks_per_node};
}

net::Fabric ring(size_t ranks) {
  return {{{net::TopologyKind::ring, static_cast<int64_t>(ranks), 1e12 / 1073741824.0, 1000}}};
}

SimInput input(Job job, std::vector<Tier> tiers) {
  SimInput in;
  in.fabric = ring(job.builders.size());
  in.job = job.finish();
  in.system.tiers = std::move(tiers);
  return in;
}

SimInput again(const SimInput& in) {
  SimInput out;
  for (const trace::Trace& t : in.job.ranks) out.job.ranks.push_back(t);
  out.fabric = in.fabric;
  out.system = in.system;
  out.groups = in.groups;
  return out;
}

struct Io {
  const char* tier = "pfs";  ///< null: it names none
  int64_t bytes = -1;        ///< -1: it says none
  const char* kind = nullptr;
  NodeType type = NodeType::mem_store;
};

NodeId io(Job& job, size_t rank, const Io& io, std::vector<NodeId> deps = {}) {
  const NodeId n = job.add(rank, io.type, std::move(deps));
  trace::Builder& b = job.builders[rank];
  if (io.tier) b.attr({b.trace.strings.intern("storage_tier"), std::string_view(io.tier)});
  if (io.bytes >= 0) b.attr({b.trace.strings.intern("bytes"), io.bytes});
  if (io.kind) b.attr({b.trace.strings.intern("io_kind"), std::string_view(io.kind)});
  return n;
}

/// Move a node to a separate stream.
NodeId on_stream(Job& job, size_t rank, NodeId n, int64_t stream) {
  trace::Builder& b = job.builders[rank];
  b.trace.lane.edit(n) = b.lane({trace::Lane::Kind::stream, 0, stream});
  return n;
}

void expect_adds_up(const SimReport& report) {
  for (const RankReport& r : report.ranks)
    EXPECT_EQ(r.compute_ps + r.exposed_comm_ps + r.exposed_storage_ps + r.host_ps + r.bubble_ps + r.idle_ps,
              r.finish_ps);
  Picoseconds at = 0;
  for (const PathPiece& piece : report.critical_path) {
    EXPECT_EQ(piece.start_ps, at);
    at = piece.end_ps;
  }
  EXPECT_EQ(at, report.makespan_ps);
}

SimReport run(SimInput in) {
  auto report = simulate(std::move(in));
  EXPECT_TRUE(report) << report.error().message();
  if (!report) return {};
  expect_adds_up(*report);
  return std::move(*report);
}

TEST(Storage, AloneIsLatencyAndBytesByBandwidth) {
  for (const int64_t bytes : {0, 1, 4096, 1'000'000'007}) {
    Job job(1);
    const NodeId load = io(job, 0, {"pfs", bytes, "dataloader", NodeType::mem_load});
    job.compute(0, 5'000'000, {load});
    const SimReport report = run(input(std::move(job), {tier(TierScope::all)}));
    const Picoseconds expected = kLatency + bytes * kPsPerByte;
    EXPECT_EQ(report.makespan_ps, expected + 5'000'000);
    EXPECT_EQ(report.ranks[0].exposed_storage_ps, expected);
    EXPECT_EQ(report.ranks[0].compute_ps, 5'000'000);
    ASSERT_EQ(report.tiers.size(), 1u);
    EXPECT_EQ(report.tiers[0].name, "pfs");
    EXPECT_EQ(report.tiers[0].places, 1);
    EXPECT_EQ(report.tiers[0].bytes, static_cast<uint64_t>(bytes));
    EXPECT_EQ(report.tiers[0].busy_ps, bytes * kPsPerByte);
    ASSERT_EQ(report.tiers[0].kinds.size(), 1u);
    EXPECT_EQ(report.tiers[0].kinds[0].io_kind, "dataloader");
    EXPECT_EQ(report.tiers[0].kinds[0].count, 1);
    EXPECT_EQ(report.tiers[0].kinds[0].total_ps, expected);
    ASSERT_EQ(report.critical_path.size(), 2u);
    EXPECT_EQ(report.critical_path[0].kind, PathPiece::Kind::storage);
    EXPECT_EQ(report.critical_path[0].tier, "pfs");
  }
}

TEST(Storage, ManyAtOnceTakeThatManyTimes) {
  for (const size_t n : {2u, 3u, 7u, 64u})
    for (const bool fold : {true, false})
      for (const auto congestion : {Congestion::closed, Congestion::fluid, Congestion::packet}) {
        Job job(n);
        for (size_t r = 0; r < n; ++r) io(job, r, {"pfs", 1001, "ckpt_write"}, {job.compute(r, 3'000)});
        SimInput in = input(std::move(job), {tier(TierScope::all)});
        in.fold = fold;
        in.congestion = congestion;
        const SimReport report = run(std::move(in));
        const auto moved = static_cast<Picoseconds>(n) * 1001 * kPsPerByte;
        for (const RankReport& r : report.ranks) EXPECT_EQ(r.finish_ps, 3'000 + moved + kLatency);
        EXPECT_EQ(report.actors.size(), fold && congestion != Congestion::packet ? 1 : n);
        EXPECT_EQ(report.tiers[0].bytes, n * 1001);
        EXPECT_EQ(report.tiers[0].busy_ps, moved);
        EXPECT_EQ(report.tiers[0].kinds[0].count, static_cast<int64_t>(n));
        EXPECT_NEAR(report.tiers[0].kinds[0].bytes_per_s, 1001e12 / static_cast<double>(moved + kLatency), 1);
      }
}

TEST(Storage, TiersOfARankOrANodeAreSharedThere) {
  constexpr size_t kRanks = 10;  // nodes of 4, 4 and 2
  for (const bool fold : {true, false}) {
    Job job(kRanks);
    for (size_t r = 0; r < kRanks; ++r) {
      const NodeId own = io(job, r, {"own", 500});
      io(job, r, {"node", 300}, {own});
    }
    SimInput in = input(std::move(job), {tier(TierScope::rank, 0, "own"), tier(TierScope::node, 4, "node")});
    in.fold = fold;
    const SimReport report = run(std::move(in));
    for (size_t r = 0; r < kRanks; ++r)
      EXPECT_EQ(report.ranks[r].finish_ps, 500 * kPsPerByte + (r < 8 ? 4 : 2) * 300 * kPsPerByte + 2 * kLatency);
    EXPECT_EQ(report.actors.size(), fold ? 2 : kRanks);
    EXPECT_EQ(report.tiers[0].places, 10);
    EXPECT_EQ(report.tiers[0].bytes, 5000u);
    EXPECT_EQ(report.tiers[0].busy_ps, 500 * kPsPerByte);
    EXPECT_EQ(report.tiers[1].places, 3);
    EXPECT_EQ(report.tiers[1].bytes, 3000u);
    EXPECT_EQ(report.tiers[1].busy_ps, 4 * 300 * kPsPerByte);
  }
}

TEST(Storage, ACheckpointBehindTheComputationCostsWhatIsExposed) {
  constexpr Picoseconds kStep = 10'000'000;
  for (const int64_t bytes : {1'000, 9'000, 9'923, 9'924, 12'000, 50'000}) {
    Job job(2);
    for (size_t r = 0; r < 2; ++r) {
      const NodeId first = on_stream(job, r, job.compute(r, kStep), 7);
      on_stream(job, r, io(job, r, {"own", bytes, "ckpt_write"}, {first}), 20);
      on_stream(job, r, job.compute(r, kStep, {first}), 7);
    }
    const SimReport report = run(input(std::move(job), {tier(TierScope::rank, 0, "own")}));
    const Picoseconds exposed = std::max<Picoseconds>(0, bytes * kPsPerByte + kLatency - kStep);
    EXPECT_EQ(report.makespan_ps, 2 * kStep + exposed);
    EXPECT_EQ(report.ranks[0].exposed_storage_ps, exposed);
    EXPECT_EQ(report.ranks[0].compute_ps, 2 * kStep);
  }
}

TEST(Storage, CommunicationAndStorageDoNotSlowEachOther) {
  for (const auto congestion : {Congestion::closed, Congestion::fluid, Congestion::packet}) {
    const auto time = [&](bool collective, bool store) {
      Job job(4);
      for (size_t r = 0; r < 4; ++r) {
        if (collective) job.collective(r, CommType::all_reduce, 1 << 20);
        if (store) io(job, r, {"pfs", 200});
        job.compute(r, 1);
      }
      SimInput in = input(std::move(job), {tier(TierScope::all)});
      in.congestion = congestion;
      const SimReport report = run(std::move(in));
      if (collective && store) {
        EXPECT_EQ(report.ranks[0].exposed_storage_ps, 0);  // communication comes first
      }
      return report.makespan_ps;
    };
    EXPECT_EQ(time(true, true), std::max(time(true, false), time(false, true)));
    EXPECT_GT(time(true, false), time(false, true));
  }
}

// ---- the oracle ----------------------------------------------------------------------------------------------

/// A rank that computes for a time, then moves bytes, and so on.
using Program = std::vector<std::pair<Picoseconds, int64_t>>;

/// When each rank ends where all that use a server share it: step by step to whatever comes next, in long doubles.
std::vector<long double> shared_ends(const std::vector<Program>& programs, const std::vector<size_t>& server_of) {
  struct State {
    size_t at = 0;
    enum { computes, moves, waits, ended } does = computes;
    long double left = 0;
  };
  std::vector<State> states(programs.size());
  std::vector<long double> ends(programs.size());
  for (size_t r = 0; r < programs.size(); ++r) states[r].left = static_cast<long double>(programs[r][0].first);
  for (long double now = 0;;) {
    std::vector<size_t> users(programs.size(), 0);
    for (size_t r = 0; r < states.size(); ++r) users[server_of[r]] += states[r].does == State::moves;
    const auto share = [&](size_t r) {
      return states[r].does == State::moves ? static_cast<long double>(users[server_of[r]]) : 1;
    };
    long double step = INFINITY;
    for (size_t r = 0; r < states.size(); ++r)
      if (states[r].does != State::ended) step = std::min(step, states[r].left * share(r));
    if (std::isinf(step)) return ends;
    now += step;
    std::vector<long double> left;
    for (size_t r = 0; r < states.size(); ++r) left.push_back(states[r].left - step / share(r));
    for (size_t r = 0; r < states.size(); ++r) {
      State& s = states[r];
      s.left = left[r];
      if (s.does == State::ended || s.left > 1e-7L) continue;
      if (s.does == State::computes) {
        s = {s.at, State::moves, static_cast<long double>(programs[r][s.at].second * kPsPerByte)};
      } else if (s.does == State::moves) {
        s = {s.at, State::waits, static_cast<long double>(kLatency)};
      } else if (++s.at < programs[r].size()) {
        s = {s.at, State::computes, static_cast<long double>(programs[r][s.at].first)};
      } else {
        s.does = State::ended;
        ends[r] = now;
      }
    }
  }
}

TEST(Storage, WhoComesAndGoesIsSharedAsTheOracleSays) {
  Prng random(11);
  Picoseconds contended = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const size_t ranks = 1 + random.below(12);
    const auto scope = static_cast<TierScope>(random.below(3));
    const auto per_node = static_cast<int64_t>(1 + random.below(4));
    const uint64_t most = random.chance(0.3) ? 50 : 1'000'000;  // many at one time, or few
    std::vector<Program> programs(ranks);
    std::vector<size_t> server_of;
    Job job(ranks);
    for (size_t r = 0; r < ranks; ++r) {
      server_of.push_back(scope == TierScope::all    ? 0
                          : scope == TierScope::rank ? r
                                                     : r / static_cast<size_t>(per_node));
      NodeId last{0};
      for (uint64_t i = 0, n = 1 + random.below(5); i < n; ++i) {
        programs[r].push_back({static_cast<Picoseconds>(random.below(most) * 1000), random.below(most)});
        last = job.compute(r, programs[r][i].first, i ? std::vector{last} : std::vector<NodeId>());
        last = io(job, r, {"pfs", programs[r][i].second}, {last});
      }
    }
    const SimReport report = run(input(std::move(job), {tier(scope, scope == TierScope::node ? per_node : 0)}));
    const std::vector<long double> expected = shared_ends(programs, server_of);
    for (size_t r = 0; r < ranks; ++r) {
      EXPECT_NEAR(static_cast<double>(report.ranks[r].finish_ps), static_cast<double>(expected[r]), 40) << r;
      Picoseconds alone = 0;
      for (const auto& [compute, bytes] : programs[r]) alone += compute + bytes * kPsPerByte + kLatency;
      contended += report.ranks[r].finish_ps > alone + 1000;
    }
  }
  EXPECT_GT(contended, 500) << "hardly anyone shared: the test has no point";
}

TEST(ProcessorSharing, IsMaxMinFairOnOneLink) {
  Prng random(3);
  net::Fabric fabric{{{net::TopologyKind::ring, 2, kRate / 1073741824.0, 0}}};
  for (int round = 0; round < 100; ++round) {
    ProcessorSharing<uint32_t> sharing;
    net::FluidNetwork network(fabric);
    std::vector<Picoseconds> ends(60, -1), expected(60, -1);
    std::vector<uint32_t> done;
    std::vector<net::Delivery> delivered;
    Picoseconds now = 0;
    const auto advance = [&](Picoseconds until) {
      while (!sharing.empty() && sharing.next_end() <= until) {
        const Picoseconds at = sharing.next_end();
        sharing.take_done(at, done);
        for (const uint32_t i : done) ends[i] = at;
        done.clear();
      }
      while (network.next_event_time() <= until && network.next_event_time() != net::kNever)
        network.advance_to(network.next_event_time(), delivered);
    };
    for (uint32_t i = 0; i < ends.size(); ++i) {
      now += static_cast<Picoseconds>(random.below(3'000'000));
      advance(now);
      const uint64_t bytes = 1 + random.below(5000);
      sharing.add(now, static_cast<Picoseconds>(bytes) * kPsPerByte, 1, i);
      network.send(now, {.from = 0, .to = 1, .bytes = bytes, .token = i});
    }
    advance(kLongestPs);
    for (const net::Delivery& delivery : delivered) expected[delivery.token] = delivery.arrived_ps;
    for (size_t i = 0; i < ends.size(); ++i)
      EXPECT_NEAR(static_cast<double>(ends[i]), static_cast<double>(expected[i]), 100) << i;  // its ends are rounded
  }
}

TEST(ProcessorSharing, LongTimesStopAtTheLongest) {
  ProcessorSharing<int> sharing;
  EXPECT_EQ(sharing.next_end(), kLongestPs);
  sharing.add(5, kLongestPs / 2, 3, 1);
  EXPECT_EQ(sharing.next_end(), kLongestPs);
  sharing.add(6, 10, 1, 2);
  EXPECT_EQ(sharing.next_end(), 6 + 40);
  std::vector<int> done;
  sharing.take_done(46, done);
  EXPECT_EQ(done, std::vector{2});
}

// ---- folding ---------------------------------------------------------------------------------------------------

/// A random job of similar ranks, with tiers of all scopes.
SimInput alike(Prng& random) {
  const size_t inner = 1 + random.below(4), outer = 1 + random.below(4), ranks = inner * outer;
  const size_t odd_rank = random.chance(0.3) ? random.below(ranks) : SIZE_MAX;
  const uint64_t seed = random.next();
  Job job(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    Prng program(seed);
    std::vector<NodeId> nodes;
    const size_t first = r / inner * inner;
    for (int step = 0; step < 14; ++step) {
      const uint64_t what = program.below(6), size = program.below(20'000);
      const bool waits = program.chance(0.8);
      const uint64_t on = program.next();
      std::vector<NodeId> deps;
      if (!nodes.empty() && waits) deps.push_back(nodes[on % nodes.size()]);
      const std::string row = fmt::format("row{}", r / inner);
      if (what == 0) {
        nodes.push_back(job.collective(r, CommType::all_reduce, size, deps, row.c_str()));
      } else if (what == 1 && inner > 1) {
        job.message(r, NodeType::send, static_cast<int64_t>(first + (r + 1 - first) % inner), size, deps, 1);
        nodes.push_back(job.message(r, NodeType::recv, static_cast<int64_t>(first + (r + inner - 1 - first) % inner),
                                    size, deps, 1));
      } else if (what < 5) {
        const char* name = std::array{"own", "node", "pfs"}[program.below(3)];
        nodes.push_back(
            io(job, r, {name, static_cast<int64_t>(size), program.chance(0.5) ? "ckpt_write" : nullptr}, deps));
        if (program.chance(0.3)) on_stream(job, r, nodes.back(), 20 + static_cast<int64_t>(program.below(2)));
      } else {
        nodes.push_back(job.compute(r, static_cast<Picoseconds>(size * 1000 + (r == odd_rank ? 1234 : 0)), deps));
      }
    }
  }
  SimInput in = input(std::move(job), {tier(TierScope::rank, 0, "own"),
                                       tier(TierScope::node, static_cast<int64_t>(1 + random.below(ranks)), "node"),
                                       tier(TierScope::all)});
  for (size_t r = 0; r < ranks; ++r) in.groups[fmt::format("row{}", r / inner)].push_back(static_cast<int64_t>(r));
  if (random.chance(0.2)) in.system.unlike[static_cast<int64_t>(random.below(ranks))].speed = 0.5;
  if (random.chance(0.2)) in.system.unlike[static_cast<int64_t>(random.below(ranks))].start_ps = 1'000'000;
  return in;
}

void expect_same(const SimReport& folded, const SimReport& unfolded) {
  ASSERT_EQ(folded.ranks.size(), unfolded.ranks.size());
  for (size_t r = 0; r < folded.ranks.size(); ++r) {
    const RankReport &a = folded.ranks[r], &b = unfolded.ranks[r];
    EXPECT_EQ(a.finish_ps, b.finish_ps) << "rank " << r;
    EXPECT_EQ(a.compute_ps, b.compute_ps);
    EXPECT_EQ(a.exposed_comm_ps, b.exposed_comm_ps);
    EXPECT_EQ(a.exposed_storage_ps, b.exposed_storage_ps);
  }
  ASSERT_EQ(folded.tiers.size(), unfolded.tiers.size());
  for (size_t i = 0; i < folded.tiers.size(); ++i) {
    const TierReport &a = folded.tiers[i], &b = unfolded.tiers[i];
    EXPECT_EQ(a.places, b.places);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.busy_ps, b.busy_ps);
    ASSERT_EQ(a.kinds.size(), b.kinds.size());
    for (size_t k = 0; k < a.kinds.size(); ++k) {
      EXPECT_EQ(a.kinds[k].io_kind, b.kinds[k].io_kind);
      EXPECT_EQ(a.kinds[k].count, b.kinds[k].count);
      EXPECT_EQ(a.kinds[k].bytes, b.kinds[k].bytes);
      EXPECT_EQ(a.kinds[k].total_ps, b.kinds[k].total_ps);
    }
  }
}

TEST(Storage, FoldedAndUnfoldedRunsAgree) {
  Prng random(5);
  size_t ranks = 0, actors = 0;
  for (int round = 0; round < 800; ++round) {
    SCOPED_TRACE(round);
    SimInput in = alike(random);
    SimInput whole = again(in), repeated = again(in);
    whole.fold = false;
    const SimReport folded = run(std::move(in)), unfolded = run(std::move(whole)), same = run(std::move(repeated));
    expect_same(folded, unfolded);
    expect_same(folded, same);
    EXPECT_EQ(folded.events, same.events);
    ranks += folded.ranks.size();
    actors += folded.actors.size();
    if (HasFailure()) break;
  }
  EXPECT_LT(actors * 4, ranks * 3) << "hardly anything was folded: the test has no point";
}

TEST(Storage, RunsOnSeveralThreadsAgree) {
  const auto job = [] {
    Prng random(17);
    for (int skipped = 0; skipped < 5; ++skipped) alike(random);
    return alike(random);
  };
  std::array<SimReport, 4> reports;
  std::vector<std::thread> threads;
  for (SimReport& report : reports) threads.emplace_back([&] { report = *simulate(job()); });
  for (std::thread& thread : threads) thread.join();
  for (const SimReport& report : reports) {
    expect_same(report, reports[0]);
    EXPECT_EQ(report.events, reports[0].events);
  }
}

// ---- which node is for which tier --------------------------------------------------------------------------------

TEST(Storage, RulesReachNodesThatNameNoTier) {
  Job job(1);
  io(job, 0, {nullptr, 100, "ckpt_write"});
  io(job, 0, {nullptr, 20, nullptr});
  io(job, 0, {nullptr, 3, "dataloader", NodeType::mem_load});
  io(job, 0, {"fast", 4, "ckpt_write"});
  trace::Builder& b = job.builders[0];
  b.trace.tensor_bytes.resize(b.trace.size() + 1);
  b.trace.tensor_bytes.edit(io(job, 0, {nullptr, -1, "kv_fetch", NodeType::mem_load})) = 5;
  SimInput in = input(std::move(job), {tier(TierScope::all), tier(TierScope::all, 0, "fast")});
  in.system.tier_of = {{"ckpt_write", 0}, {"store", 1}, {"load", 0}};
  const SimReport report = run(std::move(in));
  ASSERT_EQ(report.tiers.size(), 2u);
  const auto text = [](const TierReport& tier) {
    std::string out;
    for (const TierReport::Kind& kind : tier.kinds)
      out += fmt::format("{} {} {};", kind.io_kind, kind.count, kind.bytes);
    return out;
  };
  EXPECT_EQ(text(report.tiers[0]), "ckpt_write 1 100;dataloader 1 3;kv_fetch 1 5;");
  EXPECT_EQ(text(report.tiers[1]), "ckpt_write 1 4;store 1 20;");
  EXPECT_EQ(report.makespan_ps, 132 * kPsPerByte + 5 * kLatency);  // one after the other
}

TEST(Storage, NodesWithoutATierTakeTheirTime) {
  const auto make = [](std::vector<Tier> tiers) {
    Job job(2);
    for (size_t r = 0; r < 2; ++r) {
      const NodeId n = io(job, r, {nullptr, 100, "ckpt_write"}, {job.compute(r, 10)});
      job.builders[r].trace.dur_ps.edit(n) = 5'000;
    }
    return input(std::move(job), std::move(tiers));
  };
  const SimReport without = run(make({})), with = run(make({tier(TierScope::all)}));
  for (const SimReport* report : {&without, &with}) {
    EXPECT_EQ(report->makespan_ps, 5'010);
    EXPECT_EQ(report->ranks[0].exposed_storage_ps, 0);
    EXPECT_TRUE(report->tiers.empty());
    EXPECT_TRUE(report->findings.empty());
  }
  EXPECT_EQ(without.events, with.events);
}

TEST(Storage, ADelayedNodeEndsThatMuchLater) {
  Job job(2);
  for (size_t r = 0; r < 2; ++r) io(job, r, {"pfs", 100});
  SimInput in = input(std::move(job), {tier(TierScope::all)});
  Delays delays;
  delays.rows.resize(2);
  delays.rows[0] = {9'000};
  in.delays = std::move(delays);
  const SimReport report = run(std::move(in));
  EXPECT_EQ(report.ranks[0].finish_ps, 200 * kPsPerByte + kLatency + 9'000);
  EXPECT_EQ(report.ranks[1].finish_ps, 200 * kPsPerByte + kLatency);
}

TEST(Storage, RefusesWhatItCannotPrice) {
  const auto tag = [](const Io& node, std::vector<Tier> tiers) {
    Job job(1);
    io(job, 0, node);
    auto report = simulate(input(std::move(job), std::move(tiers)));
    if (!report) return report.error().tag;
    return report->findings.empty() ? std::string() : "finding " + report->findings[0].tag;
  };
  EXPECT_EQ(tag({"pfs", 100}, {tier(TierScope::all)}), "");
  EXPECT_EQ(tag({"nvme", 100}, {tier(TierScope::all)}), "sim.tier.unknown");
  EXPECT_EQ(tag({"", 100}, {tier(TierScope::all)}), "sim.tier.unknown");
  EXPECT_EQ(tag({"pfs", -1}, {tier(TierScope::all)}), "sim.tier.bytes");
  EXPECT_EQ(tag({"pfs", 100}, {}), "finding sim.tier.none");
  EXPECT_EQ(tag({"pfs", INT64_MAX}, {tier(TierScope::all)}), "sim.time");
  Job job(1);
  io(job, 0, {"pfs", -1});
  trace::Builder& b = job.builders[0];
  b.attr({b.trace.strings.intern("bytes"), int64_t{-3}});
  io(job, 0, {nullptr, -1});
  b.attr({b.trace.strings.intern("bytes"), int64_t{-3}});  // of one that nobody charges
  auto refused = simulate(input(std::move(job), {tier(TierScope::all)}));
  EXPECT_EQ(testing::tag_of(refused), "sim.tier.bytes");
  EXPECT_NE(refused.error().text.find("node 1 "), std::string::npos);
}

}  // namespace
}  // namespace chakra::sim
