#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "chakra/base/quantile.h"
#include "chakra/synth/synth.h"

namespace chakra::synth {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Role;
using trace::Trace;

constexpr double kLeastShare = 1e-3;  ///< smaller shares hardly count
constexpr double kFarthest = 10;      ///< scaled: one feature of one job must not outweigh all others
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double log2_size(uint64_t bytes) { return std::log2(static_cast<double>(bytes) + 1); }

using Spans = std::vector<std::pair<Picoseconds, Picoseconds>>;

/// Sort and merge overlapping spans.
void merge(Spans& spans) {
  std::sort(spans.begin(), spans.end());
  size_t kept = 0;
  for (const auto& span : spans)
    if (kept > 0 && span.first <= spans[kept - 1].second)
      spans[kept - 1].second = std::max(spans[kept - 1].second, span.second);
    else spans[kept++] = span;
  spans.resize(kept);
}
double length_of(const Spans& spans) {
  double sum = 0;
  for (const auto& [begin, end] : spans) sum += static_cast<double>(end - begin);
  return sum;
}
/// Time in both; of merged spans.
double common(const Spans& a, const Spans& b) {
  double sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Picoseconds begin = std::max(a[i].first, b[j].first), end = std::min(a[i].second, b[j].second);
    if (end > begin) sum += static_cast<double>(end - begin);
    (a[i].second < b[j].second ? i : j) += 1;
  }
  return sum;
}

/// The largest part of an uneven all-to-all over the mean part; 0 without parts.
double imbalance_of(std::string_view split) {
  std::vector<uint64_t> parts;
  if (split.empty() || !trace::parse_split(split, parts) || parts.empty()) return 0;
  double most = 0, sum = 0;
  for (const uint64_t part : parts) {
    most = std::max(most, static_cast<double>(part));
    sum += static_cast<double>(part);
  }
  return sum > 0 ? most * static_cast<double>(parts.size()) / sum : 0;
}

}  // namespace

const std::vector<FeatureRow>& features() {
  static const std::vector<FeatureRow> all = [] {
    std::vector<FeatureRow> rows;
    // Not the ratio to the share of one kind: then each kind that a fleet does not use would repeat the share of that
    // one.
    for (const std::string_view kind : kCommKinds)
      rows.push_back({fmt::format("count_{}", kind), "logarithm of 1 + its share of communications, in 1/1000"});
    for (const std::string_view kind : kCommKinds)
      rows.push_back({fmt::format("bytes_{}", kind), "logarithm of 1 + its share of communicated bytes, in 1/1000"});
    for (size_t d = 1; d <= kDeciles; ++d)
      rows.push_back({fmt::format("size_p{}0", d), "this decile of the logarithm of the bytes of communications"});
    rows.push_back({"ranks", "logarithm of the number of ranks"});
    rows.push_back({"nodes", "logarithm of the number of nodes of a rank"});
    for (const trace::RoleRow& role : trace::kRoles)
      rows.push_back({fmt::format("role_{}", role.name), "share of the bytes that groups with this role move"});
    rows.push_back({"bytes_per_op", "logarithm of communicated bytes over operations of computations"});
    rows.push_back({"time_ratio", "logarithm of the time of communication over that of computation"});
    rows.push_back({"overlap", "share of the time of communication during which the rank also computes"});
    rows.push_back({"autocorrelation", "correlation of the logarithm of one size with the next one"});
    rows.push_back({"imbalance", "logarithm of the largest part of an all-to-all over the mean part"});
    return rows;
  }();
  return all;
}

