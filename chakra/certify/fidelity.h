// How near a shared job is to its original: distributions, order, bytes. Definitions: docs/explanation/certificate.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chakra/certify/profile.h"

namespace chakra::certify {

/// Largest difference of the two cumulative distributions. Requires counts that are not empty.
double kolmogorov_smirnov(const Counts& a, const Counts& b);
/// 1-Wasserstein distance of the base-2 logarithms, in octaves. Requires counts that are not empty.
double wasserstein(const Counts& a, const Counts& b);
/// Cramer's V of `observed` against the shares of `expected`: sqrt(chi^2 / (n (k - 1))). Kinds with fewer than 5
/// expected nodes are one cell, which joins the smallest other cell if it is still smaller. 0 for fewer than two cells,
/// 1 if a kind is observed that is not expected at all.
double cramers_v(std::span<const int64_t> observed, std::span<const int64_t> expected);
/// Root of the mean squared difference at lags where both have a value; 0 without such lags.
double rms_difference(const Autocorrelation& a, const Autocorrelation& b);
/// Kendall's tau of two lists, of pairs that are more than `gap` apart in `a`; 1 without such pairs.
double kendall_tau(std::span<const double> a, std::span<const double> b, double gap);

struct Figure {
  std::string metric;  ///< a name of kMetrics
  std::string of;      ///< kind and role, role, or network; may be empty
  double value = 0;
  double limit = 0;
  bool holds() const { return value <= limit; }
};
struct MetricRow {
  std::string_view name, meaning;
  double limit = 0;  ///< up to which the copy counts as near
};
extern const std::span<const MetricRow> kMetrics;
double limit_of(std::string_view metric);
/// Return the limit of the metric "time", which depends on the level of the copy.
double limit_of_time(int64_t level);

/// Return the figures of sizes, kinds, order and bytes: a row for each kind of size with at least 1 % of the nodes of
/// its sort.
std::vector<Figure> fidelity_of(const Profile& original, const Profile& copy);

/// Return the value rounded up to 1, 2 or 5 times a power of ten, at least 0.001, or to `limit` if that is less and the
/// value does not exceed the limit: the exact value and the copy would give back numbers of the original. 0 stays 0.
double rounded_up(double value, double limit);

}  // namespace chakra::certify
