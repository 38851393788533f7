// Every schedule does all of a step's work, in an order that can be carried out, in the time of its formula.
#include "chakra/gen/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "chakra/base/testing/testing.h"

namespace chakra::gen {
namespace {

using testing::literal;

/// What a piece of the model has done with a micro-batch, and when.
struct Done {
  double forward = -1, gradient = -1, weights = -1;
};

/// Carries out a schedule where communication takes no time, knowing only what a pass needs: a forward that of the
/// piece before, an input gradient that of the piece after and its own forward, a weight gradient its input gradient.
struct Execution {
  Execution(const ScheduleRow& row, const Pipeline& p, const PassTimes& t)
      : row_(row),
        p_(p),
        t_(t),
        pieces_(p.stages * p.chunks / (row.name == "dualpipe" ? 2 : 1)),
        done_(static_cast<size_t>(pieces_ * p.micro_batches)) {
    std::vector<std::vector<Task>> tasks;
    for (int64_t s = 0; s < p.stages; ++s) tasks.push_back(row.tasks(p, s));
    std::vector<size_t> at(tasks.size());
    std::vector<double> free(tasks.size());
    busy.resize(tasks.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t s = 0; s < tasks.size(); ++s)
        while (at[s] < tasks[s].size()) {
          const bool pair = at[s] + 1 < tasks[s].size() && tasks[s][at[s] + 1].with_previous;
          double begin = std::max(free[s], ready(tasks[s][at[s]], s));
          if (pair) begin = std::max(begin, ready(tasks[s][at[s] + 1], s));
          if (begin == kNever) break;
          const double time = pair ? t.pair : time_of(tasks[s][at[s]].pass);
          free[s] = begin + time;
          busy[s] += time;
          for (int i = 0; i <= int{pair}; ++i) finish(tasks[s][at[s]++], s, free[s]);
          moved = true;
        }
    }
    for (size_t s = 0; s < tasks.size(); ++s) stuck += tasks[s].size() - at[s];
    for (const Done& d : done_) missing += d.forward < 0 || d.gradient < 0 || d.weights < 0;
    end = *std::ranges::max_element(free);
  }

  double least_idle() const { return end - *std::ranges::max_element(busy); }
  double most_idle() const { return end - *std::ranges::min_element(busy); }

  double end = 0;
  std::vector<double> busy;  ///< per stage
  size_t stuck = 0;          ///< tasks that could not begin
  size_t missing = 0;        ///< micro-batches of pieces that lack a pass
  size_t repeated = 0;       ///< passes done more than once

 private:
  static constexpr double kNever = 1e300;

  Done& of(const Task& task, size_t stage, int64_t step = 0) {
    const int64_t piece = row_.piece(p_, static_cast<int64_t>(stage), task.chunk) + step;
    return done_.at(static_cast<size_t>(piece * p_.micro_batches + task.micro_batch));
  }
  double time_of(Pass pass) const {
    if (pass == Pass::forward) return t_.forward;
    if (pass == Pass::backward) return t_.input_gradient + t_.weight_gradient;
    return pass == Pass::input_gradient ? t_.input_gradient : t_.weight_gradient;
  }
  double ready(const Task& task, size_t stage) {
    const int64_t piece = row_.piece(p_, static_cast<int64_t>(stage), task.chunk);
    const auto known = [](double time) { return time < 0 ? kNever : time; };
    if (task.pass == Pass::forward) return piece == 0 ? 0 : known(of(task, stage, -1).forward);
    if (task.pass == Pass::weight_gradient) return known(of(task, stage).gradient);
    const double own = known(of(task, stage).forward);
    return piece + 1 == pieces_ ? own : std::max(own, known(of(task, stage, 1).gradient));
  }
  void finish(const Task& task, size_t stage, double time) {
    Done& done = of(task, stage);
    const auto mark = [&](double& what) {
      repeated += what >= 0;
      what = time;
    };
    if (task.pass == Pass::forward) mark(done.forward);
    if (task.pass == Pass::backward || task.pass == Pass::input_gradient) mark(done.gradient);
    if (task.pass == Pass::backward || task.pass == Pass::weight_gradient) mark(done.weights);
  }

