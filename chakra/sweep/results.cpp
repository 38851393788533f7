// The comparison of results.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "chakra/sweep/space.h"

namespace chakra::sweep {
namespace {

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool smaller = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    smaller |= a[i] < b[i];
  }
  return smaller;
}

}  // namespace

std::vector<bool> pareto_front(std::span<const std::vector<double>> points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return points[a] < points[b]; });
  std::vector<bool> is_front(points.size(), false);
  std::vector<size_t> front;  // in ascending order, a point can only be dominated by an earlier one
  for (const size_t at : order) {
    const bool is_small = points[at].size() <= 2;  // then the last point of the front is the smallest in the rest
    const auto begin = is_small && !front.empty() ? front.end() - 1 : front.begin();
    if (std::any_of(begin, front.end(), [&](size_t other) { return dominates(points[other], points[at]); })) continue;
    is_front[at] = true;
    front.push_back(at);
  }
  return is_front;
}

Effects effects_of(std::span<const std::optional<double>> results, std::span<const size_t> choice, size_t choices,
                   bool smaller_is_better, bool complete) {
  CHAKRA_ASSERT(results.size() == choice.size());
  Effects effects;
  effects.choices.resize(choices);
  std::vector<double> sum(choices, 0), squares(choices, 0);
  double all = 0;
  size_t count = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    Effect& effect = effects.choices[choice[i]];
    ++effect.points;
    if (!results[i]) {
      ++effect.failed;
      continue;
    }
    const double value = *results[i];
    effect.best = !effect.best        ? value
                  : smaller_is_better ? std::min(*effect.best, value)
                                      : std::max(*effect.best, value);
    sum[choice[i]] += value;
    all += value;
    ++count;
  }
  const double mean = count > 0 ? all / static_cast<double>(count) : 0;
  double between = 0, total = 0;
  for (size_t c = 0; c < choices; ++c) {
    Effect& effect = effects.choices[c];
    const auto done = static_cast<double>(effect.points - effect.failed);
    if (done == 0) continue;
    effect.mean = sum[c] / done;
    between += done * (*effect.mean - mean) * (*effect.mean - mean);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    const double off = *results[i] - *effects.choices[choice[i]].mean, far = *results[i] - mean;
    squares[choice[i]] += off * off;
    total += far * far;
  }
  for (size_t c = 0; c < choices; ++c)
    if (Effect& effect = effects.choices[c]; effect.mean)
      effect.spread = std::sqrt(squares[c] / static_cast<double>(effect.points - effect.failed));
  size_t used = 0;
  for (const Effect& effect : effects.choices) used += effect.mean.has_value();
  if (total > 0 && count > used) {
    // In a complete grid, the other options have the same mean in each choice, so nothing is due to chance.
    const double within = complete ? 0 : std::max(total - between, 0.0) / static_cast<double>(count - used);
    effects.importance = std::max(between - static_cast<double>(used - 1) * within, 0.0) / total;
  }
  return effects;
}

}  // namespace chakra::sweep
