#include "chakra/certify/attacks.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "chakra/certify/fidelity.h"

namespace chakra::certify {
namespace {

std::set<std::pair<uint8_t, uint64_t>> pairs_of(const Profile& job) {
  std::set<std::pair<uint8_t, uint64_t>> pairs;
  for (const auto& [kind, counts] : job.sizes)
    for (const auto& [size, count] : counts) pairs.emplace(kind.kind, size);
  return pairs;
}

/// Hashes of all runs of `length` tokens: polynomials modulo 2^61 - 1.
template <class Use>
void each_run(std::span<const Sequence> sequences, size_t length, const Use& use) {
  constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1, kBase = 0x1f3d5b79a8c6e402 % kPrime;
  const auto times = [](uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    const uint64_t sum = static_cast<uint64_t>(product & kPrime) + static_cast<uint64_t>(product >> 61);
    return sum >= kPrime ? sum - kPrime : sum;
  };
  const auto plus = [](uint64_t a, uint64_t b) { return (a + b) % kPrime; };
  uint64_t first = 1;  // the factor of the token that leaves
  for (size_t i = 1; i < length; ++i) first = times(first, kBase);
  for (const Sequence& sequence : sequences) {
    if (sequence.tokens.size() < length) continue;
    uint64_t hash = 0;
    for (size_t i = 0; i < sequence.tokens.size(); ++i) {
      if (i >= length) hash = plus(hash, kPrime - times(sequence.tokens[i - length] % kPrime, first));
      hash = plus(times(hash, kBase), sequence.tokens[i] % kPrime);
      if (i + 1 >= length) use(hash);
    }
  }
}

bool have_common_run(std::span<const Sequence> a, std::span<const Sequence> b, size_t length) {
  absl::flat_hash_set<uint64_t> runs;
  each_run(b, length, [&](uint64_t hash) { runs.insert(hash); });
  bool found = false;
  each_run(a, length, [&](uint64_t hash) { found = found || runs.contains(hash); });
  return found;
}

double log_ratio(double a, double b) { return a > 0 && b > 0 ? std::abs(std::log2(a / b)) : a == b ? 0 : 1; }

}  // namespace

double probability(const Tries& tries, double chance) {
  if (tries.hits <= 0 || chance >= 1) return 1;
  if (chance <= 0) return 0;
  double sum = 0;
  const auto n = static_cast<double>(tries.tries);
  for (int64_t k = tries.hits; k <= tries.tries; ++k) {
    const auto hits = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(hits + 1) - std::lgamma(n - hits + 1) + hits * std::log(chance) +
                    (n - hits) * std::log1p(-chance));
  }
  return std::min(sum, 1.0);
}

void add_pairs(const Profile& job, SizePairs& pairs) {
  for (const auto& pair : pairs_of(job)) ++pairs[pair];
}

ExactSizes exact_sizes(const Profile& original, const Profile& copy, const SizePairs& jobs) {
  const auto known = pairs_of(original);
  ExactSizes is;
  for (const auto& pair : pairs_of(copy)) {
    const auto found = jobs.find(pair);
    const bool many = found != jobs.end() && found->second >= kManyJobs, equal = known.contains(pair);
    ++is.equal.tries;
    is.equal.hits += equal;
    is.rare += equal && !many;
    is.supported += many;
  }
  return is;
}

Tries nearest_sizes(const std::set<ChangedSize>& sizes, const SizePairs& jobs) {
  Tries is;
  for (const ChangedSize& size : sizes) {
    ++is.tries;
    const auto above = jobs.lower_bound({size.kind, size.after});
    const bool has_above = above != jobs.end() && above->first.first == size.kind;
    const bool has_below = above != jobs.begin() && std::prev(above)->first.first == size.kind;
    if (!has_above && !has_below) continue;
    const auto below = has_below ? std::prev(above) : above;
    const auto shown = static_cast<double>(size.after);
    const bool up = has_above && (!has_below || static_cast<double>(above->first.second) / shown <
                                                    shown / static_cast<double>(below->first.second));
    is.hits += (up ? above : below)->first.second == size.before;
  }
  return is;
}

size_t longest(std::span<const Sequence> sequences) {
  size_t most = 0;
  for (const Sequence& sequence : sequences) most = std::max(most, sequence.tokens.size());
  return most;
}

size_t longest_common_run(std::span<const Sequence> a, std::span<const Sequence> b) {
  size_t common = 0, beyond = std::min(longest(a), longest(b)) + 1;
  while (common + 1 < beyond) {
    const size_t length = common + (beyond - common) / 2;
    (have_common_run(a, b, length) ? common : beyond) = length;
  }
  return common;
}

double distance_of_multisets(const Profile& a, const Profile& b) {
  constexpr double kAbsent = 16;  // octaves, for a kind that only one of the jobs has
  double sum = log_ratio(static_cast<double>(a.ranks), static_cast<double>(b.ranks)) +
               log_ratio(static_cast<double>(a.nodes) * static_cast<double>(b.ranks),
                         static_cast<double>(b.nodes) * static_cast<double>(a.ranks));
  if (!a.durations.empty() && !b.durations.empty()) sum += wasserstein(a.durations, b.durations);
  std::set<SizeKind> kinds;
  double all_a = 0, all_b = 0;
  for (const auto& [kind, counts] : a.sizes) kinds.insert(kind), all_a += static_cast<double>(sum_of(counts));
  for (const auto& [kind, counts] : b.sizes) kinds.insert(kind), all_b += static_cast<double>(sum_of(counts));
  for (const SizeKind& kind : kinds) {
    const auto in_a = a.sizes.find(kind), in_b = b.sizes.find(kind);
    const double share_a = in_a != a.sizes.end() ? static_cast<double>(sum_of(in_a->second)) / all_a : 0;
    const double share_b = in_b != b.sizes.end() ? static_cast<double>(sum_of(in_b->second)) / all_b : 0;
    const double apart = share_a > 0 && share_b > 0
                             ? wasserstein(in_a->second, in_b->second) + std::abs(std::log2(share_a / share_b))
                             : kAbsent;
    sum += (share_a + share_b) / 2 * apart;
  }
  return sum;
}

Identification identify(std::span<const double> distances) {
  CHAKRA_ASSERT(!distances.empty());
  Identification is{std::ssize(distances), 1, 0};
  for (const double distance : distances) {
    is.rank += distance < distances[0];
    is.as_near += distance == distances[0];
  }
  return is;
}

std::vector<double> distances_of_features(const std::vector<double>& target,
                                          std::span<const std::vector<double>> candidates) {
  std::vector<std::vector<double>> rows(candidates.begin(), candidates.end());
  rows.push_back(target);
  const synth::ScaledFleet fleet = synth::scale(rows);
  std::vector<double> distances;
  for (size_t i = 0; i < candidates.size(); ++i)
    distances.push_back(fleet.points.values.empty() ? 0 : synth::distance(fleet.points, i, candidates.size()));
  return distances;
}

}  // namespace chakra::certify
