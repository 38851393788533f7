// Attacks on a shared job that know its original or other jobs.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "chakra/certify/profile.h"

namespace chakra::certify {

/// How often an attack was tried, and how often it had success.
struct Tries {
  int64_t tries = 0, hits = 0;
  double success() const { return tries > 0 ? static_cast<double>(hits) / static_cast<double>(tries) : 0; }
};

/// Return the probability of at least that many hits if each try succeeds with the probability `chance`, independently
/// of the others. Requires 0 <= chance <= 1. Cost: O(tries).
double probability(const Tries& tries, double chance);

/// Distinct (kind, size) pairs of the copy, and those that the original has.
struct ExactSizes {
  Tries equal;
  int64_t rare = 0;       ///< of the equal pairs: pairs of fewer than kManyJobs jobs
  int64_t supported = 0;  ///< of all pairs: pairs of at least kManyJobs jobs
};
inline constexpr int64_t kManyJobs = 5;
using SizePairs = std::map<std::pair<uint8_t, uint64_t>, int64_t>;  ///< a kind and a size; in how many jobs
/// Add the pairs of a job to those of other jobs.
void add_pairs(const Profile& job, SizePairs& pairs);
/// `jobs`: pairs of all known jobs, the original included. Cost: O(pairs log pairs).
ExactSizes exact_sizes(const Profile& original, const Profile& copy, const SizePairs& jobs);

/// A size of a communication in the original and in the copy.
struct ChangedSize {
  uint8_t kind = 0;
  uint64_t before = 0, after = 0;
  auto operator<=>(const ChangedSize&) const = default;
};
/// The attack that takes the size nearest to that of the copy, by the ratio, among the sizes of the same kind in
/// `jobs`. Cost: O(sizes log pairs).
Tries nearest_sizes(const std::set<ChangedSize>& sizes, const SizePairs& jobs);

/// Return the length of the longest run of tokens that a sequence of `a` and a sequence of `b` have in common. Cost:
/// O(tokens log tokens).
size_t longest_common_run(std::span<const Sequence> a, std::span<const Sequence> b);
/// Return the length of the longest sequence.
size_t longest(std::span<const Sequence> sequences);

/// Return how far the multisets of two jobs are apart: sizes by kind and role (1-Wasserstein of logarithms, weighted by
/// their share of nodes), numbers of nodes, and durations. 0: equal.
double distance_of_multisets(const Profile& a, const Profile& b);

/// The place of the original among candidates by distance to the target.
struct Identification {
  int64_t candidates = 0;
  int64_t rank = 0;     ///< 1: no candidate is nearer
  int64_t as_near = 0;  ///< candidates at that distance, the original included
  /// Probability that the attacker names the original: he takes one of the nearest candidates.
  double success() const { return rank == 1 && as_near > 0 ? 1 / static_cast<double>(as_near) : 0; }
};
/// `distances`: of each candidate to the target; the first is that of the original.
Identification identify(std::span<const double> distances);
/// Return the distance of each candidate to the target by the features of room synth, scaled by the candidates.
std::vector<double> distances_of_features(const std::vector<double>& target,
                                          std::span<const std::vector<double>> candidates);

}  // namespace chakra::certify