  const ScheduleRow& row_;
  const Pipeline p_;
  const PassTimes t_;
  const int64_t pieces_;
  std::vector<Done> done_;
};

PassTimes times(double f, double b, double w) { return {f, b, w, f + b + w}; }
const std::array kTimes{times(1, 1, 1), times(2, 3, 1), times(3, 3, 2),   times(100, 127, 100), times(7, 10, 7),
                        times(3, 1, 1), times(4, 3, 5), times(10, 3, 20), times(1, 1, 0),       times(1, 9, 2)};

/// Every pipeline that a schedule can run, of those that a test looks at.
template <typename Function>
void each_pipeline(const ScheduleRow& row, const Function& look) {
  for (int64_t p = 1; p <= 16; ++p)
    for (int64_t v = 1; v <= 4; ++v)
      for (const int64_t m : std::set<int64_t>{1, 2, 3, 7, p - 1, p, p + 1, 2 * p, 2 * p + 2, 3 * p, 4 * p, 64})
        if (const Pipeline pipeline{p, v, m}; m >= 1 && m <= 64 && row.refuse(pipeline).empty()) look(pipeline);
}

std::string show(const ScheduleRow& row, const Pipeline& p) {
  return std::string(row.name) + " p " + std::to_string(p.stages) + " v " + std::to_string(p.chunks) + " m " +
         std::to_string(p.micro_batches);
}

TEST(Schedules, DoAllWorkInTheTimeOfTheirFormula) {
  for (const ScheduleRow& row : schedules()) {
    int64_t looked = 0;
    each_pipeline(row, [&](const Pipeline& p) {
      for (const PassTimes& t : kTimes) {
        const Execution run(row, p, t);
        ASSERT_EQ(run.stuck + run.missing + run.repeated, 0) << show(row, p);
        const double idle = row.ideal_idle(p, t);
        ASSERT_EQ(run.least_idle(), idle)
            << show(row, p) << " " << t.forward << ":" << t.input_gradient << ":" << t.weight_gradient;
        ASSERT_EQ(run.most_idle(), idle) << show(row, p);
        ++looked;
      }
    });
    EXPECT_GE(looked, 200) << row.name;
  }
}

/// The formulas of the papers, written out here a second time, where they hold.
TEST(Schedules, HaveTheIdleTimesOfThePapers) {
  const auto idle = [](const char* name, const Pipeline& p, const PassTimes& t) {
    const Execution run(*find_schedule(name), p, t);
    EXPECT_EQ(run.least_idle(), run.most_idle());
    return run.most_idle();
  };
  for (const PassTimes& t : {times(1, 1, 1), times(3, 3, 2), times(100, 127, 100), times(10, 20, 5)}) {
    const double f = t.forward, b = t.input_gradient, w = t.weight_gradient;
    for (const int p : {1, 2, 3, 4, 7, 8, 16})
      for (const int m : {p, 2 * p, 4 * p}) {
        EXPECT_EQ(idle("gpipe", {p, 1, m}, t), (p - 1) * (f + b + w));
        EXPECT_EQ(idle("1f1b", {p, 1, m}, t), (p - 1) * (f + b + w));
        EXPECT_EQ(idle("zb-h1", {p, 1, m}, t), (p - 1) * (f + b - w));
        for (const int v : {2, 3, 4})
          if (p > 1) {
            EXPECT_EQ(v * idle("interleaved", {p, v, m}, t), (p - 1) * (v * f + v * b + v * w));
          }
        if (p % 2 == 0 && m >= 2 * p) {
          EXPECT_EQ(idle("dualpipe", {p, 2, m}, t), (p / 2 - 1) * (t.pair + b - 2 * w));
        }
      }
  }
}

TEST(Schedules, DualPipeOverlaps) {
  const ScheduleRow& row = *find_schedule("dualpipe");
  each_pipeline(row, [&](const Pipeline& p) {
    for (PassTimes t : kTimes) {
      const double whole = t.pair, least = std::max(t.forward, t.input_gradient + t.weight_gradient);
      for (const double pair : {least, (least + whole) / 2, whole}) {
        t.pair = pair;
        EXPECT_EQ(Execution(row, p, t).most_idle(), row.ideal_idle(p, t)) << show(row, p);
      }
    }
  });
}

/// What tasks say of a stage, counted anew: from each forward to the last gradient of the same.
int64_t most_in_flight(const std::vector<Task>& tasks) {
  std::map<std::tuple<int64_t, int64_t>, std::pair<size_t, size_t>> span;
  for (size_t i = 0; i < tasks.size(); ++i) {
    auto& [first, last] = span[{tasks[i].chunk, tasks[i].micro_batch}];
    if (tasks[i].pass == Pass::forward) first = i;
    last = std::max(last, i);
  }
  size_t most = 0;
  for (size_t i = 0; i < tasks.size(); ++i)
    most = std::max<size_t>(
        most, std::ranges::count_if(span, [&](const auto& s) { return s.second.first <= i && i <= s.second.second; }));
  return static_cast<int64_t>(most);
}

TEST(Schedules, MicroBatchesInFlight) {
  const auto expected = [](const std::string_view name, const Pipeline& p, int64_t stage) -> int64_t {
    const int64_t m = p.micro_batches;
    if (name == "gpipe") return m;
    if (name == "1f1b") return std::min(m, p.stages - stage);
    if (name == "zb-h1") return std::min(m, p.stages);
    if (name == "dualpipe") return p.stages + 1;
    return std::min(m * p.chunks, 2 * (p.stages - 1 - stage) + (p.chunks - 1) * p.stages + 1);
  };
  for (const ScheduleRow& row : schedules())
    each_pipeline(row, [&](const Pipeline& p) {
      for (int64_t stage = 0; stage < p.stages; ++stage) {
        const std::vector<Task> tasks = row.tasks(p, stage);
        EXPECT_EQ(in_flight(tasks), expected(row.name, p, stage)) << show(row, p) << " stage " << stage;
        if (p.micro_batches <= 16) {
          EXPECT_EQ(in_flight(tasks), most_in_flight(tasks)) << show(row, p) << " stage " << stage;
        }
      }
    });
  // generation.md: p (1 + (p-1) / (p v)) whole micro-batches
  const Pipeline p{8, 4, 64};
  EXPECT_EQ(static_cast<double>(in_flight(find_schedule("interleaved")->tasks(p, 0))) / 4, 8 * (1 + 7.0 / 32));
}

TEST(Schedules, PiecesAreDealtOutSoThatNeighboursHoldNeighbours) {
  for (const ScheduleRow& row : schedules())
    each_pipeline(row, [&](const Pipeline& p) {
      std::map<int64_t, int64_t> holders;
      for (int64_t s = 0; s < p.stages; ++s)
        for (int64_t c = 0; c < p.chunks; ++c) {
          const int64_t piece = row.piece(p, s, c);
          ++holders[piece];
          if (piece + 1 == pieces(row, p)) continue;
          const int64_t step = row.name == "dualpipe" && c == 1 ? -1 : 1;
          const int64_t next = (s + step + p.stages) % p.stages;
          const int64_t chunk = next < s && step == 1 ? c + 1 : c;
          EXPECT_EQ(row.piece(p, next, chunk), piece + 1) << show(row, p);
        }
      EXPECT_EQ(holders.size(), pieces(row, p)) << show(row, p);
      EXPECT_EQ(holders.rbegin()->first, pieces(row, p) - 1) << show(row, p);
      for (const auto& [piece, count] : holders) EXPECT_EQ(count, row.copies) << show(row, p) << " piece " << piece;
    });
}

TEST(Schedules, KeepMicroBatchesOfAChunkInOrder) {
  for (const ScheduleRow& row : schedules())
    each_pipeline(row, [&](const Pipeline& p) {
      for (int64_t s = 0; s < p.stages; ++s) {
        std::map<std::pair<Pass, int64_t>, int64_t> last;
        for (Task task : row.tasks(p, s)) {
          if (task.pass == Pass::input_gradient) task.pass = Pass::backward;
          const auto [at, first] = last.try_emplace({task.pass, task.chunk}, -1);
          EXPECT_LT(at->second, task.micro_batch) << show(row, p);
          at->second = task.micro_batch;
        }
      }
    });
}

TEST(Schedules, DualPipeIsItsOwnMirrorImage) {
  const ScheduleRow& row = *find_schedule("dualpipe");
  each_pipeline(row, [&](const Pipeline& p) {
    const int64_t half = p.micro_batches / 2;
    for (int64_t s = 0; s < p.stages; ++s) {
      const std::vector<Task> down = row.tasks(p, s), up = row.tasks(p, p.stages - 1 - s);
      ASSERT_EQ(down.size(), up.size());
      for (size_t i = 0; i < down.size(); ++i) {
        EXPECT_EQ(down[i].pass, up[i].pass);
        EXPECT_EQ(down[i].chunk, 1 - up[i].chunk);
        EXPECT_EQ(down[i].micro_batch % half, up[i].micro_batch % half);
        EXPECT_EQ(down[i].micro_batch / half, down[i].chunk);
        if (!down[i].with_previous) continue;
        ASSERT_GT(i, 0);
        EXPECT_EQ(down[i].pass, Pass::backward);
        EXPECT_EQ(down[i - 1].pass, Pass::forward);
        EXPECT_NE(down[i - 1].chunk, down[i].chunk);
        EXPECT_FALSE(down[i - 1].with_previous);
      }
    }
  });
}

TEST(Schedules, RefuseWhatCannotBe) {
  const auto refused = [](const char* name, const Pipeline& p) { return !find_schedule(name)->refuse(p).empty(); };
  for (const char* name : {"gpipe", "1f1b", "zb-h1"}) {
    EXPECT_FALSE(refused(name, {1, 1, 1}));
    EXPECT_TRUE(refused(name, {2, 2, 2}));
  }
  EXPECT_FALSE(refused("interleaved", {4, 2, 8}));
  EXPECT_TRUE(refused("interleaved", {4, 1, 8}));
  EXPECT_TRUE(refused("interleaved", {1, 2, 8}));
  EXPECT_TRUE(refused("interleaved", {4, 2, 6}));
  EXPECT_TRUE(refused("interleaved", {4, 2, 2}));
  EXPECT_FALSE(refused("dualpipe", {4, 2, 8}));
  EXPECT_FALSE(refused("dualpipe", {2, 2, 4}));
  EXPECT_TRUE(refused("dualpipe", {4, 1, 8}));
  EXPECT_TRUE(refused("dualpipe", {3, 2, 8}));
  EXPECT_TRUE(refused("dualpipe", {4, 2, 9}));
  EXPECT_TRUE(refused("dualpipe", {4, 2, 6}));
  EXPECT_TRUE(refused("dualpipe", {INT64_MAX - 1, 2, INT64_MAX - 1}));
  EXPECT_EQ(find_schedule("2f2b"), nullptr);
}

TEST(Schedules, StopAtWhatTheyRefuse) {
  EXPECT_DEATH(find_schedule("1f1b")->tasks({2, 1, 1}, 2), literal("stage >= 0 && stage < p.stages"));
  EXPECT_DEATH(find_schedule("gpipe")->tasks({0, 1, 1}, 0), literal("p.stages >= 1"));
  EXPECT_DEATH(find_schedule("interleaved")->tasks({4, 2, 6}, 0), literal("p.micro_batches % p.stages == 0"));
  EXPECT_DEATH(find_schedule("dualpipe")->tasks({4, 2, 6}, 0), literal("refuse_dual_pipe(p).empty()"));
}

}  // namespace
}  // namespace chakra::gen
