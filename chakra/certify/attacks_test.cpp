// Attacks and figures of fidelity on jobs of known truth, and definitions computed anew by brute force.
#include "chakra/certify/certify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "chakra/base/testing/testing.h"

namespace chakra::certify {
namespace {

using trace::CommType;
using trace::NodeType;

struct Collective {
  CommType type;
  uint64_t bytes;
  const char* group = "dp";
};

trace::Trace trace_of(const std::vector<Collective>& collectives, int64_t rank = 0) {
  trace::Builder b;
  uint64_t id = 1;
  b.trace.rank = rank;
  for (const Collective& c : collectives) {
    const trace::NodeId work = b.add(id++, b.trace.strings.intern("work"), NodeType::comp);
    b.trace.dur_ps.edit(work) = static_cast<Picoseconds>(1000 + c.bytes);
    b.trace.flags.edit(work) |= trace::kHasDuration;
    const trace::NodeId n = b.add(id++, b.trace.strings.intern("comm"), NodeType::coll);
    trace::Comm& comm = b.comm(n);
    comm.type = c.type;
    comm.bytes = c.bytes;
    comm.group = b.trace.strings.intern(c.group);
    b.dep(n, work, 0);
  }
  return std::move(b).finish();
}
Profile profile_of(const std::vector<Collective>& collectives, int64_t ranks = 4) {
  ProfileBuilder builder;
  builder.add(trace_of(collectives), ranks);
  return std::move(builder).finish();
}

/// A job of equal layers; `factor` changes every size.
std::vector<Collective> layers(size_t count, uint64_t factor = 1) {
  std::vector<Collective> all;
  for (size_t i = 0; i < count; ++i) {
    all.push_back({CommType::all_gather, factor * (4096 + 64 * i), "tp"});
    all.push_back({CommType::reduce_scatter, factor * 4096, "tp"});
  }
  all.push_back({CommType::all_reduce, factor * 1'000'000, "dp"});
  return all;
}

Counts random_counts(Prng& random, size_t values) {
  Counts counts;
  for (size_t i = 0; i < values; ++i) counts[1 + random.below(1000)] += 1 + random.between(0, 5);
  return counts;
}
std::vector<double> expanded(const Counts& counts) {
  std::vector<double> all;
  for (const auto& [value, count] : counts)
    all.insert(all.end(), static_cast<size_t>(count), static_cast<double>(value));
  return all;
}

// ---- a copy, and jobs with other sizes ---------------------------------------------------------------------------

TEST(Attacks, SucceedOnACopy) {
  const Profile job = profile_of(layers(10)), copy = profile_of(layers(10));
  SizePairs pairs;
  add_pairs(job, pairs);
  const ExactSizes sizes = exact_sizes(job, copy, pairs);
  EXPECT_EQ(sizes.equal.tries, 12);  // 10 gathers, a scatter and a reduction
  EXPECT_EQ(sizes.equal.hits, 12);
  EXPECT_EQ(sizes.rare, 12);
  EXPECT_EQ(sizes.supported, 0);
  EXPECT_EQ(longest(copy.sequences), 21U);
  EXPECT_EQ(longest_common_run(copy.sequences, job.sequences), 21U);
  EXPECT_EQ(distance_of_multisets(job, copy), 0);
  for (const Figure& figure : fidelity_of(job, copy)) EXPECT_EQ(figure.value, 0) << figure.metric << figure.of;
}

TEST(Attacks, FindNothingWhereAllSizesChanged) {
  const Profile job = profile_of(layers(10)), other = profile_of(layers(10, 3));
  SizePairs pairs;
  add_pairs(job, pairs);
  const ExactSizes sizes = exact_sizes(job, other, pairs);
  EXPECT_EQ(sizes.equal.tries, 12);
  EXPECT_EQ(sizes.equal.hits, 0);
  EXPECT_EQ(sizes.rare, 0);
  EXPECT_EQ(longest_common_run(other.sequences, job.sequences), 0U);
  double most = 0;
  for (const Figure& figure : fidelity_of(job, other)) {
    if (figure.metric == "wasserstein") {
      EXPECT_NEAR(figure.value, std::log2(3), 1e-12);
    }
    if (figure.metric == "bytes") {
      EXPECT_NEAR(figure.value, 2, 1e-12);
    }
    if (figure.metric == "kinds" || figure.metric == "order_of_kinds") {
      EXPECT_EQ(figure.value, 0);
    }
    most = std::max(most, figure.value);
  }
  EXPECT_GT(most, 1);
}

TEST(Attacks, CountTheJobsWithASize) {
  const Profile job = profile_of(layers(3));
  SizePairs pairs;
  for (int64_t known = 1; known <= kManyJobs; ++known) {
    add_pairs(job, pairs);
    EXPECT_EQ(exact_sizes(job, job, pairs).rare, known < kManyJobs ? 5 : 0);
    EXPECT_EQ(exact_sizes(job, job, pairs).supported, known < kManyJobs ? 0 : 5);
  }
}

TEST(Attacks, TakeTheNearestSizeOfAKind) {
  const SizePairs jobs{{{0, 100}, 1}, {{0, 200}, 1}, {{0, 400}, 1}, {{1, 150}, 1}};
  const auto hits = [&](uint8_t kind, uint64_t before, uint64_t after) {
    const Tries tries = nearest_sizes({{kind, before, after}}, jobs);
    EXPECT_EQ(tries.tries, 1);
    return tries.hits;
  };
  EXPECT_EQ(hits(0, 200, 150), 1);  // 200 / 150 is less than 150 / 100
  EXPECT_EQ(hits(0, 100, 150), 0);
  EXPECT_EQ(hits(0, 100, 140), 1);
  EXPECT_EQ(hits(0, 400, 5000), 1);
  EXPECT_EQ(hits(0, 100, 1), 1);
  EXPECT_EQ(hits(0, 200, 200), 1);
  EXPECT_EQ(hits(1, 150, 7), 1);
  EXPECT_EQ(hits(2, 150, 150), 0);  // no job has this kind
}

TEST(Attacks, HitByChance) {
  EXPECT_EQ(probability({5, 0}, 0.25), 1);
  EXPECT_EQ(probability({5, 1}, 0), 0);
  EXPECT_EQ(probability({5, 5}, 1), 1);
  EXPECT_NEAR(probability({1, 1}, 0.25), 0.25, 1e-12);
  EXPECT_NEAR(probability({3, 3}, 0.25), 1.0 / 64, 1e-12);
  EXPECT_NEAR(probability({2, 1}, 0.25), 7.0 / 16, 1e-12);
  EXPECT_NEAR(probability({1'000, 300}, 0.25), 2.0e-4, 1e-4);  // 3.65 standard deviations above the mean
}

TEST(Attacks, RankCandidates) {
  const auto of = [](std::vector<double> distances) { return identify(distances); };
  EXPECT_EQ(of({0.5, 1, 2}).rank, 1);
  EXPECT_EQ(of({0.5, 1, 2}).success(), 1);
  EXPECT_EQ(of({1, 0.5, 2}).rank, 2);
  EXPECT_EQ(of({1, 0.5, 2}).success(), 0);
  EXPECT_EQ(of({1, 1, 1, 3}).as_near, 3);
  EXPECT_NEAR(of({1, 1, 1, 3}).success(), 1.0 / 3, 1e-15);
}

TEST(Attacks, FindTheOriginalAmongOthers) {
  std::vector<Profile> jobs;
  for (size_t n = 2; n < 12; ++n) jobs.push_back(profile_of(layers(n, n)));
  const Profile target = profile_of(layers(7, 7));
  std::vector<double> distances{distance_of_multisets(target, jobs[5])};
  std::vector<std::vector<double>> features{jobs[5].features};
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (i == 5) continue;
    distances.push_back(distance_of_multisets(target, jobs[i]));
    features.push_back(jobs[i].features);
    EXPECT_NEAR(distances.back(), distance_of_multisets(jobs[i], target), 1e-12);
  }
  EXPECT_EQ(identify(distances).success(), 1);
  EXPECT_EQ(identify(distances_of_features(target.features, features)).success(), 1);
}

TEST(Attacks, FindTheLongestCommonRun) {
  Prng random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const auto sequence = [&] {
      Sequence s{{}, 1};
      for (int64_t n = random.between(0, 40); n > 0; --n) s.tokens.push_back(random.below(3));
      return s;
    };
    const std::vector<Sequence> a{sequence(), sequence()}, b{sequence(), sequence(), sequence()};
    size_t most = 0;
    for (const Sequence& x : a)
      for (const Sequence& y : b)
        for (size_t i = 0; i < x.tokens.size(); ++i)
          for (size_t j = 0; j < y.tokens.size(); ++j) {
            size_t run = 0;
            while (i + run < x.tokens.size() && j + run < y.tokens.size() && x.tokens[i + run] == y.tokens[j + run])
              ++run;
            most = std::max(most, run);
          }
    EXPECT_EQ(longest_common_run(a, b), most);
  }
}

// ---- definitions -------------------------------------------------------------------------------------------------

TEST(Fidelity, DistributionsAsByBruteForce) {
  Prng random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Counts a = random_counts(random, 1 + random.below(20)), b = random_counts(random, 1 + random.below(20));
    const std::vector<double> x = expanded(a), y = expanded(b);
    double ks = 0;
    for (double at = 0; at <= 1001; ++at) {
      const auto share = [&](const std::vector<double>& v) {
        return static_cast<double>(std::count_if(v.begin(), v.end(), [&](double value) { return value <= at; })) /
               static_cast<double>(v.size());
      };
      ks = std::max(ks, std::abs(share(x) - share(y)));
    }
    EXPECT_NEAR(kolmogorov_smirnov(a, b), ks, 1e-12);
    double distance = 0;  // of quantiles, at steps that both sizes divide
    const size_t steps = x.size() * y.size();
    for (size_t q = 0; q < steps; ++q)
      distance += std::abs(std::log2(x[q / y.size()]) - std::log2(y[q / x.size()])) / static_cast<double>(steps);
    EXPECT_NEAR(wasserstein(a, b), distance, 1e-9);
  }
}

TEST(Fidelity, CompositionByHand) {
  using Row = std::vector<int64_t>;
  EXPECT_EQ(cramers_v(Row{10, 20}, Row{10, 20}), 0);
  EXPECT_EQ(cramers_v(Row{10, 20}, Row{1000, 2000}), 0);
  EXPECT_NEAR(cramers_v(Row{60, 40}, Row{50, 50}), 0.2, 1e-12);        // chi^2 = 2 + 2 = 4 of 100
  EXPECT_NEAR(cramers_v(Row{55, 41, 4}, Row{50, 48, 2}), 0.1, 1e-12);  // the small cell joins: 45 of 50 expected
  EXPECT_EQ(cramers_v(Row{10, 5}, Row{10, 0}), 1);                     // a kind that the original lacks
  EXPECT_EQ(cramers_v(Row{0, 0}, Row{0, 0}), 0);
  EXPECT_EQ(cramers_v(Row{0, 0}, Row{1, 0}), 1);
}

TEST(Fidelity, OrderOfNetworks) {
  using Row = std::vector<double>;
  EXPECT_EQ(kendall_tau(Row{1, 2, 3}, Row{5, 6, 7}, 0.05), 1);
  EXPECT_EQ(kendall_tau(Row{1, 2, 3}, Row{7, 6, 5}, 0.05), -1);
  EXPECT_NEAR(kendall_tau(Row{1, 2, 3}, Row{6, 5, 7}, 0.05), 1.0 / 3, 1e-15);
  EXPECT_EQ(kendall_tau(Row{100, 101}, Row{7, 6}, 0.05), 1);  // too near to have an order
}

TEST(Fidelity, AutocorrelationsOfAPeriod) {
  std::vector<Collective> all;
  for (size_t i = 0; i < 200; ++i)
    all.push_back({i % 2 ? CommType::all_gather : CommType::all_reduce, i % 2 ? 64u : 16u});
  const Profile job = profile_of(all);
  EXPECT_NEAR(job.types[0], -0.5, 1e-12);  // never equal, and equal by chance in half of the cases
  EXPECT_NEAR(job.types[1], 0.5, 1e-12);
  EXPECT_NEAR(job.order[0], -199.0 / 200, 1e-12);
  EXPECT_NEAR(job.order[1], 198.0 / 200, 1e-12);
  EXPECT_TRUE(std::isnan(profile_of({{CommType::barrier, 0}}).types[0]));
  EXPECT_EQ(rms_difference(job.types, job.types), 0);
}

TEST(Fidelity, RoundsUp) {
  EXPECT_EQ(rounded_up(0, 1), 0);
  EXPECT_EQ(rounded_up(1e-9, 1), 1e-3);
  EXPECT_NEAR(rounded_up(0.0011, 1), 2e-3, 1e-15);
  EXPECT_NEAR(rounded_up(0.02, 1), 0.02, 1e-15);
  EXPECT_NEAR(rounded_up(0.0201, 1), 0.05, 1e-15);
  EXPECT_EQ(rounded_up(0.06, 0.08), 0.08);          // not above a limit that holds
  EXPECT_NEAR(rounded_up(0.09, 0.08), 0.1, 1e-15);  // and above one that does not
  EXPECT_NEAR(rounded_up(3, 0.08), 5, 1e-12);
  EXPECT_EQ(rounded_up(1e300, 1), 1e9);
}

// ---- names -------------------------------------------------------------------------------------------------------

bool is_public(std::string_view text) { return text == "aten::mm" || text == "public"; }

TEST(Words, AreFoundInTextsAndBytes) {
  SecretWords words(is_public);
  for (const char* text : {"Nebula.layer_7 of acme", "aten::mm", "public", "12345678", "abc", "acme"}) words.add(text);
  EXPECT_EQ(words.size(), 3U);  // nebula, layer_7, acme
  const auto found = [&](std::string_view text, bool in_bytes, bool short_words = true) {
    SecretWords::Found where;
    if (in_bytes) words.look_at_bytes(text, short_words, where);
    else words.look_at_text(text, where);
    return words.count(where);
  };
  for (const bool in_bytes : {false, true}) {
    EXPECT_EQ(found("", in_bytes), 0);
    EXPECT_EQ(found("NEBULA in acme, layer_7", in_bytes), 3);
    EXPECT_EQ(found("acmecorp", in_bytes), 0);  // short words stand alone
    EXPECT_EQ(found(std::string("\0acme\1", 6), in_bytes), 1);
  }
  EXPECT_EQ(found("acme", true, false), 0);
}

TEST(Words, AreFoundInsideOfLongerWords) {
  SecretWords words(is_public);
  words.add("unmistakable");
  SecretWords::Found found;
  words.look_at_bytes("xxUnmistakablexx", false, found);
  EXPECT_EQ(words.count(found), 1);
  SecretWords::Found none;
  words.look_at_bytes("unmistak", false, none);
  EXPECT_EQ(words.count(none), 0);
}

TEST(Words, OfPublicTextsDoNotCountInBytes) {
  SecretWords words(is_public);
  words.add("aten of it");  // "aten" is a word of the public text, too
  SecretWords::Found found;
  words.look_at_bytes("aten::mm", true, found);
  EXPECT_EQ(words.count(found), 1);
  words.look_at_text("aten::mm", found);
  EXPECT_EQ(words.count(found), 0);
  words.look_at_text("aten", found);
  EXPECT_EQ(words.count(found), 1);
}

TEST(Words, ThatArePublicDoNotCountInLists) {
  SecretWords words([](std::string_view text) { return text == "Generator"; });
  words.add("the generator of acme");
  SecretWords::Found found;
  words.look_at_text("['Generator', 1]", found);
  EXPECT_EQ(words.count(found), 0);
  words.look_at_text("['generator', 1]", found);
  EXPECT_EQ(words.words_of(found), std::vector<std::string>{"generator"});
}

TEST(Words, EndPiecesOfFiles) {
  EXPECT_EQ(SecretWords::whole_words("one two"), 4U);
  EXPECT_EQ(SecretWords::whole_words("one "), 4U);
  EXPECT_EQ(SecretWords::whole_words(std::string(1000, 'a')), 1000U);
  EXPECT_EQ(SecretWords::whole_words(""), 0U);
}

// ---- networks ----------------------------------------------------------------------------------------------------

TEST(Networks, RunAJobOnEach) {
  for (const int64_t ranks : {1, 2, 7, 16, 24}) {
    const auto networks = networks_of(ranks);
    ASSERT_TRUE(networks) << networks.error().message();
    ASSERT_EQ(networks->size(), kNetworkNames.size());
    sim::SimInput input;
    for (int64_t rank = 0; rank < ranks; ++rank)
      input.job.ranks.push_back(trace_of({{CommType::all_reduce, 1 << 20, ""}}, rank));
    const auto times = simulated_times(std::move(input), *networks);
    ASSERT_TRUE(times) << times.error().message();
    std::vector<double> sorted = *times;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 1; ranks > 2 && i < sorted.size(); ++i) EXPECT_GT(sorted[i], sorted[i - 1]) << ranks;
  }
  EXPECT_FALSE(networks_of(int64_t{1} << 40));
}

}  // namespace
}  // namespace chakra::certify
