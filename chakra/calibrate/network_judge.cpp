// How far a fit is off on other measurements.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "chakra/base/quantile.h"
#include "chakra/calibrate/network_fit.h"

namespace chakra::calibrate {
namespace {

using result::Table;

struct Off {
  double off = 0;  ///< |ln(predicted / measured)|
  const CollectiveSample* sample = nullptr;

  bool operator<(const Off& other) const { return off < other.off; }
};

/// "all_gather of 8, 64.0 MiB", across nodes "of 8 x 2".
std::string name_of(const CollectiveSample& s) {
  const std::string nodes = s.nodes > 1 ? fmt::format(" x {}", s.nodes) : "";
  return fmt::format("{} of {}{}, {}", s.operation, s.ranks / s.nodes, nodes, show_bytes(static_cast<double>(s.bytes)));
}

}  // namespace

FitError error_of(std::vector<double> offs) {
  if (offs.empty()) return {};
  std::sort(offs.begin(), offs.end());
  const double sum = std::accumulate(offs.begin(), offs.end(), 0.0);
  return {std::expm1(sum / static_cast<double>(offs.size())), std::expm1(offs.back()), std::ssize(offs),
          std::expm1(quantile(offs, 0.95))};
}

// `calibrate.network.same` (warning): most measurements that judge a fit are among those that it was fitted to
Result<void> judge_on_files(const NetworkOptions& options, const std::vector<CollectiveSample>& fitted_to,
                            FittedNetwork& fitted) {
  NetworkOptions others = options;
  others.files = options.judge;
  others.judge = options.files;  // whose columns `where` may name
  Findings read;
  CHAKRA_ASSIGN(const std::vector<CollectiveSample> samples, read_collectives(others, read));
  for (const Finding& finding : read)
    if (finding.tag == "calibrate.network.skipped") fitted.findings.push_back(finding);
  std::vector<net::CollectiveFit> fits;
  for (const FittedOperation& o : fitted.operations) fits.push_back(o.fit);
  std::map<std::tuple<std::string_view, int64_t, int64_t>, std::vector<Off>> groups;
  std::vector<double> all;
  int64_t without = 0, same = 0;
  for (const CollectiveSample& s : samples) {
    const std::vector<double> off = offs(fits, {s});
    if (off.empty()) {
      ++without;
      continue;
    }
    all.push_back(off[0]);
    same += std::binary_search(fitted_to.begin(), fitted_to.end(), s);
    groups[{s.operation, s.nodes, s.ranks / s.nodes}].push_back({off[0], &s});
  }
  fitted.judged = error_of(all);
  fitted.judged_table = {"",
                         {{"operation", Table::Kind::text, "operation", "the operation"},
                          {"ranks", Table::Kind::text, "ranks", "the number of ranks"},
                          {"points", Table::Kind::count, "points", "measurements"},
                          {"error", Table::Kind::share, "error", "mean error on them"},
                          {"p95", Table::Kind::share, "quantile_95", "95 % quantile of the errors"},
                          {"worst", Table::Kind::share, "worst", "the worst error"},
                          {"of", Table::Kind::text, "of", "the measurement where that is"}},
                         {}};
  for (const auto& [key, list] : groups) {
    std::vector<double> values;
    for (const Off& off : list) values.push_back(off.off);
    const FitError error = error_of(values);
    const auto& [operation, nodes, per_node] = key;
    fitted.judged_table.rows.push_back(
        {std::string(operation), nodes > 1 ? fmt::format("{} x {}", per_node, nodes) : fmt::format("{}", per_node),
         error.points, error.mean, error.most_of_95, error.worst,
         name_of(*std::max_element(list.begin(), list.end())->sample)});
  }
  if (without > 0)
    fitted.findings.push_back(
        {"calibrate.network.skipped", Severity::warning, -1, -1,
         fmt::format("{} measurements to judge are of operations that were not fitted", show_count(without))});
  if (2 * same > fitted.judged.points)
    fitted.findings.push_back(
        {"calibrate.network.same", Severity::warning, -1, -1,
         fmt::format(
             "{} of {} measurements to judge are also in --from; their error does not apply to other measurements",
             show_count(same), show_count(fitted.judged.points))});
  return {};
}

}  // namespace chakra::calibrate
