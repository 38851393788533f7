// What-ifs against properties: the slope against two simulations, nothing faster makes a job slower, and rules against
// answers worked out by hand.
#include "chakra/whatif/whatif.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "chakra/net/change.h"
#include "chakra/recorded/recorded.h"
#include "chakra/sim/testing/recorded_ranks.h"
#include "chakra/trace/testing/random_job.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::whatif {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::testing::Job;
using trace::testing::RandomJob;

int rounds() {
  const char* given = std::getenv("CHAKRA_TEST_JOBS");  // 10000 for the full test
  return given ? std::atoi(given) : 300;
}

/// Random jobs whose dependencies have lags now and then.
sim::SimInput random_input(Prng& random, bool chained) {
  RandomJob job = trace::testing::random_job(random, 2, 8, 12);
  if (chained)
    for (size_t r = 0; r < job.ranks.size(); ++r) job.chain(r);
  sim::SimInput in;
  in.job = job.build();
  for (trace::Trace& t : in.job.ranks) {
    std::vector<std::pair<uint32_t, Picoseconds>> lags;
    for (uint32_t e = 0; e < t.deps.node.size(); ++e)
      if (random.chance(0.2)) lags.emplace_back(e, random.between(1, 20) * kPsPerUs);
    t.deps.lag = trace::Lags(t.deps.node.size(), lags);
  }
  in.groups = match::GroupTable(job.groups.begin(), job.groups.end());
  in.fabric = {{{static_cast<net::TopologyKind>(random.below(3)), static_cast<int64_t>(job.ranks.size()),
                 static_cast<double>(random.between(1, 100)), static_cast<double>(random.between(0, 5000))}}};
  in.decisive_path = true;
  return in;
}

/// Algorithms of which none is chosen by its time.
void fix_algorithms(sim::SimInput& in) {
  in.collectives = *coll::parse_selection("ring; tree; linear; dissemination; direct");
}

Picoseconds makespan(const sim::SimInput& in) {
  const auto report = sim::simulate(copy_of(in));
  EXPECT_TRUE(report) << report.error().message();
  return report ? report->makespan_ps : 0;
}

TEST(Sensitivity, TheSlopeIsTheDifferenceOfTwoSimulations) {
  constexpr double kStep = 0.001, kTolerance = 0.01;
  constexpr Picoseconds kRounding = 200;  // of the durations of a path, each to a picosecond
  Prng random(7);
  int classes = 0, exceptions = 0;
  for (int round = 0; round < rounds(); ++round) {
    const bool chained = round % 2 == 0;
    const sim::SimInput in = random_input(random, chained);
    const auto before = sim::simulate(copy_of(in));
    ASSERT_TRUE(before) << round << " " << before.error().message();
    for (const Sensitivity::Row& row : path_classes(in, *before)) {
      sim::SimInput less = copy_of(in), more = copy_of(in);
      scale(less, selector_of(*row.time), 1 - kStep);
      scale(more, selector_of(*row.time), 1 + kStep);
      const auto saved = static_cast<double>(before->makespan_ps - makespan(less));
      const auto lost = static_cast<double>(makespan(more) - before->makespan_ps);
      const double slope = kStep * static_cast<double>(row.on_path_ps);
      // Where two paths are equally long, less and more differ, and the slope lies between them.
      const bool fits = slope >= std::min(saved, lost) * (1 - kTolerance) - kRounding &&
                        slope <= std::max(saved, lost) * (1 + kTolerance) + kRounding;
      ++classes;
      exceptions += !fits;
      if (chained)
        EXPECT_TRUE(fits) << round << " " << row.name << ": slope " << slope << ", less " << saved << ", more " << lost;
    }
  }
  EXPECT_GT(classes, rounds());
  // Without a chain a queue takes what is ready first, and another order may come out (list scheduling).
  EXPECT_LE(exceptions, classes / 50) << "of " << classes;
  RecordProperty("exceptions", exceptions);
}

TEST(Sensitivity, TheSlopeOfLinksIsTheDifferenceOfTwoSimulations) {
  constexpr double kStep = 0.001, kTolerance = 0.01;
  constexpr Picoseconds kRounding = 300;
  Prng random(17);
  int compared = 0, elsewhere = 0;
  for (int round = 0; round < rounds(); ++round) {
    sim::SimInput in = random_input(random, true);
    fix_algorithms(in);
    const Picoseconds before = makespan(in);
    const auto rows = link_rows(in);
    ASSERT_TRUE(rows) << rows.error().message();
    for (const Sensitivity::Row& row : *rows) {
      const bool bandwidth = row.name.starts_with("time per byte");
      sim::SimInput less = copy_of(in), more = copy_of(in);
      for (auto& [changed, part] : {std::pair(&less, 1 - kStep), std::pair(&more, 1 + kStep)})
        changed->fabric = net::with_class(in.fabric, 0, bandwidth ? 1 / part : 1, bandwidth ? 1 : part);
      const auto saved = static_cast<double>(before - makespan(less));
      const auto lost = static_cast<double>(makespan(more) - before);
      const double slope = kStep * static_cast<double>(row.on_path_ps);
      elsewhere += slope < std::min(saved, lost) * (1 - kTolerance) - kRounding ||
                   slope > std::max(saved, lost) * (1 + kTolerance) + kRounding;
      ++compared;
    }
  }
  EXPECT_GT(compared, rounds());
  EXPECT_EQ(elsewhere, 0) << "of " << compared;
}

