#include "chakra/gen/skew.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "chakra/base/real.h"

namespace chakra::gen {
namespace {

/// Of each expert, most popular first, its share of the choices: Zipf's law, at most `most`.
std::vector<double> shares(size_t experts, double exponent, double most) {
  std::vector<double> share(experts);
  for (size_t r = 0; r < experts; ++r) share[r] = std::pow(static_cast<double>(r + 1), -exponent);
  std::vector<double> rest(experts);  // the sum from here on
  std::partial_sum(share.rbegin(), share.rend(), rest.rbegin());
  double free = 1;
  for (size_t r = 0; r < experts; ++r) {  // they fall: once one is below the limit, so are the following ones
    share[r] = std::min(share[r] / rest[r] * free, most);
    free -= share[r];
  }
  return share;
}

/// Whole numbers in proportion that add up to `total`: the largest remainders are rounded up.
std::vector<int64_t> apportion(const std::vector<double>& share, int64_t total) {
  std::vector<int64_t> part(share.size());
  std::vector<double> remainder(share.size());
  for (size_t i = 0; i < share.size(); ++i) {
    part[i] = static_cast<int64_t>(std::floor(share[i] * real(total)));
    remainder[i] = share[i] * real(total) - real(part[i]);
  }
  std::vector<size_t> order(share.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return remainder[a] > remainder[b]; });
  const int64_t left = total - std::accumulate(part.begin(), part.end(), int64_t{0});
  for (int64_t i = 0; i < left; ++i) ++part[order[static_cast<size_t>(i) % order.size()]];
  return part;
}

}  // namespace

std::vector<int64_t> choices_by_place(const model::Experts& experts, int64_t choices, int64_t places, const Skew& skew,
                                      int64_t layer) {
  const auto count = static_cast<size_t>(experts.count);
  CHAKRA_ASSERT(experts.count % places == 0);
  const std::vector<int64_t> parts = apportion(shares(count, skew.exponent, 1 / real(experts.active)), choices);
  std::vector<size_t> expert(count);
  std::iota(expert.begin(), expert.end(), size_t{0});
  std::mt19937_64 random(static_cast<uint64_t>(skew.seed) * 1'000'003 + static_cast<uint64_t>(layer));
  for (size_t i = count; i > 1; --i) std::swap(expert[i - 1], expert[random() % i]);
  std::vector<int64_t> result(static_cast<size_t>(places));
  for (size_t r = 0; r < count; ++r) result[expert[r] * result.size() / count] += parts[r];
  CHAKRA_ASSERT(std::accumulate(result.begin(), result.end(), int64_t{0}) == choices);
  return result;
}

}  // namespace chakra::gen
