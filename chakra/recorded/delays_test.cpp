// Delays against answers worked out by hand: one that shows, and one that slack hides.
#include "chakra/recorded/recorded.h"

#include <gtest/gtest.h>

#include "chakra/sim/sim.h"

namespace chakra::recorded {
namespace {

using sim::Congestion;
using sim::Delays;
using sim::SimInput;
using trace::NodeId;
using trace::NodeType;

constexpr Picoseconds kUs = kPsPerUs;
constexpr int kSteps = 3;

struct Piece {
  const char* name;
  int64_t us;
  NodeType type = NodeType::comp;
};

/// One thread that does the pieces one after the other; a collective ends when both ranks' have, 5 us after the later.
class Recorder {
 public:
  explicit Recorder(int64_t rank) {
    b_.trace.rank = rank;
    b_.trace.says_rank = true;
    lane_ = b_.lane({trace::Lane::Kind::thread, 1, 1});
    sim::set_recorded_start(b_.trace, {0, 0});
  }
  NodeId add(const Piece& piece, int64_t start_us) {
    const NodeId n = b_.add(++last_, b_.trace.strings.intern(piece.name), piece.type);
    b_.trace.flags.edit(n) = trace::kOnCpu | trace::kSaysCpuOrNot | trace::kHasDuration | trace::kHasStart;
    b_.trace.start_ps.edit(n) = start_us * kUs;
    b_.trace.dur_ps.edit(n) = piece.us * kUs;
    b_.trace.lane.edit(n) = lane_;
    if (piece.type == NodeType::coll) {
      trace::Comm& c = b_.comm(n);
      c.type = trace::CommType::all_reduce;
      c.bytes = 1 << 20;
    }
    if (n > 0) b_.dep(n, n - 1, 0);
    return n;
  }
  trace::Builder& builder() { return b_; }

