#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

#include "chakra/base/progress.h"
#include "chakra/base/quantile.h"
#include "chakra/synth/synth.h"

namespace chakra::synth {
namespace {

constexpr size_t kMostSampled = 2000;  ///< points whose distances are all looked at, for percentiles
constexpr size_t kMostCovered = 64;    ///< rows of the coverage, at least
constexpr double kRadius = 0.1;        ///< percentile of distances
constexpr double kLeastGain = 1e-7;    ///< of the sum of distances: less is rounding
constexpr int kRandom = 100;
constexpr size_t kMostStarts = 20, kMostTried = 4'000'000;  ///< of k-medoids; points^2 of all starts together

using Row = std::vector<float>;

/// Distances from one point to all.
void distances_from(const Points& p, size_t from, Row& out) {
  out.assign(p.points, 0);
  for (size_t d = 0; d < p.dimensions(); ++d) {
    const float* const column = p.values.data() + d * p.points;
    const float at = column[from];
    for (size_t i = 0; i < p.points; ++i) out[i] += (column[i] - at) * (column[i] - at);
  }
  for (float& square : out) square = std::sqrt(square);
}

std::vector<double> mean_of(const Points& p) {
  std::vector<double> mean(p.dimensions(), 0);
  for (size_t d = 0; d < mean.size(); ++d)
    for (size_t i = 0; i < p.points; ++i) mean[d] += p.at(i, d) / static_cast<double>(p.points);
  return mean;
}

struct Scales {
  double radius = 0, sigma = 0;
};

/// Percentiles of the distances of evenly spaced points.
Result<Scales> scales_of(const Points& p) {
  const size_t sampled = std::min(p.points, kMostSampled);
  std::vector<double> nearest, all;
  Row row;
  for (size_t s = 0; s < sampled; ++s) {
    CHAKRA_TRY(keep_going());
    const size_t at = s * p.points / sampled;
    distances_from(p, at, row);
    float least = std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < p.points; ++i)
      if (i != at) least = std::min(least, row[i]);
    if (p.points > 1) nearest.push_back(least);
    for (size_t other = s + 1; other < sampled; ++other) all.push_back(row[other * p.points / sampled]);
  }
  Scales scales{quantile_of(std::move(all), kRadius), quantile_of(nearest, 0.5)};
  // Half of the jobs may have an equal one: then the jobs that have none decide.
  if (scales.sigma == 0) {
    std::erase(nearest, 0.0);
    scales.sigma = quantile_of(std::move(nearest), 0.5);
  }
  return scales;
}

/// What a chosen point is worth to the others: less distance, or more similarity.
class Worth {
 public:
  Worth(Method method, double sigma) : medoids_(method == Method::medoids), sigma_(sigma) {}
  /// From distances to worths; `most` is a bound of all distances.
  void apply(Row& row, float most) const {
    for (float& d : row) {
      if (medoids_) d = most - d;
      else if (sigma_ > 0) d = static_cast<float>(std::exp(-static_cast<double>(d) * d / (2 * sigma_ * sigma_)));
      else d = d == 0 ? 1 : 0;
    }
  }

