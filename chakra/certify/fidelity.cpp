#include "chakra/certify/fidelity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "chakra/base/quantile.h"

namespace chakra::certify {
namespace {

constexpr std::array kMetricRows{
    MetricRow{"ks", "Kolmogorov-Smirnov distance of sizes", 0.08},
    MetricRow{"wasserstein", "1-Wasserstein distance of logarithms of sizes, in octaves", 0.25},
    MetricRow{"kinds", "Cramer's V of the kinds of communication", 0.05},
    MetricRow{"order_of_kinds", "root mean squared difference of autocorrelations of kinds", 0.05},
    MetricRow{"order_of_sizes", "root mean squared difference of autocorrelations of sizes", 0.1},
    MetricRow{"bytes", "relative difference of the bytes of a role, mean of the ranks", 0.05},
    MetricRow{"bytes_p95", "relative difference of the bytes of a role, 95th percentile of the ranks", 0.1},
    MetricRow{"time", "relative difference of the simulated time; level 1: 0, level 2: 5 %", 0.1},
    MetricRow{"order_of_networks", "1 - Kendall's tau of the simulated times, of networks more than 5 % apart", 0},
};

/// Call use(value, difference of the shares up to the value, next value) for each step of both distributions.
template <class Use>
void each_step(const Counts& a, const Counts& b, const Use& use) {
  CHAKRA_ASSERT(!a.empty() && !b.empty());
  const auto all_a = static_cast<double>(sum_of(a)), all_b = static_cast<double>(sum_of(b));
  int64_t below_a = 0, below_b = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() || j != b.end();) {
    const uint64_t at = j == b.end() || (i != a.end() && i->first < j->first) ? i->first : j->first;
    if (i != a.end() && i->first == at) below_a += (i++)->second;
    if (j != b.end() && j->first == at) below_b += (j++)->second;
    const uint64_t next = std::min(i != a.end() ? i->first : UINT64_MAX, j != b.end() ? j->first : UINT64_MAX);
    use(at, std::abs(static_cast<double>(below_a) / all_a - static_cast<double>(below_b) / all_b), next);
  }
}

double relative(double value, double of) { return of > 0 ? std::abs(value - of) / of : value > 0 ? 1 : 0; }

struct RoleBytes {
  double mean = 0, p95 = 0;
};
RoleBytes bytes_of(const Profile& job, trace::Role role) {
  std::vector<double> ranks;
  if (const auto found = job.role_bytes.find(role); found != job.role_bytes.end())
    for (const auto& [bytes, count] : found->second) ranks.insert(ranks.end(), static_cast<size_t>(count), bytes);
  ranks.resize(static_cast<size_t>(job.ranks), 0);  // ranks without this role
  if (ranks.empty()) return {};
  const double sum = std::accumulate(ranks.begin(), ranks.end(), 0.0);
  return {sum / static_cast<double>(ranks.size()), quantile_of(std::move(ranks), 0.95)};
}

}  // namespace

const std::span<const MetricRow> kMetrics = kMetricRows;

double limit_of(std::string_view metric) {
  const MetricRow* const row = find_row(kMetrics, metric);
  CHAKRA_ASSERT(row);
  return row->limit;
}

double limit_of_time(int64_t level) {
  constexpr double kLevel2 = 0.05;
  return level == 1 ? 0 : level == 2 ? kLevel2 : limit_of("time");
}

double kolmogorov_smirnov(const Counts& a, const Counts& b) {
  double most = 0;
  each_step(a, b, [&](uint64_t, double apart, uint64_t) { most = std::max(most, apart); });
  return most;
}

double wasserstein(const Counts& a, const Counts& b) {
  const auto log2_of = [](uint64_t value) { return std::log2(static_cast<double>(std::max<uint64_t>(value, 1))); };
  double sum = 0;
  each_step(a, b, [&](uint64_t at, double apart, uint64_t next) {
    if (apart > 0 && next != UINT64_MAX) sum += apart * (log2_of(next) - log2_of(at));
  });
  return sum;
}

