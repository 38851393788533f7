#include "chakra/coll/fares.h"

#include <algorithm>

#include "chakra/coll/closed.h"

namespace chakra::coll {
namespace {

using Fare = PricedPlan::Fare;

/// Runs of links on ways are kept up to here (16 bytes each).
constexpr size_t kMostRuns = size_t{1} << 21;

}  // namespace

Fares::Fares(const Place& place) : place_(place), fabric_(*place.fabric) {
  if (fabric_.routing.kind == net::Routing::adaptive) fabric_.routing.kind = net::Routing::spread;
}

double Fares::ps_per_byte(net::TrunkId trunk) {
  if (ps_per_byte_.empty()) ps_per_byte_.assign(fabric_.trunk_count(), 0);
  double& known = ps_per_byte_[trunk];
  if (known == 0) known = std::min(kPsPerSecond / fabric_.trunk(trunk).bytes_per_s, kSlowest);
  return known;
}

void Fares::begin(size_t transfers) {
  if (bytes_.empty()) {
    bytes_.assign(fabric_.trunk_count(), 0);
    ps_per_byte_.resize(bytes_.size(), 0);
  }
  take_loads([](net::TrunkId, double) {});  // of a round before, where nobody asked
  ways_.reserve(transfers);
  transfers_ += transfers;
}

/// Appends the links of a way to runs_ and returns its latency.
Picoseconds Fares::add_runs(uint32_t from, uint32_t to) {
  uses_.clear();
  const Picoseconds latency = fabric_.uses(place_.ranks[from], place_.ranks[to], place_.flow, uses_);
  const size_t first = runs_.size();
  for (const auto& [trunk, share] : uses_) {
    if (ps_per_byte_[trunk] == 0)
      ps_per_byte_[trunk] = std::min(kPsPerSecond / fabric_.trunk(trunk).bytes_per_s, kSlowest);
    if (runs_.size() > first && runs_.back().first + runs_.back().count == trunk && runs_.back().share == share)
      ++runs_.back().count;
    else runs_.push_back({trunk, 1, share});
  }
  return latency;
}

/// A transfer's way; its links are at the end of runs_ where they are not kept.
Fares::Way Fares::find(uint32_t from, uint32_t to) {
  const size_t first = runs_.size();
  const auto latency = static_cast<double>(add_runs(from, to));
  const auto count = static_cast<uint32_t>(runs_.size() - first);
  return {{static_cast<uint32_t>(first), first < kMostRuns ? count : kNotKept}, latency};
}

/// Puts a transfer on its links.
void Fares::charge(const Links& links, double bytes) {
  const bool kept = links.count != kNotKept;
  const size_t end = kept ? size_t{links.first} + links.count : runs_.size();
  for (size_t r = links.first; r < end; ++r) {
    const Run& run = runs_[r];
    const double load = bytes * run.share;
    double* const at = bytes_.data() + run.first;
    for (uint32_t i = 0; !kept && i < run.count; ++i)
      if (at[i] == 0) not_kept_.push_back(run.first + i);
    for (uint32_t i = 0; i < run.count; ++i) at[i] += load;
  }
  if (!kept) runs_.resize(links.first);
}

void Fares::of_shift(const Targets& targets, std::vector<Fare>& out) {
  const uint32_t n = place_.members();
  begin(size_t{n} * targets.shifts);
  runs_.clear();
  of_lists_.clear();
  out.clear();
  for (uint32_t q = 0; q < targets.shifts; ++q)
    for (uint32_t i = 0; i < n; ++i) {
      const Way way = find(i, targets.of(i, q));
      charge(ways_.emplace_back(way.links), 1);
      out.push_back({0, way.latency_ps});
    }
  for (uint32_t q = 0; q < targets.shifts; ++q)
    for (uint32_t i = 0; i < n; ++i) {
      const size_t at = size_t{q} * n + i;
      out[at].ps_per_byte = busiest(i, targets.of(i, q), ways_[at]);
    }
}

void Fares::of_list(const std::vector<Transfer>& list, std::vector<Fare>& out) {
  begin(list.size());
  if (runs_.size() >= kMostRuns) {
    runs_.clear();
    of_lists_.clear();
  }
  const size_t before = out.size();
  for (const Transfer& t : list) {
    const auto [known, fresh] = of_lists_.try_emplace(uint64_t{t.from} << 32 | t.to);
    if (fresh) known->second = find(t.from, t.to);
    const Way& way = known->second;
    charge(ways_.emplace_back(way.links), static_cast<double>(t.bytes));
    out.push_back({0, way.latency_ps});
    if (way.links.count == kNotKept) of_lists_.erase(known);
  }
  for (size_t t = 0; t < list.size(); ++t)
    if (list[t].bytes > 0) out[before + t].ps_per_byte = busiest(list[t].from, list[t].to, ways_[t]);
}

/// How long the busiest link of a transfer takes.
double Fares::busiest(uint32_t from, uint32_t to, const Links& links) {
  const size_t before = runs_.size();
  size_t first = links.first, end = first + links.count;
  if (links.count == kNotKept) {
    add_runs(from, to);
    first = before;
    end = runs_.size();
  }
  double longest = 0;
  for (size_t r = first; r < end; ++r) {
    const double *const bytes = bytes_.data() + runs_[r].first, *const ps = ps_per_byte_.data() + runs_[r].first;
    for (uint32_t i = 0; i < runs_[r].count; ++i) longest = later(longest, bytes[i] * ps[i]);
  }
  runs_.resize(before);
  return longest;
}

}  // namespace chakra::coll