 private:
  bool medoids_;
  double sigma_;
};

/// The first `count` points by lazy greedy choice: a gain that was computed earlier is a bound of today's.
Result<std::vector<size_t>> greedy(const Points& p, size_t count, const Worth& worth) {
  Row row, best(p.points, 0);
  distances_from(p, 0, row);
  const float most = 2 * *std::max_element(row.begin(), row.end());  // by the triangle inequality
  const auto gain_of = [&](size_t candidate) {
    distances_from(p, candidate, row);
    worth.apply(row, most);
    double gain = 0;
    for (size_t i = 0; i < p.points; ++i) gain += std::max(0.0F, row[i] - best[i]);
    return gain;
  };
  struct Bound {
    double gain;
    size_t point, round;
    bool operator<(const Bound& other) const {  // the largest first, then the first point
      return gain != other.gain ? gain < other.gain : point > other.point;
    }
  };
  std::priority_queue<Bound> bounds;
  for (size_t i = 0; i < p.points; ++i) {
    CHAKRA_TRY(keep_going());
    bounds.push({gain_of(i), i, 0});
  }
  std::vector<size_t> chosen;
  while (chosen.size() < count) {
    CHAKRA_TRY(keep_going());
    const Bound top = bounds.top();
    bounds.pop();
    if (top.round != chosen.size()) {
      bounds.push({gain_of(top.point), top.point, chosen.size()});
      continue;
    }
    chosen.push_back(top.point);
    distances_from(p, top.point, row);
    worth.apply(row, most);
    for (size_t i = 0; i < p.points; ++i) best[i] = std::max(best[i], row[i]);
  }
  return chosen;
}

/// The nearest and the second nearest chosen point of each point.
struct Near {
  std::vector<size_t> first, second;  ///< places in the chosen ones
  Row first_distance, second_distance;
};

Near nearest_two(const std::vector<Row>& rows, size_t points) {
  constexpr float kFar = std::numeric_limits<float>::infinity();
  Near near{std::vector<size_t>(points, 0), std::vector<size_t>(points, 0), Row(points, kFar), Row(points, kFar)};
  for (size_t m = 0; m < rows.size(); ++m)
    for (size_t i = 0; i < points; ++i) {
      const float d = rows[m][i];
      if (d < near.first_distance[i]) {
        near.second[i] = near.first[i];
        near.second_distance[i] = near.first_distance[i];
        near.first[i] = m;
        near.first_distance[i] = d;
      } else if (d < near.second_distance[i]) {
        near.second[i] = m;
        near.second_distance[i] = d;
      }
    }
  return near;
}

/// Swap chosen points for better ones until no swap shortens the sum of distances, which is returned.
Result<double> swap_medoids(const Points& p, std::vector<size_t>& chosen) {
  const size_t n = p.points, k = chosen.size();
  std::vector<Row> rows(k);
  std::vector<bool> is_chosen(n, false);
  for (size_t m = 0; m < k; ++m) {
    distances_from(p, chosen[m], rows[m]);
    is_chosen[chosen[m]] = true;
  }
  Near near = nearest_two(rows, n);
  std::vector<double> loss(k), change(k);
  const auto losses = [&] {  // of leaving each chosen point out
    std::fill(loss.begin(), loss.end(), 0);
    for (size_t i = 0; i < n && k > 1; ++i)
      loss[near.first[i]] += static_cast<double>(near.second_distance[i]) - near.first_distance[i];
  };
  losses();
  double total = std::accumulate(near.first_distance.begin(), near.first_distance.end(), 0.0);
  Row row;
  for (size_t candidate = 0, since = 0; since < n; candidate = (candidate + 1) % n, ++since) {
    CHAKRA_TRY(keep_going());
    if (is_chosen[candidate]) continue;
    distances_from(p, candidate, row);
    change = loss;
    double shared = 0;
    for (size_t i = 0; i < n; ++i) {
      const float d = row[i], first = near.first_distance[i];
      if (k == 1) {
        shared += static_cast<double>(d) - first;
      } else if (d < first) {
        shared += static_cast<double>(d) - first;
        change[near.first[i]] += static_cast<double>(first) - near.second_distance[i];
      } else if (d < near.second_distance[i]) {
        change[near.first[i]] += static_cast<double>(d) - near.second_distance[i];
      }
    }
    const auto best = std::min_element(change.begin(), change.end());
    if (*best + shared >= -kLeastGain * total) continue;
    const auto m = static_cast<size_t>(best - change.begin());
    is_chosen[chosen[m]] = false;
    is_chosen[candidate] = true;
    chosen[m] = candidate;
    rows[m] = row;
    near = nearest_two(rows, n);
    losses();
    total = std::accumulate(near.first_distance.begin(), near.first_distance.end(), 0.0);
    since = 0;
  }
  return total;
}

/// The first `count` of a random order of `all` numbers.
std::vector<size_t> random_choice(Prng& random, size_t all, size_t count) {
  std::vector<size_t> order(all);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < count; ++i) std::swap(order[i], order[i + random.below(all - i)]);
  order.resize(count);
  return order;
}

/// The best of the swaps from the greedy choice and, for small fleets, from random choices: swaps end in a local
/// minimum.
Result<std::vector<size_t>> medoids(const Points& p, std::vector<size_t> best) {
  CHAKRA_ASSIGN(double least, swap_medoids(p, best));
  Prng random(1);
  for (size_t start = 1; start < kMostStarts && start * p.points * p.points < kMostTried; ++start) {
    std::vector<size_t> chosen = random_choice(random, p.points, best.size());
    CHAKRA_ASSIGN(const double sum, swap_medoids(p, chosen));
    if (sum >= least * (1 - kLeastGain)) continue;
    least = sum;
    best = std::move(chosen);
  }
  return best;
}