double cramers_v(std::span<const int64_t> observed, std::span<const int64_t> expected) {
  CHAKRA_ASSERT(observed.size() == expected.size());
  constexpr double kLeast = 5;
  const auto n = static_cast<double>(std::accumulate(observed.begin(), observed.end(), int64_t{0}));
  const auto all = static_cast<double>(std::accumulate(expected.begin(), expected.end(), int64_t{0}));
  if (n == 0 || all == 0) return n == all ? 0 : 1;
  std::vector<std::pair<double, double>> cells;  // observed, expected
  std::pair<double, double> small{};
  for (size_t i = 0; i < observed.size(); ++i) {
    const double o = static_cast<double>(observed[i]), e = static_cast<double>(expected[i]) / all * n;
    if (e >= kLeast) cells.emplace_back(o, e);
    else small = {small.first + o, small.second + e};
  }
  if (small.second == 0 && small.first > 0) return 1;  // kinds that the original lacks
  if (small.second >= kLeast || cells.empty()) cells.push_back(small);
  else {
    const auto least =
        std::min_element(cells.begin(), cells.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    *least = {least->first + small.first, least->second + small.second};
  }
  if (cells.size() < 2) return 0;
  double chi2 = 0;
  for (const auto& [o, e] : cells) chi2 += (o - e) * (o - e) / e;
  return std::min(1.0, std::sqrt(chi2 / (n * static_cast<double>(cells.size() - 1))));
}

double rms_difference(const Autocorrelation& a, const Autocorrelation& b) {
  double sum = 0, lags = 0;
  for (size_t i = 0; i < kLags; ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) continue;
    sum += (a[i] - b[i]) * (a[i] - b[i]);
    ++lags;
  }
  return lags > 0 ? std::sqrt(sum / lags) : 0;
}

double kendall_tau(std::span<const double> a, std::span<const double> b, double gap) {
  CHAKRA_ASSERT(a.size() == b.size());
  int64_t sum = 0, pairs = 0;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (std::abs(a[i] - a[j]) <= gap * std::min(a[i], a[j])) continue;
      ++pairs;
      sum += b[i] == b[j] ? 0 : (a[i] < a[j]) == (b[i] < b[j]) ? 1 : -1;
    }
  return pairs > 0 ? static_cast<double>(sum) / static_cast<double>(pairs) : 1;
}

std::vector<Figure> fidelity_of(const Profile& original, const Profile& copy) {
  std::vector<Figure> figures;
  const auto add = [&](std::string_view metric, std::string of, double value) {
    figures.push_back({std::string(metric), std::move(of), value, limit_of(metric)});
  };
  int64_t communications = 0;
  for (const int64_t count : original.kinds) communications += count;
  constexpr int64_t kLeastPart = 100;  // of the communications
  for (const auto& [kind, counts] : original.sizes) {
    const bool is_comm = kind.kind < synth::kCommKinds.size();
    if (is_comm && sum_of(counts) < communications / kLeastPart) continue;
    std::string of(name_of_kind(kind.kind));
    if (is_comm) of += fmt::format(" {}", trace::name(kind.role));
    const auto found = copy.sizes.find(kind);
    const bool absent = found == copy.sizes.end();
    add("ks", of, absent ? 1 : kolmogorov_smirnov(counts, found->second));
    if (!absent) add("wasserstein", of, wasserstein(counts, found->second));
  }
  add("kinds", "", cramers_v(copy.kinds, original.kinds));
  add("order_of_kinds", "", rms_difference(original.types, copy.types));
  add("order_of_sizes", "", rms_difference(original.order, copy.order));
  std::set<trace::Role> roles;
  for (const Profile* job : {&original, &copy})
    for (const auto& [role, ranks] : job->role_bytes) roles.insert(role);
  for (const trace::Role role : roles) {
    const RoleBytes before = bytes_of(original, role), after = bytes_of(copy, role);
    const std::string of(trace::name(role));
    add("bytes", of, relative(after.mean, before.mean));
    add("bytes_p95", of, relative(after.p95, before.p95));
  }
  return figures;
}

double rounded_up(double value, double limit) {
  constexpr double kRounding = 1e-12, kLeast = 1e-3, kMost = 1e9;
  if (!(value > kRounding)) return 0;
  for (double power = kLeast; power < kMost; power *= 10)
    for (const double factor : {1, 2, 5}) {
      const double step = factor * power;
      if (value <= step * (1 + kRounding)) return value <= limit && limit < step ? limit : step;
    }
  return kMost;
}

}  // namespace chakra::certify