TEST(Identity, AFactorOfOneChangesNothing) {
  Prng random(11);
  for (int round = 0; round < 20; ++round) {
    const sim::SimInput in = random_input(random, round % 2 == 0);
    const Picoseconds before = makespan(in);
    for (const KindRow& kind : kKinds) {
      sim::SimInput same = copy_of(in);
      scale(same, *parse_selector(kind.name), 1);
      EXPECT_EQ(makespan(same), before) << kind.name;
    }
  }
}

TEST(Physics, NothingFasterMakesAJobSlower) {
  Prng random(13);
  int exceptions = 0, compared = 0;
  for (int round = 0; round < rounds(); ++round) {
    const bool chained = round % 2 == 0, fixed = round % 4 < 2;
    sim::SimInput in = random_input(random, chained);
    if (fixed) fix_algorithms(in);
    const Picoseconds before = makespan(in);
    const auto expect_not_slower = [&](const sim::SimInput& faster, const char* what) {
      const Picoseconds after = makespan(faster);
      ++compared;
      exceptions += after > before + 100;
      if (chained && fixed) EXPECT_LE(after, before + 100) << round << " " << what;  // a picosecond for each rounding
    };
    sim::SimInput wider = copy_of(in), nearer = copy_of(in), quicker = copy_of(in);
    wider.fabric.dimensions[0].gib_per_s *= 1.3;
    nearer.fabric.dimensions[0].latency_ns *= 0.7;
    for (size_t r = 0; r < in.job.ranks.size(); ++r) quicker.system.unlike[static_cast<int64_t>(r)].speed = 1.3;
    expect_not_slower(wider, "more bandwidth");
    expect_not_slower(nearer, "less latency");
    expect_not_slower(quicker, "a faster device");
  }
  // Queues take what is ready first (below), and an algorithm is chosen as if all members came together.
  EXPECT_LE(exceptions, compared / 20) << "of " << compared;
  RecordProperty("exceptions", exceptions);
}

/// A queue that takes whatever is ready: R. L. Graham, "Bounds on multiprocessing timing anomalies", 1969.
TEST(Physics, AFasterDeviceMayMakeAListScheduleSlower) {
  trace::Builder b;
  const auto add = [&](uint64_t id, Picoseconds dur, int64_t stream) {
    const NodeId n = b.add(id, b.trace.strings.intern(fmt::format("n{}", id)), trace::NodeType::comp);
    b.trace.dur_ps.edit(n) = dur;
    b.trace.flags.edit(n) = trace::kHasDuration | trace::kSaysCpuOrNot;
    b.trace.lane.edit(n) = b.lane({trace::Lane::Kind::stream, 0, stream});
    return n;
  };
  // Stream 1 has a long node that is ready at 9 and a short one, which stream 2 waits for, that is ready at 10.
  const NodeId first = add(1, 10'000, 0), other = add(2, 10'001, 3), longer = add(3, 50'000, 1),
               shorter = add(4, 1'000, 1), rest = add(5, 50'000, 2);
  b.dep(longer, other, 0);
  b.dep(shorter, first, 0);
  b.dep(rest, shorter, 0);
  sim::SimInput in;
  in.job.ranks.push_back(std::move(b).finish());
  in.fabric = {{{net::TopologyKind::switch_, 2, 1, 0}}};
  const Picoseconds before = makespan(in);
  scale_named(in, "n2", 0.9);
  EXPECT_GT(makespan(in), before);
}

// ---- rules, by hand ----------------------------------------------------------------------------------------

/// Two ranks: 10 us and 6 us of work, a ring all-reduce of 2 MiB, 3 us of work. A byte takes 1 ps, a link 1 us.
sim::SimInput two_ranks() {
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const NodeId work = job.compute(r, r == 0 ? 10 * kPsPerUs : 6 * kPsPerUs);
    const NodeId sum = job.collective(r, CommType::all_reduce, 2 << 20, {work});
    job.compute(r, 3 * kPsPerUs, {sum});
  }
  sim::SimInput in;
  in.fabric = {{{net::TopologyKind::ring, 2, 1e12 / 1073741824.0, 1000}}};
  in.job = job.finish();
  in.collectives = *coll::parse_selection("allreduce: ring");
  return in;
}
constexpr Picoseconds kSum = 2 * (kPsPerUs + (1 << 20));

Picoseconds with(const Selector& selector, double factor) {
  sim::SimInput in = two_ranks();
  EXPECT_GT(scale(in, selector, factor).nodes, 0);
  return makespan(in);
}