/// Coverage by the first 1, 2, ... points of an order.
std::vector<Coverage> coverage_of(const Points& p, const std::vector<size_t>& order, double radius) {
  std::vector<Coverage> rows;
  Row row, nearest(p.points, std::numeric_limits<float>::infinity());
  for (const size_t point : order) {
    distances_from(p, point, row);
    Coverage& is = rows.emplace_back();
    is.jobs = rows.size();
    for (size_t i = 0; i < p.points; ++i) {
      nearest[i] = std::min(nearest[i], row[i]);
      is.covered += nearest[i] <= static_cast<float>(radius) ? 1 : 0;
      is.mean_distance += nearest[i];
    }
    is.covered /= static_cast<double>(p.points);
    is.mean_distance /= static_cast<double>(p.points);
  }
  return rows;
}

/// Weights w >= 0 of sum 1 with the least |mean of chosen - mean of all|^2 + kTowards |w - shares|^2, one weight after
/// the other until none moves.
std::vector<double> weights_of(const Points& p, const std::vector<size_t>& chosen, const std::vector<double>& shares) {
  constexpr double kTowards = 1e-2, kSum = 1e3;  // kSum: the square of the error of the sum, as of one more dimension
  constexpr int kTurns = 2000;
  const size_t k = chosen.size(), dims = p.dimensions();
  std::vector<double> weights = shares, rest = mean_of(p);
  rest.push_back(0);  // of the sum
  for (size_t d = 0; d < dims; ++d)
    for (size_t m = 0; m < k; ++m) rest[d] -= weights[m] * p.at(chosen[m], d);
  for (int turn = 0; turn < kTurns; ++turn) {
    double most = 0;
    for (size_t m = 0; m < k; ++m) {
      double slope = kSum * rest[dims] + kTowards * (shares[m] - weights[m]), steepness = kSum + kTowards;
      for (size_t d = 0; d < dims; ++d) {
        const double x = p.at(chosen[m], d);
        slope += rest[d] * x;
        steepness += x * x;
      }
      const double moved = std::max(-weights[m], slope / steepness);
      weights[m] += moved;
      rest[dims] -= moved;
      for (size_t d = 0; d < dims; ++d) rest[d] -= moved * p.at(chosen[m], d);
      most = std::max(most, std::abs(moved));
    }
    if (most < 1e-9) break;
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t m = 0; m < k; ++m) weights[m] = sum > 0 ? weights[m] / sum : shares[m];
  return weights;
}

/// The 1-Wasserstein distance between weighted chosen points and all points, mean of the dimensions.
class Difference {
 public:
  explicit Difference(const Points& p) : p_(p), ascending_(p.values) {
    for (size_t d = 0; d < p.dimensions(); ++d) {
      const auto begin = ascending_.begin() + static_cast<std::ptrdiff_t>(d * p.points);
      std::sort(begin, begin + static_cast<std::ptrdiff_t>(p.points));
    }
  }
  double of(const std::vector<size_t>& chosen, const std::vector<double>& weights) const {
    double sum = 0;
    for (size_t d = 0; d < p_.dimensions(); ++d) sum += of_dimension(chosen, weights, d);
    return p_.dimensions() ? sum / static_cast<double>(p_.dimensions()) : 0;
  }

 private:
  /// The sum of |difference| of the two quantile functions.
  double of_dimension(const std::vector<size_t>& chosen, const std::vector<double>& weights, size_t d) const {
    std::vector<std::pair<float, double>> some;
    for (size_t m = 0; m < chosen.size(); ++m) some.emplace_back(p_.at(chosen[m], d), weights[m]);
    std::sort(some.begin(), some.end());
    double sum = 0, at = 0, end = some[0].second;
    size_t m = 0;
    for (size_t i = 0; i < p_.points; ++i) {
      const double to = static_cast<double>(i + 1) / static_cast<double>(p_.points);
      while (at < to) {
        while (end <= at && m + 1 < some.size()) end += some[++m].second;
        const double step = m + 1 < some.size() ? std::min(to, end) : to;
        sum += (step - at) * std::abs(static_cast<double>(some[m].first) - ascending_[d * p_.points + i]);
        at = step;
      }
    }
    return sum;
  }

