#include "chakra/certify/profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "chakra/work/work.h"

namespace chakra::certify {
namespace {

using synth::Communication;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPartsOfOctave = 64;

uint64_t token_of(const Communication& c) {
  return Prng(Prng(c.bytes).next() ^ (uint64_t{c.kind} << 8 | static_cast<uint64_t>(c.role))).next();
}

double log2_of(uint64_t value) { return std::log2(static_cast<double>(std::max<uint64_t>(value, 1))); }

/// To a 64th of an octave, so that a profile has few durations.
uint64_t rounded(Picoseconds duration) {
  return static_cast<uint64_t>(
      std::llround(std::exp2(std::round(kPartsOfOctave * log2_of(static_cast<uint64_t>(duration))) / kPartsOfOctave)));
}

/// P(y_t = y_t+lag) - sum of squared shares.
Autocorrelation autocorrelation_of_kinds(const std::vector<Communication>& all) {
  Autocorrelation is;
  is.fill(kNaN);
  std::array<double, synth::kCommKinds.size()> shares{};
  for (const Communication& c : all) shares[c.kind] += 1 / static_cast<double>(all.size());
  const double by_chance = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
  for (size_t lag = 1; lag <= kLags && lag < all.size(); ++lag) {
    size_t equal = 0;
    for (size_t i = lag; i < all.size(); ++i) equal += all[i].kind == all[i - lag].kind;
    is[lag - 1] = static_cast<double>(equal) / static_cast<double>(all.size() - lag) - by_chance;
  }
  return is;
}

/// Of the logarithms.
Autocorrelation autocorrelation_of_sizes(const std::vector<Communication>& all) {
  std::vector<double> values;
  for (const Communication& c : all) values.push_back(log2_of(c.bytes));
  const std::vector<double> found = synth::autocorrelations(std::move(values), kLags);
  Autocorrelation is;
  std::copy(found.begin(), found.end(), is.begin());
  return is;
}

}  // namespace

std::string_view name_of_kind(uint8_t kind) {
  return kind == kOperations ? "operations" : kind == kTensorBytes ? "tensor_bytes" : synth::kCommKinds[kind];
}

int64_t sum_of(const Counts& counts) {
  int64_t sum = 0;
  for (const auto& [value, count] : counts) sum += count;
  return sum;
}

void ProfileBuilder::Sums::add(const Autocorrelation& of, double by) {
  for (size_t i = 0; i < kLags; ++i) {
    if (std::isnan(of[i])) continue;
    sum[i] += by * of[i];
    ranks[i] += by;
  }
}

Autocorrelation ProfileBuilder::Sums::mean() const {
  Autocorrelation is;
  for (size_t i = 0; i < kLags; ++i) is[i] = ranks[i] > 0 ? sum[i] / ranks[i] : kNaN;
  return is;
}

void ProfileBuilder::add(const Trace& t, int64_t ranks, const trace::RolesByName& roles) {
  features_.add(t, ranks, roles);
  profile_.ranks += ranks;
  profile_.nodes += ranks * t.size();
  const std::vector<Communication> all = synth::communications(t, roles);
  std::vector<uint64_t> tokens;
  std::map<trace::Role, double> bytes;
  for (const Communication& c : all) {
    tokens.push_back(token_of(c));
    profile_.kinds[c.kind] += ranks;
    bytes[c.role] += static_cast<double>(c.bytes);
    if (c.bytes > 0) profile_.sizes[{c.kind, c.role}][c.bytes] += ranks;
  }
  for (const auto& [role, sum] : bytes) profile_.role_bytes[role].emplace_back(sum, ranks);
  Counts &operations = profile_.sizes[{kOperations, trace::Role::unknown}],
         &tensors = profile_.sizes[{kTensorBytes, trace::Role::unknown}];
  for (const NodeId n : t.nodes()) {
    const work::NodeWork work = work::work_of(t, n);
    if (work.ops > 0) operations[work.ops] += ranks;
    if (work.bytes > 0 && !trace::is_comm(t.type[n])) tensors[work.bytes] += ranks;
    if (t.dur_ps[n] > 0) profile_.durations[rounded(t.dur_ps[n])] += ranks;
  }
  if (!all.empty()) {
    types_.add(autocorrelation_of_kinds(all), static_cast<double>(ranks));
    order_.add(autocorrelation_of_sizes(all), static_cast<double>(ranks));
  }
  sequences_[std::move(tokens)] += ranks;
}

Profile ProfileBuilder::finish() && {
  std::erase_if(profile_.sizes, [](const auto& row) { return row.second.empty(); });
  profile_.types = types_.mean();
  profile_.order = order_.mean();
  profile_.features = features_.finish();
  for (auto node = sequences_.begin(); node != sequences_.end();) {
    auto taken = sequences_.extract(node++);
    profile_.sequences.push_back({std::move(taken.key()), taken.mapped()});
  }
  return std::move(profile_);
}

}  // namespace chakra::certify
