// Features of known traces; selections against brute force, planted families, and definitions computed anew.
#include "chakra/synth/synth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "chakra/base/testing/testing.h"

namespace chakra::synth {
namespace {

using trace::CommType;
using trace::NodeType;

// ---- features ------------------------------------------------------------------------------------------------

struct Collective {
  CommType type;
  uint64_t bytes;
  const char* group = "";
  const char* split = "";
};

trace::Trace trace_of(const std::vector<Collective>& collectives, uint64_t ops = 0) {
  trace::Builder b;
  uint64_t id = 1;
  if (ops) {
    const trace::NodeId n = b.add(id++, b.trace.strings.intern("work"), NodeType::comp);
    b.trace.num_ops.resize(1);
    b.trace.num_ops.edit(n) = ops;
  }
  for (const Collective& c : collectives) {
    const trace::NodeId n = b.add(id++, b.trace.strings.intern("comm"), NodeType::coll);
    trace::Comm& comm = b.comm(n);
    comm.type = c.type;
    comm.bytes = c.bytes;
    comm.group = b.trace.strings.intern(c.group);
    comm.in_split = c.split;
  }
  return std::move(b).finish();
}

double value(const std::vector<double>& values, std::string_view name) {
  for (size_t f = 0; f < features().size(); ++f)
    if (features()[f].name == name) return values[f];
  ADD_FAILURE() << name;
  return 0;
}

TEST(Attributes, TakeNoFlagForANumberOfExperts) {
  trace::Trace t = trace_of({{CommType::all_to_all, 4096, "ep"}});
  t.metadata.push_back({t.strings.intern("experts"), int64_t{1}});  // as the generator says: there are experts
  AttributeGuess guess;
  guess.add(t);
  EXPECT_EQ(guess.finish().experts, 0);
}

TEST(Features, OfAKnownJob) {
  JobFeatures job;
  job.add(trace_of(
              {{CommType::all_reduce, 1023, "dp"}, {CommType::all_gather, 1023, "tp"}, {CommType::all_reduce, 0, "dp"}},
              2046),
          3);
  job.add(trace_of({{CommType::all_reduce, 1023, "dp"}}, 0), 1);
  const std::vector<double> is = job.finish();
  // Of all ranks: 3 x (2 all-reduces, 1 all-gather) + 1 all-reduce; 3 x 1023 + 1023 and 3 x 1023 bytes.
  EXPECT_NEAR(value(is, "count_all_gather"), std::log2(1 + 300.0), 1e-12);
  EXPECT_NEAR(value(is, "bytes_all_gather"), std::log2(1 + 3000.0 / 7), 1e-12);
  EXPECT_EQ(value(is, "count_reduce"), 0);
  EXPECT_NEAR(value(is, "role_dp"), 4.0 / 7, 1e-12);
  EXPECT_NEAR(value(is, "role_tp"), 3.0 / 7, 1e-12);
  EXPECT_EQ(value(is, "ranks"), 2);
  EXPECT_NEAR(value(is, "size_p50"), (3 * 10 + 10) / 4.0, 1e-12);
  EXPECT_NEAR(value(is, "size_p10"), (3 * 2 + 10) / 4.0, 1e-12);  // between 0 and 10, a fifth of the way
  EXPECT_NEAR(value(is, "bytes_per_op"), std::log2((7.0 * 1023 + 1) / (3 * 2046)), 1e-12);
  EXPECT_TRUE(std::isnan(value(is, "overlap")));
  EXPECT_TRUE(std::isnan(value(is, "time_ratio")));
  EXPECT_EQ(value(is, "imbalance"), 0);
}

TEST(Features, OfUnevenPartsAndSequences) {
  JobFeatures uneven, alternating, steady;
  uneven.add(trace_of({{CommType::all_to_all, 16, "ep", "[1, 1, 1, 5]"}, {CommType::all_to_all, 8, "ep", "[1, 1]"}}),
             1);
  EXPECT_NEAR(value(uneven.finish(), "imbalance"), (std::log2(2.5) + 0) / 2, 1e-12);
  std::vector<Collective> turns, same(10, {CommType::all_reduce, 64});
  for (int i = 0; i < 100; ++i) turns.push_back({CommType::all_reduce, i % 2 ? uint64_t{0} : uint64_t{1023}});
  alternating.add(trace_of(turns), 1);
  EXPECT_NEAR(value(alternating.finish(), "autocorrelation"), -0.99, 1e-12);
  steady.add(trace_of(same), 1);
  EXPECT_EQ(value(steady.finish(), "autocorrelation"), 1);
}

TEST(Features, OfTimes) {
  trace::Builder b;
  const auto add = [&](NodeType type, int64_t start, int64_t length) {
    const trace::NodeId n = b.add(b.trace.id.size() + 1, b.trace.strings.intern("x"), type);
    b.trace.flags.edit(n) = trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot;  // on a device
    b.trace.start_ps.edit(n) = start;
    b.trace.dur_ps.edit(n) = length;
  };
  add(NodeType::comp, 0, 100);
  add(NodeType::coll, 50, 100);
  add(NodeType::coll, 100, 100);  // together from 50 to 200, 50 of it beside the computation
  JobFeatures job;
  job.add(std::move(b).finish(), 8);
  EXPECT_NEAR(value(job.finish(), "overlap"), 50.0 / 150, 1e-12);
  EXPECT_NEAR(value(job.finish(), "time_ratio"), std::log2(1.5), 1e-12);
}

TEST(Features, ClassesAreAsGoodAsRanks) {
  const trace::Trace a = trace_of({{CommType::all_reduce, 100}, {CommType::broadcast, 7}}, 5);
  JobFeatures classes, ranks;
  classes.add(a, 5);
  for (int i = 0; i < 5; ++i) ranks.add(a, 1);
  const std::vector<double> x = classes.finish(), y = ranks.finish();
  for (size_t f = 0; f < x.size(); ++f)
    if (!std::isnan(x[f])) EXPECT_NEAR(x[f], y[f], 1e-12) << features()[f].name;
}

TEST(Scaling, IsRobustAndKeepsUnknownInTheMiddle) {
  std::vector<std::vector<double>> rows(5, std::vector<double>(features().size(), 3));
  const double first[] = {1, 2, 3, 4, 1000};
  for (size_t i = 0; i < 5; ++i) rows[i][0] = first[i];
  for (size_t i = 0; i < 5; ++i) rows[i][1] = i == 4 ? 8 : 3;  // the median deviation is 0
  rows[0][2] = std::numeric_limits<double>::quiet_NaN();
  const ScaledFleet fleet = scale(rows);
  EXPECT_EQ(fleet.points.dimensions(), 2U);
  EXPECT_EQ(fleet.scales[0].middle, 3);
  EXPECT_NEAR(fleet.scales[0].scale, 1.4826, 1e-12);
  EXPECT_NEAR(fleet.points.at(3, 0), 1 / 1.4826, 1e-6);
  EXPECT_EQ(fleet.points.at(4, 0), 10);  // 672 without an end
  EXPECT_NEAR(fleet.scales[1].scale, 1.2533, 1e-12);
  EXPECT_EQ(fleet.scales[2].unknown, 1U);
  EXPECT_EQ(fleet.scales[2].scale, 0);
}

// ---- selection -----------------------------------------------------------------------------------------------

Points random_points(Prng& random, size_t count, size_t dimensions) {
  Points p{count, {}};
  for (size_t i = 0; i < count * dimensions; ++i)
    p.values.push_back(static_cast<float>(random.between(-1000, 1000)) / 100.0F);
  return p;
}

double sum_of_distances(const Points& p, const std::vector<size_t>& chosen) {
  double sum = 0;
  for (size_t i = 0; i < p.points; ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (const size_t m : chosen) least = std::min(least, distance(p, i, m));
    sum += least;
  }
  return sum;
}
double similarity(const Points& p, const std::vector<size_t>& chosen, double sigma) {
  double sum = 0;
  for (size_t i = 0; i < p.points; ++i) {
    double most = 0;
    for (const size_t m : chosen) {
      const double d = distance(p, i, m);
      most = std::max(most, std::exp(-d * d / (2 * sigma * sigma)));
    }
    sum += most;
  }
  return sum;
}

TEST(Select, IsNearTheOptimumOfEverySubset) {
  Prng random(7);
  double worst_greedy = 1;
  for (int turn = 0; turn < 60; ++turn) {
    const size_t count = 5 + random.below(10), k = 1 + random.below(4);
    const Points p = random_points(random, count, 1 + random.below(4));
    const auto medoids = select(p, k, Method::medoids), facility = select(p, k, Method::facility);
    ASSERT_TRUE(medoids && facility);
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (uint32_t set = 0; set < 1U << count; ++set) {
      if (static_cast<size_t>(std::popcount(set)) != k) continue;
      std::vector<size_t> chosen;
      for (size_t i = 0; i < count; ++i)
        if (set >> i & 1) chosen.push_back(i);
      least = std::min(least, sum_of_distances(p, chosen));
      most = std::max(most, similarity(p, chosen, facility->sigma));
    }
    EXPECT_LE(sum_of_distances(p, medoids->chosen), 1.02 * least + 1e-4) << turn;
    worst_greedy = std::min(worst_greedy, similarity(p, facility->chosen, facility->sigma) / most);
  }
  EXPECT_GE(worst_greedy, 0.9);  // the theorem says 0.63
}

TEST(Select, StatesWhatItChose) {
  Prng random(3);
  const Points p = random_points(random, 40, 3);
  const auto is = select(p, 5, Method::medoids);
  ASSERT_TRUE(is);
  ASSERT_EQ(is->chosen.size(), 5U);
  EXPECT_TRUE(std::is_sorted(is->chosen.begin(), is->chosen.end()));
  EXPECT_NEAR(std::accumulate(is->weights.begin(), is->weights.end(), 0.0), 1, 1e-9);
  for (const double weight : is->weights) EXPECT_GE(weight, 0);
  size_t covered = 0;
  double sum = 0;
  for (size_t i = 0; i < p.points; ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (const size_t m : is->chosen) least = std::min(least, distance(p, i, m));
    EXPECT_NEAR(is->distance[i], least, 1e-4);
    EXPECT_NEAR(distance(p, i, is->chosen[is->nearest[i]]), least, 1e-4);
    covered += least <= is->radius + 1e-6;
    sum += least;
  }
  EXPECT_NEAR(is->covered, static_cast<double>(covered) / 40, 1e-9);
  EXPECT_NEAR(is->mean_distance, sum / 40, 1e-4);
  EXPECT_EQ(std::accumulate(is->represented.begin(), is->represented.end(), size_t{0}), 40U);
  for (size_t row = 1; row < is->coverage.size(); ++row) {
    EXPECT_GE(is->coverage[row].covered, is->coverage[row - 1].covered);
    EXPECT_LE(is->coverage[row].mean_distance, is->coverage[row - 1].mean_distance);
  }
  EXPECT_EQ(is->coverage.back().covered, 1);  // 40 jobs of 40
}

TEST(Select, AllJobsAreTheFleet) {
  Prng random(4);
  for (const Method method : {Method::medoids, Method::facility}) {
    const auto is = select(random_points(random, 9, 2), 9, method);
    ASSERT_TRUE(is);
    EXPECT_EQ(is->covered, 1);
    EXPECT_EQ(is->mean_distance, 0);
    EXPECT_NEAR(is->difference, 0, 1e-3);
  }
}

TEST(Select, EqualJobsAndNoDimensions) {
  for (const Method method : {Method::medoids, Method::facility}) {
    const auto none = select(Points{4, {}}, 2, method);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->chosen, (std::vector<size_t>{0, 1}));
    const auto pairs = select(Points{6, {0, 0, 0, 9, 9, 9}}, 2, method);
    ASSERT_TRUE(pairs);
    EXPECT_EQ(pairs->chosen, (std::vector<size_t>{0, 3}));
    EXPECT_NEAR(pairs->weights[0], 0.5, 1e-6);
    const auto one = select(Points{1, {5}}, 1, method);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->chosen, std::vector<size_t>{0});
  }
}