  const Points& p_;
  std::vector<float> ascending_;
};

double random_difference(const Difference& difference, size_t points, size_t count) {
  Prng random(1);
  const std::vector<double> even(count, 1 / static_cast<double>(count));
  double sum = 0;
  for (int turn = 0; turn < kRandom; ++turn) sum += difference.of(random_choice(random, points, count), even);
  return sum / kRandom;
}

}  // namespace

double distance(const Points& p, size_t a, size_t b) {
  double sum = 0;
  for (size_t d = 0; d < p.dimensions(); ++d)
    sum += (static_cast<double>(p.at(a, d)) - p.at(b, d)) * (static_cast<double>(p.at(a, d)) - p.at(b, d));
  return std::sqrt(sum);
}

Result<Selection> select(const Points& p, size_t count, Method method) {
  CHAKRA_ASSERT(count > 0 && count <= p.points);
  Selection is;
  CHAKRA_ASSIGN(const Scales scales, scales_of(p));
  is.radius = scales.radius;
  is.sigma = scales.sigma;
  const size_t covered = std::min(p.points, std::max(count, kMostCovered));
  CHAKRA_ASSIGN(const std::vector<size_t> order, greedy(p, covered, Worth(method, scales.sigma)));
  is.chosen.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  if (method == Method::medoids) {
    CHAKRA_ASSIGN(is.chosen, medoids(p, std::move(is.chosen)));
  }
  std::sort(is.chosen.begin(), is.chosen.end());
  std::vector<Row> rows(count);
  for (size_t m = 0; m < count; ++m) distances_from(p, is.chosen[m], rows[m]);
  const Near near = nearest_two(rows, p.points);
  is.nearest = near.first;
  is.represented.assign(count, 0);
  for (size_t i = 0; i < p.points; ++i) {
    ++is.represented[near.first[i]];
    is.distance.push_back(near.first_distance[i]);
  }
  const Coverage all = coverage_of(p, is.chosen, is.radius).back();
  is.covered = all.covered;
  is.mean_distance = all.mean_distance;
  std::vector<double> shares;
  for (const size_t number : is.represented)
    shares.push_back(static_cast<double>(number) / static_cast<double>(p.points));
  is.weights = weights_of(p, is.chosen, shares);
  is.coverage = coverage_of(p, order, is.radius);
  const Difference difference(p);
  is.difference = difference.of(is.chosen, is.weights);
  is.random_difference = random_difference(difference, p.points, count);
  return is;
}

std::vector<std::array<double, 2>> plane(const Points& p) {
  const size_t dims = p.dimensions();
  std::vector<std::array<double, 2>> at(p.points, {0, 0});
  const std::vector<double> mean = mean_of(p);
  std::vector<double> covariance(dims * dims, 0);
  for (size_t a = 0; a < dims; ++a)
    for (size_t b = a; b < dims; ++b) {
      double sum = 0;
      for (size_t i = 0; i < p.points; ++i) sum += (p.at(i, a) - mean[a]) * (p.at(i, b) - mean[b]);
      covariance[a * dims + b] = covariance[b * dims + a] = sum / static_cast<double>(p.points);
    }
  std::vector<double> axis(dims), next(dims);
  for (size_t c = 0; c < 2 && c < dims; ++c) {
    for (size_t d = 0; d < dims; ++d) axis[d] = 1 + 0.01 * static_cast<double>(d);  // not at right angles to all
    double length = 0;
    for (int turn = 0; turn < 200; ++turn) {  // power iteration
      for (size_t a = 0; a < dims; ++a)
        next[a] = std::inner_product(axis.begin(), axis.end(),
                                     covariance.begin() + static_cast<std::ptrdiff_t>(a * dims), 0.0);
      length = std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
      if (length <= 0) break;
      for (size_t d = 0; d < dims; ++d) axis[d] = next[d] / length;
    }
    if (length <= 0) break;
    for (size_t i = 0; i < p.points; ++i)
      for (size_t d = 0; d < dims; ++d) at[i][c] += axis[d] * (p.at(i, d) - mean[d]);
    for (size_t a = 0; a < dims; ++a)
      for (size_t b = 0; b < dims; ++b) covariance[a * dims + b] -= length * axis[a] * axis[b];
  }
  return at;
}

}  // namespace chakra::synth
