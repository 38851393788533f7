#include "chakra/calibrate/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chakra::calibrate {
namespace {

/// A pivot below this share of its first value counts as zero: the parameters tell the same.
constexpr double kSingular = 1e-9;
/// Residuals that differ by less count as equal, per point.
constexpr double kSame = 1e-10;

using Matrix = std::array<Features, kParameters>;

/// The inverse, by Gauss and Jordan, of the first n rows and columns, scaled to a diagonal of 1; false if singular.
bool invert(Matrix a, size_t n, Matrix& inverse) {
  inverse = {};
  for (size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (size_t i = 0; i < n; ++i) {
    const double pivot = a[i][i];
    if (!(pivot > kSingular)) return false;
    for (size_t c = 0; c < n; ++c) a[i][c] /= pivot, inverse[i][c] /= pivot;
    for (size_t r = 0; r < n; ++r) {
      const double factor = r == i ? 0 : a[r][i];
      for (size_t c = 0; c < n && factor != 0; ++c) {
        a[r][c] -= factor * a[i][c];
        inverse[r][c] -= factor * inverse[i][c];
      }
    }
  }
  return true;
}

/// With the parameters of the set alone; false where they tell the same or one would be negative.
bool solve(const Gram& gram, unsigned set, Solution& solution) {
  std::array<size_t, kParameters> at{};
  size_t n = 0;
  for (size_t p = 0; p < kParameters; ++p)
    if (set >> p & 1) at[n++] = p;
  Features scale{};
  for (size_t i = 0; i < n; ++i) {
    if (!(gram.products[at[i]][at[i]] > 0)) return false;
    scale[i] = 1 / std::sqrt(gram.products[at[i]][at[i]]);
  }
  Matrix scaled{}, inverse{};
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) scaled[i][j] = gram.products[at[i]][at[j]] * scale[i] * scale[j];
  if (!invert(scaled, n, inverse)) return false;
  solution = {{}, {}, gram.points, gram.points};
  for (size_t i = 0; i < n; ++i) {
    double value = 0;
    for (size_t j = 0; j < n; ++j) value += inverse[i][j] * gram.sums[at[j]] * scale[j];
    if (value < 0) return false;
    solution.value[at[i]] = value * scale[i];
    solution.residual -= value * scale[i] * gram.sums[at[i]];
  }
  solution.residual = std::max(solution.residual, 0.0);
  const double spare = gram.points - static_cast<double>(n);
  for (size_t i = 0; i < n; ++i)
    solution.error[at[i]] = spare > 0 ? scale[i] * std::sqrt(std::max(inverse[i][i], 0.0) * solution.residual / spare)
                                      : std::numeric_limits<double>::infinity();
  return true;
}

}  // namespace

void Gram::add(const Features& features, double measured) {
  for (size_t i = 0; i < kParameters; ++i) {
    for (size_t j = 0; j < kParameters; ++j) products[i][j] += features[i] / measured * (features[j] / measured);
    sums[i] += features[i] / measured;
  }
  ++points;
}

Gram Gram::minus(const Gram& other) const {
  Gram rest = *this;
  for (size_t i = 0; i < kParameters; ++i) {
    for (size_t j = 0; j < kParameters; ++j) rest.products[i][j] -= other.products[i][j];
    rest.sums[i] -= other.sums[i];
  }
  rest.points -= other.points;
  return rest;
}

Solution least_squares(const Gram& gram) {
  Solution best;
  bool found = false;
  for (unsigned set = 1; gram.points > 0 && set < 1U << kParameters; ++set) {
    Solution solution;
    if (!solve(gram, set, solution) || (found && solution.residual >= best.residual - kSame * gram.points)) continue;
    best = solution;
    found = true;
  }
  return best;
}

double least_line(const Gram& gram) {
  const double a = gram.products[0][0], b = gram.products[0][2], c = gram.products[2][2];
  const double u = gram.sums[0], v = gram.sums[2], determinant = a * c - b * b;
  double gained = std::max(a > 0 ? u * u / a : 0, c > 0 ? v * v / c : 0);
  if (determinant > kSingular * a * c) {
    const double first = (c * u - b * v) / determinant, second = (a * v - b * u) / determinant;
    if (first >= 0 && second >= 0) gained = std::max(gained, first * u + second * v);
  }
  return std::max(gram.points - gained, 0.0);
}

FitError together(const FitError& a, const FitError& b) {
  FitError both;
  both.points = a.points + b.points;
  if (both.points == 0) return both;
  const double sum =
      std::log1p(a.mean) * static_cast<double>(a.points) + std::log1p(b.mean) * static_cast<double>(b.points);
  both.mean = std::expm1(sum / static_cast<double>(both.points));
  both.worst = std::max(a.worst, b.worst);
  return both;
}

}  // namespace chakra::calibrate