TEST(Rules, ScaleByHand) {
  EXPECT_EQ(makespan(two_ranks()), 13 * kPsPerUs + kSum);
  EXPECT_EQ(with(*parse_selector("compute"), 0.5), 13 * kPsPerUs / 2 + kSum);
  EXPECT_EQ(with(*parse_selector("all_reduce"), 0.5), 13 * kPsPerUs + kSum / 2);
  EXPECT_EQ(with(*parse_selector("communication"), 0), 13 * kPsPerUs);
  EXPECT_EQ(with(*parse_selector("collective"), 2), 13 * kPsPerUs + 2 * kSum);
}

TEST(Rules, ARemovedCollectiveHoldsNobodyUp) {
  sim::SimInput in = two_ranks();
  EXPECT_EQ(remove(in, *parse_selector("all_reduce")).nodes, 2);
  const auto report = sim::simulate(std::move(in));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->ranks[0].finish_ps, 13 * kPsPerUs);
  EXPECT_EQ(report->ranks[1].finish_ps, 9 * kPsPerUs);
}

/// Both ranks compute 10 us, reduce for 20, the last 5 of them as a separate piece, and compute 30.
sim::SimInput cut_collective() {
  const auto rank = [](int64_t number) {
    sim::testing::Rank r(number);
    r.start(0).comp(0, 10).coll(CommType::all_reduce, 10, 15).comp(25, 5).piece_of(1).comp(30, 30);
    return r;
  };
  sim::SimInput in = sim::testing::input_of(sim::testing::job(rank(0), rank(1)));
  in.transfers = *recorded::recorded_transfers(in.job, match::match(in.job));
  return in;
}

TEST(Rules, PiecesGoWithTheirCommunication) {
  sim::SimInput longer = cut_collective(), gone = cut_collective(), compute = cut_collective();
  EXPECT_EQ(makespan(longer), 60 * kPsPerUs);
  const Reached scaled = scale(longer, *parse_selector("all_reduce"), 3);
  EXPECT_EQ(scaled.nodes, 2);
  EXPECT_EQ(scaled.time_ps, 40 * kPsPerUs);
  EXPECT_EQ(makespan(longer), 100 * kPsPerUs);
  const Reached removed = remove(gone, *parse_selector("all_reduce"));
  EXPECT_EQ(removed.nodes, 2);
  EXPECT_EQ(removed.time_ps, 40 * kPsPerUs);
  EXPECT_EQ(makespan(gone), 40 * kPsPerUs);
  EXPECT_EQ(scale(compute, *parse_selector("compute"), 2).nodes, 4);
  EXPECT_EQ(makespan(compute), 100 * kPsPerUs);
}

TEST(Rules, ANameOnOneRankScalesTheWholeCollective) {
  sim::SimInput in = two_ranks();
  trace::Trace& t = in.job.ranks[1];
  for (const NodeId n : t.nodes())
    if (trace::is_comm(t.type[n])) t.name.edit(n) = t.strings.intern("only here");
  EXPECT_EQ(scale_named(in, "only*", 0.5).nodes, 1);
  EXPECT_EQ(makespan(in), 13 * kPsPerUs + kSum / 2);
}

TEST(Rules, Names) {
  EXPECT_EQ(parse_selector("all_reduce:dp")->group, "dp");
  EXPECT_EQ(parse_selector("collective:")->group, "");
  for (const char* text : {"", "Compute", "gpu", "compute:dp", "message:dp"})
    EXPECT_EQ(parse_selector(text) ? "" : parse_selector(text).error().tag, "whatif.kind.unknown") << text;
  for (const KindRow& row : kKinds) EXPECT_TRUE(parse_selector(row.name)) << row.name;
  for (const SumRow& row : kSums) EXPECT_TRUE(parse_selector(row.name)) << row.name;
}

TEST(Rules, EachRefusesValuesOfAnotherForm) {
  sim::SimInput in = two_ranks();
  for (const ChangeRow& row : kChanges)
    for (const char* value : {"", "=", "nothing of the kind", "compute=", "compute=-1", "compute=nan", "=2", "9=2"}) {
      const auto reached = row.apply(value, in);
      EXPECT_FALSE(reached) << row.name << " " << value;
      const std::string tag = reached ? "" : reached.error().tag;
      EXPECT_TRUE(tag.starts_with("whatif.") || tag == "net.change.link") << row.name << " " << value << " " << tag;
    }
}

// The run before was whole, and the signal comes during one of those that the answer is made of.
TEST(Stopped, NoAnswerIsMadeOfAPartOfARun) {
  Prng random(7);
  sim::SimInput in = random_input(random, true);
  const auto before = sim::simulate(copy_of(in));
  ASSERT_TRUE(before);
  std::atomic<bool> stop{true};
  in.stop = &stop;
  in.partial = true;
  const auto without_answer = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().tag, "sim.interrupted");
    EXPECT_EQ(result.error().code, Code::interrupted);
  };
  without_answer(sensitivity(in, *before));
  without_answer(noise(in, {*parse_jitter("compute=uniform:0.1")}, 3, 1));
  stop = false;
  EXPECT_TRUE(sensitivity(in, *before));
}

}  // namespace
}  // namespace chakra::whatif
