#include "chakra/analyze/analyze.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace chakra::analyze {
namespace {

using trace::Builder;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;

struct ClockTruth {
  double offset_ns = 0, drift_ppm = 0;
};

/// A job of all-reduces every 2 ms that all members leave within a microsecond, seen through clocks that
/// are off. Members come up to 200 us before they leave; `late` comes last, just before the end.
trace::TraceSet record(const std::vector<ClockTruth>& clocks, int collectives, size_t late, uint64_t seed,
                       int64_t late_ns = 3'000'000) {
  Prng random(seed);
  std::vector<Builder> builders(clocks.size());
  double time = 1e9;
  for (int i = 0; i < collectives; ++i) {
    time += 2e6;
    const bool held_up = i == 3 && late < clocks.size();
    const double end = time + (held_up ? static_cast<double>(late_ns) : 0);
    for (size_t r = 0; r < clocks.size(); ++r) {
      Builder& b = builders[r];
      const double start =
          held_up && r != late ? time - 100'000 : end - static_cast<double>(random.between(100'000, 101'000));
      const double leaves = end + static_cast<double>(random.between(-500, 500));
      const auto shown = [&](double t) {
        return std::llround(t + clocks[r].offset_ns + clocks[r].drift_ppm * 1e-6 * (t - 1e9));
      };
      const NodeId n = b.add(b.trace.size() + 1, 0, NodeType::coll);
      if (n > 0) b.dep(n, n - 1, 0);
      b.trace.flags.edit(n) = trace::kHasStart | trace::kHasDuration;
      b.trace.base_ns = 0;
      b.trace.start_ps.edit(n) = shown(start) * kPsPerNs;
      b.trace.dur_ps.edit(n) = (shown(leaves) - shown(start)) * kPsPerNs;
      trace::Comm& comm = b.comm(n);
      comm.type = CommType::all_reduce;
      comm.bytes = 1024;
      comm.sequence = i;
    }
    time = end;
  }
  trace::TraceSet job;
  for (size_t r = 0; r < clocks.size(); ++r) {
    builders[r].trace.rank = static_cast<int64_t>(r);
    job.ranks.push_back(std::move(builders[r]).finish());
  }
  return job;
}

TEST(Clocks, AreRecoveredWithinTwoMicroseconds) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<ClockTruth> truth{{0, 0}, {5'000'000, 0}, {-123'456, 35}, {40, -20}, {0, 0}};
    const trace::TraceSet job = record(truth, 200, 99, seed);
    const JobTimes times = job_times(job, match::match(job));
    ASSERT_EQ(times.clocks.size(), truth.size());
    for (size_t r = 0; r < truth.size(); ++r) {
      EXPECT_TRUE(times.clocks[r].known);
      // Over the whole recording of 0.4 s.
      for (const double t : {0.0, 2e8, 4e8}) {
        const double expected = truth[r].offset_ns + truth[r].drift_ppm * 1e-6 * t;
        const double found = times.clocks[r].offset_ns + times.clocks[r].drift_ppm * 1e-6 * t;
        EXPECT_NEAR(found, expected, 2'000) << "rank " << r << ", seed " << seed << ", after " << t << " ns";
      }
      EXPECT_LT(times.clocks[r].uncertainty_ns, 2'000);
    }
    EXPECT_TRUE(times.stragglers.empty());
  }
}

TEST(Clocks, TwoCollectivesGiveAnOffsetAndNoDrift) {
  const trace::TraceSet job = record({{0, 0}, {-7'000'000, 0}}, 2, 99, 1);
  const JobTimes times = job_times(job, match::match(job));
  EXPECT_NEAR(times.clocks[1].offset_ns, -7'000'000, 2'000);
  EXPECT_EQ(times.clocks[1].drift_ppm, 0);
}

TEST(Stragglers, TheLateRankIsNamed) {
  const trace::TraceSet job = record({{0, 0}, {5'000'000, 10}, {-3'000, 0}}, 50, 2, 7);
  const JobTimes times = job_times(job, match::match(job));
  ASSERT_FALSE(times.stragglers.empty());
  EXPECT_EQ(times.stragglers[0].rank, 2);
  EXPECT_EQ(times.stragglers[0].last_at, 1);
  EXPECT_NEAR(times.stragglers[0].waited_ns, 3'000'000, 5'000);
  ASSERT_EQ(times.collectives.size(), 1u);
  EXPECT_EQ(times.collectives[0].count, 50);
  EXPECT_NEAR(times.collectives[0].wait_ns, 3'000'000 * 2 / 3.0, 60'000);
  EXPECT_NEAR(times.collectives[0].transfer_ns, 50 * 100'500, 60'000);
}

TEST(Clocks, RanksWithoutCommonCollectivesStayUnknown) {
  trace::TraceSet job = record({{0, 0}, {0, 0}}, 4, 99, 1);
  for (trace::Comm& comm : job.ranks[1].comms.edit()) comm.group = job.ranks[1].strings.intern("other");
  const JobTimes times = job_times(job, match::match(job));
  EXPECT_TRUE(times.clocks[0].known);
  EXPECT_FALSE(times.clocks[1].known);
  EXPECT_TRUE(times.collectives.empty() || times.collectives[0].members == 1);
}

// ---- critical path ------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> kNames{"aten::mm", "gemm", trace::kHostGap, "Memcpy DtoH",
                                                 trace::kUnrecorded};

/// Up to 12 nodes; those that are measured begin when their dependencies have ended, or later, or (`overlap`) earlier.
trace::Trace random_trace(Prng& random, bool measured, bool overlap) {
  Builder b;
  const auto nodes = static_cast<uint32_t>(1 + random.below(12));
  std::vector<std::vector<std::pair<NodeId, Picoseconds>>> deps(nodes);
  std::vector<NodeId> row(nodes);  // rows in any order
  std::iota(row.begin(), row.end(), NodeId(0));
  for (uint32_t i = nodes; i-- > 1;) std::swap(row[i], row[random.below(i + 1)]);
  for (const NodeId i : ids<NodeId>(nodes)) {
    static constexpr std::array<NodeType, 4> kTypes{NodeType::comp, NodeType::coll, NodeType::mem_load, NodeType::recv};
    const NodeId n = b.add(i + 1, b.trace.strings.intern(kNames[random.below(kNames.size())]), kTypes[random.below(4)]);
    b.trace.flags.edit(n) = trace::kHasDuration | trace::kSaysCpuOrNot | (random.below(2) ? trace::kOnCpu : 0);
    b.trace.dur_ps.edit(n) = static_cast<Picoseconds>(random.below(8));
    if (!trace::is_comm(b.trace.type[n])) continue;
    b.comm(n).type = CommType::all_reduce;
    b.comm(n).group = b.trace.strings.intern(std::string(1, static_cast<char>('a' + i % 4)));
  }
  for (uint32_t i = 1; i < nodes; ++i)
    for (uint32_t j = 0; j < i; ++j)
      if (random.below(3) == 0) {
        const auto lag = static_cast<Picoseconds>(random.below(4) == 0 ? random.below(5) : 0);
        b.dep(row[i], row[j], static_cast<uint8_t>(random.below(trace::kEdgeKinds.size())), lag);
        deps[i].emplace_back(row[j], lag);
      }
  if (measured)
    for (const NodeId i : ids<NodeId>(nodes)) {
      Picoseconds start = 100;
      for (const auto& [on, lag] : deps[i]) start = std::max(start, b.trace.start_ps[on] + b.trace.dur_ps[on] + lag);
      start += static_cast<Picoseconds>(random.below(4));
      if (overlap) start -= static_cast<Picoseconds>(random.below(6));
      b.trace.start_ps.edit(row[i]) = start;
      b.trace.flags.edit(row[i]) |= trace::kHasStart;
    }
  return std::move(b).finish();
}

/// All paths, one after the other.
Picoseconds longest_from(const trace::Trace& t, NodeId n) {
  Picoseconds before = 0;
  for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
    before = std::max(before, longest_from(t, t.deps.node[e]) + t.deps.lag_of(e));
  return before + t.dur_ps[n];
}

TEST(CriticalPath, IsTheLongestOfAllPathsOfTenThousandGraphs) {
  Prng random(11);
  for (int round = 0; round < 10'000; ++round) {
    const trace::Trace t = random_trace(random, false, false);
    Findings findings;
    const auto schedule = schedule_of(t, findings);
    ASSERT_TRUE(schedule);
    const auto path = critical_path(t, *schedule);
    ASSERT_TRUE(path) << path.error().message();
    Picoseconds longest = 0;
    for (const NodeId n : t.nodes()) longest = std::max(longest, longest_from(t, n));
    ASSERT_EQ(path->longest_ps, longest);
    ASSERT_EQ(path->length_ps(), longest) << "round " << round;
    // Nodes of the path are a path: each begins where the one before, or its lag, ends, and nothing is unexplained.
    const auto reaches = [&](auto&& self, NodeId from, NodeId to) -> bool {
      const auto waits = t.deps.of(to);
      return std::any_of(waits.begin(), waits.end(), [&](NodeId on) { return on == from || self(self, from, on); });
    };
    Picoseconds at = 0;
    NodeId before = trace::kNoNode;
    for (const CriticalPath::Piece& piece : path->pieces) {
      ASSERT_EQ(piece.start_ps, at);
      at = piece.end_ps;
      ASSERT_NE(piece.bound, Bound::unexplained);
      ASSERT_NE(piece.bound, Bound::start);
      if (piece.bound == Bound::lag) continue;
      ASSERT_EQ(piece.end_ps - piece.start_ps, t.dur_ps[piece.node]);
      ASSERT_TRUE(before == trace::kNoNode || reaches(reaches, before, piece.node)) << "round " << round;
      before = piece.node;
    }
    ASSERT_EQ(at, longest);
  }
}

TEST(CriticalPath, OfMeasuredTracesIsWithoutGapsAndSaysWhatItCannotExplain) {
  Prng random(12);
  int unexplained = 0;
  for (int round = 0; round < 5'000; ++round) {
    const trace::Trace t = random_trace(random, true, round % 2 == 1);
    Findings findings;
    const auto schedule = schedule_of(t, findings);
    ASSERT_TRUE(schedule);
    ASSERT_TRUE(schedule->measured);
    const auto path = critical_path(t, *schedule);
    ASSERT_TRUE(path) << path.error().message();
    Picoseconds first = INT64_MAX, last = 0;
    for (const NodeId n : t.nodes()) {
      first = std::min(first, t.start_ps[n]);
      last = std::max(last, t.start_ps[n] + t.dur_ps[n]);
    }
    Picoseconds at = first;
    for (const CriticalPath::Piece& piece : path->pieces) {
      ASSERT_EQ(piece.start_ps, at);
      ASSERT_GT(piece.end_ps, piece.start_ps);
      at = piece.end_ps;
      unexplained += piece.bound == Bound::unexplained;
      if (piece.bound < Bound::lag) {  // inside the node's own time
        EXPECT_GE(piece.start_ps, t.start_ps[piece.node]);
        EXPECT_LE(piece.end_ps, t.start_ps[piece.node] + t.dur_ps[piece.node]);
      }
    }
    ASSERT_EQ(at, last);
  }
  EXPECT_GT(unexplained, 1000);
}

// ---- time ---------------------------------------------------------------------------------------------

void find_budget(const trace::Trace& t, std::optional<Schedule>& schedule, std::optional<TimeBudget>& budget) {
  Findings findings;
  auto made = schedule_of(t, findings);
  ASSERT_TRUE(made);
  schedule = std::move(*made);
  auto found = time_budget(t, *schedule);
  ASSERT_TRUE(found) << found.error().message();
  budget = std::move(*found);
}

TEST(Time, EqualsWhatLookingAtEveryPicosecondFinds) {
  Prng random(13);
  for (int round = 0; round < 5'000; ++round) {
    const trace::Trace t = random_trace(random, round % 3 != 0, round % 3 == 2);
    std::optional<Schedule> s;
    std::optional<TimeBudget> budget;
    ASSERT_NO_FATAL_FAILURE(find_budget(t, s, budget));
    bool device = false;
    for (const NodeId n : t.nodes()) device |= bound_of(t, n) == Bound::compute;
    TimeBudget truth;
    Picoseconds idle = 0;
    for (Picoseconds at = s->first; at < s->last; ++at) {
      std::array<bool, kBounds.size()> runs{};
      for (const NodeId n : t.nodes())
        if (s->start[n] <= at && at < s->end[n]) runs[static_cast<size_t>(bound_of(t, n))] = true;
      const auto is = [&](Bound b) { return runs[static_cast<size_t>(b)]; };
      const bool computes = is(Bound::compute) || (!device && is(Bound::host));
      const bool communicates = is(Bound::collective) || is(Bound::message);
      if (computes && communicates) ++truth.overlapped;
      else if (computes) ++truth.compute_alone;
      else if (communicates) ++truth.exposed;
      else if (is(Bound::memory)) ++truth.memory;
      else if (is(Bound::unrecorded)) ++truth.unrecorded;
      else if (is(Bound::host)) ++truth.host;
      else if (is(Bound::host_gap)) ++truth.host_gap;
      else ++idle;
    }
    EXPECT_EQ(budget->total, s->last - s->first);
    EXPECT_EQ(budget->overlapped, truth.overlapped);
    EXPECT_EQ(budget->compute_alone, truth.compute_alone);
    EXPECT_EQ(budget->exposed, truth.exposed);
    EXPECT_EQ(budget->memory, truth.memory);
    EXPECT_EQ(budget->unrecorded, truth.unrecorded);
    EXPECT_EQ(budget->host, truth.host);
    EXPECT_EQ(budget->host_gap, truth.host_gap);
    Picoseconds causes = 0;
    for (const TimeBudget::Idle& cause : budget->idle) causes += cause.time;
    ASSERT_EQ(causes, idle) << "round " << round;
  }
}

/// The communication that each exposed picosecond belongs to, found for this picosecond alone.
class Waits {
 public:
  Waits(const trace::Trace& t, const Schedule& s) : t_(t), s_(s) {
    for (const NodeId n : t.nodes()) device_ |= bound_of(t, n) == Bound::compute;
  }

  std::map<std::string, Picoseconds> run() const {
    std::map<std::string, Picoseconds> of;
    for (Picoseconds at = s_.first; at < s_.last; ++at)
      if (is_exposed(at)) {
        const NodeId n = awaited_at(at);
        of[t_.type[n] == NodeType::coll ? std::string(t_.strings[t_.comm(n)->group]) : ""] += 1;
      }
    return of;
  }

 private:
  bool computes(NodeId n) const {
    return bound_of(t_, n) == Bound::compute || (!device_ && bound_of(t_, n) == Bound::host);
  }
  bool runs(NodeId n, Picoseconds at) const { return s_.start[n] <= at && at < s_.end[n]; }
  bool any(Picoseconds at, bool communication) const {
    const auto nodes = t_.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) {
      return runs(n, at) && (communication ? trace::is_comm(t_.type[n]) : computes(n));
    });
  }
  bool is_exposed(Picoseconds at) const { return any(at, true) && !any(at, false); }

  NodeId awaited_at(Picoseconds at) const {
    Picoseconds begin = at, now = s_.last;
    for (Picoseconds earlier = at; earlier >= s_.first && !any(earlier, false); --earlier)
      if (is_exposed(earlier)) begin = earlier;
    NodeId next = trace::kNoNode;
    for (const NodeId n : t_.nodes())
      if (computes(n) && s_.end[n] > s_.start[n] && s_.start[n] > at && (s_.start[n] < now || next == trace::kNoNode))
        now = s_.start[n], next = n;
    std::set<NodeId> chain;
    for (NodeId n = next; n != trace::kNoNode;) {
      NodeId last = trace::kNoNode;
      for (const NodeId on : t_.deps.of(n))
        if (s_.end[on] > begin && s_.end[on] <= std::min(now, s_.end[n]) &&
            (last == trace::kNoNode || s_.end[on] > s_.end[last]))
          last = on;
      if ((n = last) != trace::kNoNode) chain.insert(n);
    }
    const auto better = [&](NodeId a, NodeId b) {
      if (chain.contains(a) != chain.contains(b)) return chain.contains(a);
      if ((s_.end[a] <= now) != (s_.end[b] <= now)) return s_.end[a] <= now;
      if (s_.end[a] <= now && s_.end[a] != s_.end[b]) return s_.end[a] > s_.end[b];
      if (s_.end[a] <= now) return a > b;
      return std::pair(s_.start[a], a) < std::pair(s_.start[b], b);
    };
    NodeId best = trace::kNoNode;
    for (const NodeId n : t_.nodes())
      if (runs(n, at) && trace::is_comm(t_.type[n]) && (best == trace::kNoNode || better(n, best))) best = n;
    return best;
  }

  const trace::Trace& t_;
  const Schedule& s_;
  bool device_ = false;
};

TEST(Time, ExposedCommunicationIsThatWhichTheNextComputationWaitsFor) {
  Prng random(131);
  int several = 0;
  for (int round = 0; round < 5'000; ++round) {
    const trace::Trace t = random_trace(random, round % 3 != 0, round % 3 == 2);
    std::optional<Schedule> s;
    std::optional<TimeBudget> budget;
    ASSERT_NO_FATAL_FAILURE(find_budget(t, s, budget));
    std::map<std::string, Picoseconds> found;
    for (const TimeBudget::Exposed& row : budget->exposed_by) found[row.group] += row.time;
    ASSERT_EQ(found, Waits(t, *s).run()) << "round " << round;
    several += found.size() > 1;
  }
  EXPECT_GT(several, 500);
}

TEST(Sums, ThatFailAreErrors) {
  const std::vector<uint64_t> parts{UINT64_MAX, 1};
  EXPECT_TRUE(check_sum("x", 7, std::vector<uint64_t>{3, 4}));
  const auto wrong = check_sum("x", 8, std::vector<uint64_t>{3, 4});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().tag, "analyze.sum");
  EXPECT_FALSE(check_sum("x", 0, parts));
}

TEST(Schedules, OfCyclesAreErrors) {
  Builder b;
  b.add(1, 0, NodeType::comp);
  b.add(2, 0, NodeType::comp);
  b.dep(NodeId(0), NodeId(1), 0);
  b.dep(NodeId(1), NodeId(0), 0);
  Findings findings;
  const auto schedule = schedule_of(std::move(b).finish(), findings);
  ASSERT_FALSE(schedule);
  EXPECT_EQ(schedule.error().tag, "analyze.cycle");
}

// ---- imbalance ----------------------------------------------------------------------------------------

TEST(Imbalance, APlantedOneIsFoundAndNothingElse) {
  Prng random(14);
  for (int round = 0; round < 200; ++round) {
    const size_t ranks = 2 + random.below(6), collectives = 1 + random.below(8);
    const size_t at = random.below(collectives), who = random.below(ranks);
    const uint64_t extra = 1 + random.below(1'000'000);
    trace::TraceSet job;
    for (size_t r = 0; r < ranks; ++r) {
      Builder b;
      b.trace.rank = static_cast<int64_t>(r);
      for (size_t c = 0; c < collectives; ++c) {
        const NodeId n = b.add(c + 1, 0, NodeType::coll);
        if (n > 0) b.dep(n, n - 1, 0);
        b.comm(n).type = CommType::all_to_all;
        b.comm(n).bytes = 1'000 + (c == at && r == who ? extra : 0);
      }
      job.ranks.push_back(std::move(b).finish());
    }
    const std::vector<Imbalance> found = imbalances(job, match::match(job));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].collectives, static_cast<int64_t>(collectives));
    ASSERT_EQ(found[0].rows.size(), 1u);
    EXPECT_EQ(found[0].rows[0].index, at);
    EXPECT_EQ(found[0].rows[0].bytes[who], 1'000 + extra);
    const double mean = 1'000 + static_cast<double>(extra) / static_cast<double>(ranks);
    EXPECT_NEAR(found[0].worst, (1'000 + static_cast<double>(extra)) / mean, 1e-9);
    EXPECT_EQ(found[0].rank_bytes[who], 1'000 * collectives + extra);
  }
}

// ---- memory -------------------------------------------------------------------------------------------

TEST(Memory, StoragesLiveFromFirstToLastUse) {
  Builder b;
  const auto add = [&](std::string_view inputs, std::string_view outputs) {
    const NodeId n = b.add(b.trace.size() + 1, 0, NodeType::comp);
    b.trace.dur_ps.edit(n) = 10;
    if (n > 0) b.dep(n, n - 1, 0);
    b.trace.io_row.edit(n) = static_cast<uint32_t>(b.trace.ios.size());
    trace::Io io;
    io.inputs.values = inputs;
    io.outputs.values = outputs;
    b.trace.ios.emplace_back(io, b.trace.texts);
  };
  add("[[1, 7, 0, 100, 4, 'cuda:0'], 1.5, 'a [1, 2, 3, 4, 5, \\'x\\']', True]",
      "[[2, 8, 0, 50, 4, 'cuda:0']]");                                                              // 400, 200
  add("[[[2, 8, 10, 40, 4, 'cuda:0'], [3, 9, 0, 1, 8, 'cpu']]]", "[[4, 10, 0, 25, 4, 'cuda:0']]");  // + 100
  add("[[1, 7, 0, 100, 4, 'cuda:0'], [5, 11, 0, 18446744073709551615, 8, 'cpu'], 3]", "[]");
  const trace::Trace t = std::move(b).finish();
  Findings findings;
  const auto schedule = schedule_of(t, findings);
  ASSERT_TRUE(schedule);
  const LiveBytes live = live_bytes(t, *schedule);
  ASSERT_TRUE(live.known);
  ASSERT_EQ(live.devices.size(), 2u);
  EXPECT_EQ(live.devices[0].name, "cpu");
  EXPECT_EQ(live.devices[0].storages, 1);
  EXPECT_EQ(live.devices[0].peak, 8u);
  const LiveBytes::Device& gpu = live.devices[1];
  EXPECT_EQ(gpu.storages, 3);
  EXPECT_EQ(gpu.at_start, 400u);
  EXPECT_EQ(gpu.peak, 700u);
  EXPECT_EQ(gpu.peak_ps, 10);
  EXPECT_EQ(gpu.peak_node, 1u);
  const std::vector<std::pair<Picoseconds, uint64_t>> points{{0, 600}, {10, 700}, {20, 400}, {30, 0}};
  EXPECT_EQ(gpu.points, points);
}

TEST(Memory, ExpandedTensorsHaveTheBytesOfTheirStorage) {
  // Inputs: [1000, 64] of strides [0, 1]; a list of [4, 8] in rows of 16, and of a number. Output: without strides.
  const std::string_view shapes = "[[1000, 64], [], [[4, 8], []]]", strides = "[[0, 1], [], [[16, 1], []]]";
  for (const bool attribute : {false, true}) {
    Builder b;
    const NodeId n = b.add(1, 0, NodeType::comp);
    b.trace.dur_ps.edit(n) = 10;
    trace::Io io;
    io.inputs.values = "[[1, 7, 0, 64000, 4, 'cuda:0'], 2, [[2, 8, 0, 32, 4, 'cuda:1'], [3, 9, 0, 1, 4, 'cuda:2']]]";
    io.outputs.values = "[[4, 10, 0, 25, 4, 'cuda:3']]";
    io.inputs.shapes = b.trace.strings.intern(shapes);
    if (attribute) b.attr({b.trace.strings.intern("input_strides"), strides});  // as a file has them
    else io.inputs.strides = b.trace.strings.intern(strides);
    b.trace.io_row.edit(n) = 0;
    b.trace.ios.emplace_back(io, b.trace.texts);
    const trace::Trace t = std::move(b).finish();
    Findings findings;
    const auto schedule = schedule_of(t, findings);
    ASSERT_TRUE(schedule);
    const LiveBytes live = live_bytes(t, *schedule);
    std::vector<uint64_t> peaks;
    for (const LiveBytes::Device& device : live.devices) peaks.push_back(device.peak);
    EXPECT_EQ(peaks, (std::vector<uint64_t>{4 * 64, 4 * (3 * 16 + 8), 4, 100}));
  }
}

// ---- diff ---------------------------------------------------------------------------------------------

TEST(Diffs, AreNothingForEqualJobsAndTurnRound) {
  Prng random(15);
  for (int round = 0; round < 500; ++round) {
    trace::TraceSet a, b;
    a.ranks.push_back(random_trace(random, false, false));
    b.ranks.push_back(random_trace(random, false, false));
    Findings findings;
    const auto same = diff(a, a, findings), ab = diff(a, b, findings), ba = diff(b, a, findings);
    ASSERT_TRUE(same && ab && ba);
    EXPECT_EQ(same->added + same->removed + same->changed + same->edges_added + same->edges_removed, 0);
    EXPECT_TRUE(exceeding(*same, 0, 0).empty());
    EXPECT_EQ(ab->added, ba->removed);
    EXPECT_EQ(ab->removed, ba->added);
    EXPECT_EQ(ab->changed, ba->changed);
    EXPECT_EQ(ab->edges_added, ba->edges_removed);
    EXPECT_EQ(ab->nodes_b - ab->nodes_a, ab->added - ab->removed);
    EXPECT_EQ(ab->edges_b - ab->edges_a, ab->edges_added - ab->edges_removed);
  }
}

TEST(Diffs, ExceedTheThresholdInTimeStructureAndBytes) {
  const auto job = [](Picoseconds dur, int count, uint64_t bytes) {
    Builder b;
    for (int i = 0; i < count; ++i)
      b.trace.dur_ps.edit(b.add(b.trace.size() + 1, b.trace.strings.intern("gemm"), NodeType::comp)) = dur;
    const NodeId n = b.add(1000, b.trace.strings.intern("ar"), NodeType::coll);
    b.comm(n).type = CommType::all_reduce;
    b.comm(n).bytes = bytes;
    trace::TraceSet set;
    set.ranks.push_back(std::move(b).finish());
    return set;
  };
  Findings findings;
  const trace::TraceSet base = job(1000, 10, 64);
  const auto beyond = [&](const trace::TraceSet& other, double threshold) {
    const auto d = diff(base, other, findings);
    EXPECT_TRUE(d);
    return exceeding(*d, threshold, 0.01).size();
  };
  EXPECT_EQ(beyond(base, 0), 0u);
  EXPECT_EQ(beyond(job(1040, 10, 64), 0.05), 0u);
  EXPECT_EQ(beyond(job(1060, 10, 64), 0.05), 2u);  // the span and the kernel
  EXPECT_EQ(beyond(job(940, 10, 64), 0.05), 2u);
  EXPECT_GE(beyond(job(1000, 11, 64), 0.05), 1u);  // a node more
  EXPECT_GE(beyond(job(1000, 10, 128), 0.05), 1u);
}

}  // namespace
}  // namespace chakra::analyze