void JobFeatures::add(const Trace& t, int64_t ranks, const trace::RolesByName& roles) {
  CHAKRA_ASSERT(ranks > 0);
  const auto weight = static_cast<double>(ranks);
  std::vector<double> sizes;
  Spans comm, compute;
  for (const NodeId n : t.nodes()) {
    const NodeType type = t.type[n];
    if (type == NodeType::comp) ops_ += weight * static_cast<double>(t.num_ops.empty() ? 0 : t.num_ops[n]);
    const bool busy = t.has_start(n) && t.dur_ps[n] > 0 && (t.on_device(n) || trace::is_comm(type));
    if (busy)
      (trace::is_comm(type) ? comm : compute).emplace_back(t.start_ps[n], add_saturated(t.start_ps[n], t.dur_ps[n]));
  }
  for (const Communication& c : communications(t, roles)) {
    counts_[c.kind] += weight;
    bytes_[c.kind] += weight * static_cast<double>(c.bytes);
    sizes.push_back(log2_size(c.bytes));
    role_bytes_[static_cast<size_t>(c.role)] += weight * static_cast<double>(c.bytes);
    const trace::Comm* const comm = t.comm(c.node);
    if (const double most = comm && comm->type == CommType::all_to_all ? imbalance_of(comm->in_split) : 0; most > 0)
      imbalance_.add(std::log2(most), weight);
  }
  ranks_ += weight;
  nodes_ += weight * static_cast<double>(t.size());
  merge(comm);
  merge(compute);
  comm_ps_ += weight * length_of(comm);
  compute_ps_ += weight * length_of(compute);
  hidden_ps_ += weight * common(comm, compute);
  constexpr size_t kLeastSizes = 3;
  if (sizes.size() >= kLeastSizes) autocorrelation_.add(autocorrelations(sizes, 1)[0], weight);
  if (sizes.empty()) return;
  std::sort(sizes.begin(), sizes.end());
  for (size_t d = 0; d < kDeciles; ++d)
    deciles_[d].add(quantile(sizes, static_cast<double>(d + 1) / (kDeciles + 1)), weight);
}

std::vector<double> JobFeatures::finish() const {
  CHAKRA_ASSERT(ranks_ > 0);
  const auto over = [](double sum, double number) { return number > 0 ? sum / number : kNaN; };
  std::vector<double> values;
  for (const auto* parts : {&counts_, &bytes_}) {
    double sum = 0;
    for (const double part : *parts) sum += part;
    for (const double part : *parts) values.push_back(std::log2(1 + (sum > 0 ? part / sum : 0) / kLeastShare));
  }
  for (const Mean& decile : deciles_) values.push_back(over(decile.sum, decile.weight));
  values.push_back(std::log2(ranks_));
  values.push_back(std::log2(nodes_ / ranks_ + 1));
  double bytes = 0;
  for (const double part : role_bytes_) bytes += part;
  for (const double part : role_bytes_) values.push_back(bytes > 0 ? part / bytes : 0);
  values.push_back(ops_ > 0 ? std::log2((bytes + 1) / ops_) : kNaN);
  values.push_back(comm_ps_ > 0 && compute_ps_ > 0 ? std::log2(comm_ps_ / compute_ps_) : kNaN);
  values.push_back(over(hidden_ps_, comm_ps_));
  values.push_back(over(autocorrelation_.sum, autocorrelation_.weight));
  values.push_back(imbalance_.weight > 0 ? imbalance_.sum / imbalance_.weight : 0);
  CHAKRA_ASSERT(values.size() == features().size());
  return values;
}

ScaledFleet scale(std::span<const std::vector<double>> rows) {
  ScaledFleet fleet;
  fleet.points.points = rows.size();
  for (size_t f = 0; f < features().size(); ++f) {
    Scale& is = fleet.scales.emplace_back();
    std::vector<double> known, apart;
    for (const std::vector<double>& row : rows)
      if (std::isfinite(row[f])) known.push_back(row[f]);
    is.unknown = rows.size() - known.size();
    if (known.empty()) continue;
    is.middle = quantile_of(known, 0.5);
    double sum = 0;
    for (const double value : known) {
      apart.push_back(std::abs(value - is.middle));
      sum += apart.back();
    }
    constexpr double kOfMedian = 1.4826, kOfMean = 1.2533;  // of a normal distribution, to one standard deviation
    constexpr double kRounding = 1e-9;
    is.scale = kOfMedian * quantile_of(apart, 0.5);
    if (is.scale <= kRounding) is.scale = kOfMean * sum / static_cast<double>(known.size());
    if (is.scale <= kRounding) is.scale = 0;
    if (is.scale == 0) continue;
    for (const std::vector<double>& row : rows)
      fleet.points.values.push_back(
          std::isfinite(row[f]) ? static_cast<float>(std::clamp((row[f] - is.middle) / is.scale, -kFarthest, kFarthest))
                                : 0);
  }
  return fleet;
}

}  // namespace chakra::synth
