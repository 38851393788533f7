#include "chakra/sim/shared_links.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

namespace chakra::sim {
namespace {

constexpr uint64_t kMostTransfers = uint64_t{1} << 19;

struct MemberTraffic {
  uint32_t from, to;  ///< members of the plan
  double bytes;
};

/// What members send each other in all rounds together. Shift rounds that repeat are added up first.
std::vector<MemberTraffic> traffic_of(const coll::Plan& plan) {
  std::vector<MemberTraffic> all;
  using Shift = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  absl::flat_hash_map<Shift, std::pair<const coll::Round*, double>> shifts;
  std::vector<Shift> in_order;
  for (const coll::Round& round : plan.rounds) {
    for (const coll::Transfer& t : round.list) all.push_back({t.from, t.to, static_cast<double>(t.bytes)});
    if (!round.list.empty() || round.shift == 0) continue;
    const Shift shift{round.shift, round.shifts, round.apart, round.stride, round.extent};
    const auto [known, added] = shifts.try_emplace(shift, &round, 0.0);
    if (added) in_order.push_back(shift);
    known->second.second += static_cast<double>(round.bytes);
  }
  for (const Shift& shift : in_order) {
    const auto& [round, bytes] = shifts.at(shift);
    coll::each_transfer(plan, *round, [&, bytes = bytes](uint32_t from, uint32_t to, uint64_t) {
      all.push_back({from, to, bytes});
    });
  }
  return all;
}

}  // namespace

void SharedLinks::add(const coll::Plan& plan, std::span<const uint32_t> order,
                      std::span<const std::vector<int64_t>> groups, uint64_t flow, int64_t times) {
  if (plan.rounds.empty()) return;
  const std::vector<MemberTraffic> traffic = traffic_of(plan);
  std::vector<net::Use> uses;
  // onto(trunk, bytes) for what a group sends.
  const auto carry = [&](const std::vector<int64_t>& ranks, const auto& onto) {
    const auto rank = [&](uint32_t member) { return ranks[order.empty() ? member : order[member]]; };
    for (const MemberTraffic& t : traffic) {
      uses.clear();
      fabric_.uses(rank(t.from), rank(t.to), flow, uses);
      for (const net::Use& use : uses) onto(use.trunk, t.bytes * use.share * static_cast<double>(times));
    }
  };
  if (looked_at_ + traffic.size() * groups.size() <= kMostTransfers) {
    looked_at_ += traffic.size() * groups.size();
    if (bytes_.empty()) bytes_.assign(fabric_.trunk_count(), 0);
    for (const std::vector<int64_t>& ranks : groups)
      carry(ranks, [&](net::TrunkId trunk, double bytes) { bytes_[trunk] += bytes; });
    return;
  }
  if (traffic.size() > kMostTransfers) return;
  // Groups that stand alike load the links of a kind alike on the whole: the mean, above which the busiest link is.
  if (by_kind_.empty()) by_kind_.assign(fabric_.link_kinds(), 0);
  carry(groups[0], [&](net::TrunkId trunk, double bytes) {
    by_kind_[fabric_.link_kind(trunk)] += bytes * static_cast<double>(groups.size());
  });
}

SharedLinks::Busiest SharedLinks::busiest() const {
  Busiest most;
  std::vector<double> of_kind = fabric_.rates_by_kind();  // seconds
  for (size_t k = 0; k < of_kind.size(); ++k) {
    of_kind[k] = by_kind_.empty() || of_kind[k] == 0 ? 0 : by_kind_[k] / of_kind[k];
    if (of_kind[k] > most.seconds) most = {of_kind[k], fmt::format("the mean link of kind {}", k + 1)};
  }
  net::TrunkId busiest = net::kNoLink;
  for (net::TrunkId t = 0; t < bytes_.size(); ++t) {
    if (bytes_[t] == 0) continue;
    const double seconds = bytes_[t] / fabric_.trunk(t).bytes_per_s + of_kind[fabric_.link_kind(t)];
    if (seconds <= most.seconds) continue;
    most.seconds = seconds;
    busiest = t;
  }
  if (busiest == net::kNoLink) return most;
  std::vector<net::LinkId> links;
  fabric_.links_of(busiest, links);
  const net::Link link = fabric_.link(links[0]);
  most.link = fmt::format("the link {} -> {}", fabric_.device_name(link.from), fabric_.device_name(link.to));
  return most;
}

}  // namespace chakra::sim