 private:
  trace::Builder b_;
  uint64_t last_ = 0;
  uint32_t lane_ = 0;
};

/// Per step: rank 0 works 100 us, rank 1 works 60 us and 20 us, then both all-reduce for 5 us. Rank 1 has 20 us of
/// slack.
trace::TraceSet recorded_job() {
  trace::TraceSet job;
  Recorder ranks[2]{Recorder(0), Recorder(1)};
  for (int64_t step = 0; step < kSteps; ++step) {
    const int64_t at = step * 105;
    ranks[0].add({"work", 100}, at);
    ranks[0].add({"sum", 5, NodeType::coll}, at + 100);
    ranks[1].add({"work", 60}, at);
    ranks[1].add({"more work", 20}, at + 60);
    ranks[1].add({"sum", 25, NodeType::coll}, at + 80);
  }
  for (Recorder& rank : ranks) job.ranks.push_back(std::move(rank.builder()).finish());
  return job;
}

/// By how many us the job takes longer with these delays.
int64_t change(const std::vector<std::string>& texts, Congestion congestion = Congestion::closed) {
  int64_t total[2] = {};
  for (int with = 0; with < 2; ++with) {
    SimInput input;
    input.fabric.dimensions.push_back({net::TopologyKind::switch_, 2, 1, 0});
    input.job = recorded_job();
    input.congestion = congestion;
    input.transfers = *recorded_transfers(input.job, match::match(input.job));
    std::vector<DelayRule> rules;
    for (const std::string& text : texts) rules.push_back(*parse_delay(text));
    std::vector<int64_t> nodes;
    if (with) input.delays = find_delays(input.job, rules, nodes);
    const auto report = simulate(std::move(input));
    if (!report) return ADD_FAILURE() << report.error().message(), -1;
    total[with] = report->makespan_ps / kUs;
  }
  EXPECT_EQ(total[0], 105 * kSteps);
  return total[1] - total[0];
}

TEST(Delays, OneOnTheCriticalPathShows) { EXPECT_EQ(change({"0:work=7us"}), 7 * kSteps); }
TEST(Delays, OneWithinTheSlackIsHidden) { EXPECT_EQ(change({"1:work=20us"}), 0); }
TEST(Delays, OfOneLongerThanTheSlackTheRestShows) {
  for (const Congestion congestion : {Congestion::closed, Congestion::fluid, Congestion::packet})
    EXPECT_EQ(change({"1:work=50us"}, congestion), 30 * kSteps);
}
TEST(Delays, SeveralRulesAddUpAndSlackIsUsedOnce) {
  EXPECT_EQ(change({"1:work=15us", "1:more*=15us"}), 10 * kSteps);
  EXPECT_EQ(change({"1:*work=15us"}), 10 * kSteps);
}
TEST(Delays, WithoutARankAllAreDelayed) { EXPECT_EQ(change({"work=10us"}), 10 * kSteps); }
TEST(Delays, ACollectiveBeginsLater) {
  EXPECT_EQ(change({"1:sum=15us"}), 0);
  EXPECT_EQ(change({"1:sum=30us"}), 10 * kSteps);
  EXPECT_EQ(change({"0:sum=30us"}), 30 * kSteps);
}

TEST(Delays, NeitherSpeedNorDeviceScalesADelay) {
  SimInput input;
  input.fabric.dimensions.push_back({net::TopologyKind::switch_, 2, 1, 0});
  input.job = recorded_job();
  input.transfers = *recorded_transfers(input.job, match::match(input.job));
  input.system.unlike[0].speed = 2;
  input.system.unlike[1].speed = 2;
  std::vector<int64_t> nodes;
  input.delays = find_delays(input.job, {*parse_delay("0:work=7us")}, nodes);
  EXPECT_EQ(nodes, (std::vector<int64_t>{kSteps}));
  EXPECT_EQ(simulate(std::move(input))->makespan_ps / kUs, (50 + 7 + 5) * kSteps);
}

TEST(Delays, LaterPiecesOfAnOperationAreNotDelayedAgain) {
  Recorder rank(0);
  const NodeId whole = rank.add({"work", 10}, 0);
  rank.add({"child", 10}, 10);
  const NodeId piece = rank.add({"work", 10}, 20);
  rank.builder().trace.part_of.edit(piece) = whole;
  trace::TraceSet job;
  job.ranks.push_back(std::move(rank.builder()).finish());
  std::vector<int64_t> nodes;
  const Delays delays = find_delays(job, {*parse_delay("work=1us"), *parse_delay("3:work=1us")}, nodes);
  EXPECT_EQ(nodes, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(delays.of(0, whole), kUs);
  EXPECT_EQ(delays.of(0, piece), 0);
}

TEST(Delays, Texts) {
  const auto rule = parse_delay("12:aten::mm=1.5 ms");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->rank, 12);
  EXPECT_EQ(rule->pattern, "aten::mm");
  EXPECT_EQ(rule->time_ps, 1500 * kUs);
  EXPECT_EQ(parse_delay("aten::mm=3ps")->rank, std::nullopt);
  EXPECT_EQ(parse_delay("a=b=3ns")->pattern, "a=b");
  EXPECT_EQ(parse_delay("5=3s")->pattern, "5");
  for (const char* text :
       {"", "=", "1:=5ms", "work", "work=", "work=5", "work=ms", "work=-5ms", "work=0x10ms", "work=1e3ms", "work=010ms",
        "work=1_000ms", "work=nans", "work=99999999999999s", "99999999999999999999:a=1s"})
    EXPECT_EQ(parse_delay(text) ? "" : parse_delay(text).error().tag, "sim.delay") << text;
}

TEST(Delays, Patterns) {
  EXPECT_TRUE(matches_pattern("aten::*", "aten::mm"));
  EXPECT_TRUE(matches_pattern("*mm", "aten::mmmm"));
  EXPECT_TRUE(matches_pattern("a*b?d*", "aXXbcbcd"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_FALSE(matches_pattern("aten::m", "aten::mm"));
  EXPECT_FALSE(matches_pattern("?", ""));
  EXPECT_FALSE(matches_pattern("a*b", "aXXbc"));
  EXPECT_FALSE(matches_pattern(std::string(200, 'x') + "*y", std::string(100'000, 'x')));
  std::string stars;
  for (int i = 0; i < 200; ++i) stars += "*x";
  EXPECT_FALSE(matches_pattern(stars + "y", std::string(20'000, 'x')));
}

}  // namespace
}  // namespace chakra::recorded