/// Jobs of twelve families, whose sizes fall as 1, 1/2, 1/3, ...
Points families(Prng& random, size_t count, std::vector<size_t>& family) {
  constexpr size_t kFamilies = 12, kDimensions = 20;
  std::vector<float> centres;
  for (size_t i = 0; i < kFamilies * kDimensions; ++i)
    centres.push_back(static_cast<float>(random.between(-400, 400)) / 100);
  double sum = 0;
  for (size_t f = 1; f <= kFamilies; ++f) sum += 1.0 / static_cast<double>(f);
  family.clear();
  for (size_t f = 0; f < kFamilies; ++f)
    for (size_t i = 0; i < static_cast<size_t>(static_cast<double>(count) / (static_cast<double>(f + 1) * sum)); ++i)
      family.push_back(f);
  while (family.size() < count) family.push_back(0);
  Points p{count, std::vector<float>(count * kDimensions)};
  for (size_t d = 0; d < kDimensions; ++d)
    for (size_t i = 0; i < count; ++i)
      p.values[d * count + i] =
          centres[family[i] * kDimensions + d] + static_cast<float>(random.between(-100, 100)) / 200;
  return p;
}

TEST(Select, FindsPlantedFamilies) {
  int all_found = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Prng random(seed);
    std::vector<size_t> family;
    const Points p = families(random, 1000, family);
    const auto twelve = select(p, 12, Method::medoids), fifty = select(p, 50, Method::facility);
    ASSERT_TRUE(twelve && fifty);
    std::set<size_t> found;
    for (const size_t chosen : twelve->chosen) found.insert(family[chosen]);
    all_found += found.size() == 12;
    EXPECT_GE(fifty->covered, 0.95) << seed;
    EXPECT_LE(twelve->difference, 0.6 * twelve->random_difference) << seed;
  }
  EXPECT_GE(all_found, 9);
}

TEST(Plane, HasTheDirectionsOfTheLargestSpread) {
  Prng random(5);
  Points p{200, {}};
  std::vector<float> x, y, z;
  for (int i = 0; i < 200; ++i) {
    x.push_back(static_cast<float>(random.between(-1000, 1000)));
    y.push_back(static_cast<float>(random.between(-100, 100)));
    z.push_back(static_cast<float>(random.between(-1, 1)));
  }
  for (const auto* column : {&z, &x, &y}) p.values.insert(p.values.end(), column->begin(), column->end());
  const auto at = plane(p);
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / 200;
  for (size_t i = 0; i < 200; ++i) EXPECT_NEAR(std::abs(at[i][0]), std::abs(x[i] - mean), 60) << i;
}

}  // namespace
}  // namespace chakra::synth
