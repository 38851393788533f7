#include "chakra/sim/link_loads.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <tuple>

namespace chakra::sim {
namespace {

// Of a plan; of more pairs, some shifts stand for all. Of all groups of a plan.
constexpr uint64_t kLeastPairs = uint64_t{1} << 10, kMostPairs = uint64_t{1} << 16;

}  // namespace

/// Rounds that move between the same members are looked at once.
class LinkLoads::PatternMaker {
 public:
  PatternMaker(const coll::Plan& plan, uint64_t most) : plan_(plan) {
    uint64_t transfers = 0;
    absl::flat_hash_map<Shift, char> known;
    for (const coll::Round& round : plan.rounds)
      if (round.list.empty() && round.shift != 0 && known.try_emplace(key(round)).second)
        transfers += uint64_t{round.shifts} * plan.members;
    every_ = transfers > most ? (transfers + most - 1) / most | 1 : 1;  // odd: sizes of switches are even as a rule
  }

  Pattern run() {
    for (const coll::Round& round : plan_.rounds) {
      if (!round.list.empty()) add_list(round);
      else if (round.shift != 0) add_shifts(round);
    }
    std::erase_if(out_.rounds, [](const Pattern::Rounds& r) { return r.sent.empty(); });
    std::stable_sort(out_.rounds.begin(), out_.rounds.end(),
                     [](const Pattern::Rounds& a, const Pattern::Rounds& b) { return a.lane < b.lane; });
    out_.cost = out_.pairs.size();
    for (const Pattern::Rounds& r : out_.rounds) out_.cost += r.sent.size() / 4;
    return std::move(out_);
  }

 private:
  using Shift = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  static Shift key(const coll::Round& r) { return {r.lane, r.shift, r.shifts, r.apart, r.stride, r.extent}; }

  uint32_t pair(uint32_t from, uint32_t to) {
    const auto [known, added] = pairs_.try_emplace(uint64_t{from} << 32 | to, static_cast<uint32_t>(out_.pairs.size()));
    if (added) out_.pairs.push_back({from, to});
    return known->second;
  }

  /// Of too many shifts every n-th one, with n times its bytes.
  void add_shifts(const coll::Round& round) {
    const auto [known, added] = shifts_.try_emplace(key(round), static_cast<uint32_t>(out_.rounds.size()));
    if (added) {
      Pattern::Rounds& rounds = out_.rounds.emplace_back();
      rounds.lane = round.lane;
      const uint64_t first = shifts_seen_;
      shifts_seen_ += round.shifts;
      coll::Round one = round;
      for (uint32_t q = 0; q < round.shifts; ++q) {
        if ((first + q) % every_ != 0) continue;
        one.shift = round.shift + q * round.apart;
        one.shifts = 1;
        coll::each_transfer(plan_, one, [&](uint32_t from, uint32_t to, uint64_t) {
          rounds.sent.push_back({pair(from, to), 0});
        });
      }
    }
    Pattern::Rounds& rounds = out_.rounds[known->second];
    rounds.count += 1;
    for (auto& sent : rounds.sent) sent.second += static_cast<double>(round.bytes) * static_cast<double>(every_);
  }

  void add_list(const coll::Round& round) {
    std::vector<uint32_t> pairs;
    for (const coll::Transfer& t : round.list) pairs.push_back(pair(t.from, t.to));
    pairs.push_back(round.lane);
    const auto [known, added] = lists_.try_emplace(pairs, static_cast<uint32_t>(out_.rounds.size()));
    if (added) {
      Pattern::Rounds& rounds = out_.rounds.emplace_back();
      rounds.lane = round.lane;
      for (size_t i = 0; i + 1 < pairs.size(); ++i) rounds.sent.push_back({pairs[i], 0});
    }
    Pattern::Rounds& rounds = out_.rounds[known->second];
    rounds.count += 1;
    for (size_t i = 0; i < round.list.size(); ++i) rounds.sent[i].second += static_cast<double>(round.list[i].bytes);
  }

  const coll::Plan& plan_;
  uint64_t every_ = 1, shifts_seen_ = 0;
  absl::flat_hash_map<uint64_t, uint32_t> pairs_;
  absl::flat_hash_map<Shift, uint32_t> shifts_;
  absl::flat_hash_map<std::vector<uint32_t>, uint32_t> lists_;
  Pattern out_;
};

LinkLoads::Pattern LinkLoads::pattern_of(const coll::Plan& plan, uint64_t most) {
  return PatternMaker(plan, most).run();
}

uint32_t LinkLoads::slot_of(net::TrunkId trunk) {
  if (slot_of_.empty()) slot_of_.assign(fabric_.trunk_count(), UINT32_MAX);
  uint32_t& slot = slot_of_[trunk];
  if (slot == UINT32_MAX) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
    slots_.back().trunk = trunk;
    slots_.back().bytes_per_s = fabric_.trunk(trunk).bytes_per_s;
  }
  return slot;
}

void LinkLoads::add(uint32_t timeline, const coll::Plan& plan, std::span<const uint32_t> order,
                    std::span<const std::vector<int64_t>> groups, size_t count, uint64_t flow, double seconds) {
  if (plan.rounds.empty() || groups.empty() || seconds <= 0) return;
  const uint64_t most = std::clamp(left_ / 8, kLeastPairs, kMostPairs);  // so that something is left for others
  const Pattern pattern = pattern_of(plan, most);
  uint64_t used = 0;
  const size_t first_kind = kinds_.size();
  double examined = 0;  // of groups that cost the same, some may use other kinds of links
  for (size_t g = 0; g < groups.size() && (g == 0 || used + pattern.cost <= most); ++g) {
    used += pattern.cost;
    find_loads(pattern, groups[g], order, flow, seconds);
    put_by_kind(timeline, first_kind);
    examined += 1;
    put(timeline);
    by_kind_ = by_kind_ || (g + 1 < count && used + pattern.cost > most);
  }
  for (size_t k = first_kind; k < kinds_.size(); ++k) {
    kinds_[k].mean *= static_cast<double>(count) / examined;
    kinds_[k].peak *= static_cast<double>(count) / examined;
  }
  by_kind_ = by_kind_ || groups.size() < count;
  left_ -= std::min(left_, used);
}

/// What a group puts on each link: Slot::mean and Slot::peak of touched_.
void LinkLoads::find_loads(const Pattern& pattern, const std::vector<int64_t>& ranks, std::span<const uint32_t> order,
                           uint64_t flow, double seconds) {
  const auto rank = [&](uint32_t member) { return ranks[order.empty() ? member : order[member]]; };
  uses_.clear();
  first_use_.assign(1, 0);
  for (const auto& [from, to] : pattern.pairs) {
    fabric_.uses(rank(from), rank(to), flow, uses_);
    first_use_.push_back(static_cast<uint32_t>(uses_.size()));
  }
  for (net::Use& use : uses_) use.trunk = slot_of(use.trunk);
  for (size_t i = 0; i < pattern.rounds.size(); ++i) {
    play(pattern.rounds[i]);
    if (i + 1 == pattern.rounds.size() || pattern.rounds[i + 1].lane != pattern.rounds[i].lane) end_lane();
  }
  double most = 0;
  for (const uint32_t s : touched_) most = std::max(most, slots_[s].mean);
  const double whole = std::max(seconds, most);  // measured collectives may be faster than links and plans say
  for (const uint32_t s : touched_) {
    Slot& slot = slots_[s];
    slot.mean /= whole;
    slot.peak = std::min(1.0, std::max(slot.peak, slot.mean));
  }
}

/// Equal rounds: what each link carries in them, and how much of the time in which data move that takes. Latencies
/// carry nothing, so short messages have a small mean, but the peak of long ones.
void LinkLoads::play(const Pattern::Rounds& rounds) {
  double longest = 0;
  for (const auto& [pair, bytes] : rounds.sent) {
    for (uint32_t u = first_use_[pair]; u < first_use_[pair + 1]; ++u) {
      Slot& slot = slots_[uses_[u].trunk];
      if (slot.round == 0) in_round_.push_back(uses_[u].trunk);
      slot.round += bytes * uses_[u].share / slot.bytes_per_s;
      longest = std::max(longest, slot.round);
    }
  }
  for (const uint32_t s : in_round_) {
    Slot& slot = slots_[s];
    if (slot.round == 0) continue;  // a second time: of 0 bytes
    if (slot.mean == 0) touched_.push_back(s);
    if (slot.lane_peak == 0) in_lane_.push_back(s);
    slot.mean += slot.round;
    slot.lane_peak = std::max(slot.lane_peak, slot.round / longest);
    slot.round = 0;
  }
  in_round_.clear();
}

/// Lanes run at the same time.
void LinkLoads::end_lane() {
  for (const uint32_t s : in_lane_) {
    slots_[s].peak += slots_[s].lane_peak;
    slots_[s].lane_peak = 0;
  }
  in_lane_.clear();
}

void LinkLoads::put(uint32_t timeline) {
  for (const uint32_t s : touched_) {
    Slot& slot = slots_[s];
    if (slot.loads.empty() || slot.loads.back().timeline != timeline) slot.loads.push_back({timeline, 0, 0});
    slot.loads.back().mean += slot.mean;
    slot.loads.back().peak += slot.peak;
    slot.mean = slot.peak = 0;
  }
  touched_.clear();
}

/// Adds to the kinds of links from `first` on.
void LinkLoads::put_by_kind(uint32_t timeline, size_t first) {
  for (const uint32_t s : touched_) {
    const uint32_t kind = fabric_.link_kind(slots_[s].trunk);
    auto known = std::find_if(kinds_.begin() + static_cast<ptrdiff_t>(first), kinds_.end(),
                              [&](const KindLoad& k) { return k.kind == kind; });
    if (known == kinds_.end()) {
      kinds_.push_back({timeline, kind, 0, 0});
      known = kinds_.end() - 1;
    }
    known->mean += slots_[s].mean;
    known->peak += slots_[s].peak;
  }
}

/// The means of all links of a kind.
void LinkLoads::add_kinds(std::vector<Place>& out) const {
  std::vector<double> links(fabric_.link_kinds(), 0);
  for (net::TrunkId t = 0; t < fabric_.trunk_count(); ++t) links[fabric_.link_kind(t)] += 1;
  std::vector<KindLoad> kinds = kinds_;
  std::stable_sort(kinds.begin(), kinds.end(), [](const KindLoad& a, const KindLoad& b) {
    return std::tuple(a.kind, a.timeline) < std::tuple(b.kind, b.timeline);
  });
  for (size_t i = 0; i < kinds.size();) {
    KindLoad sum = kinds[i];
    for (++i; i < kinds.size() && kinds[i].kind == sum.kind && kinds[i].timeline == sum.timeline; ++i) {
      sum.mean += kinds[i].mean;
      sum.peak += kinds[i].peak;
    }
    if (out.empty() || out.back().trunk != net::kNoLink || out.back().kind != sum.kind)
      out.push_back({net::kNoLink, sum.kind, {}});
    out.back().loads.push_back({sum.timeline, sum.mean / links[sum.kind], sum.peak / links[sum.kind]});
  }
}

std::vector<LinkLoads::Place> LinkLoads::places() {
  std::vector<Place> out;
  for (Slot& slot : slots_) {
    if (slot.loads.empty()) continue;
    std::vector<LinkLoad>& loads = slot.loads;
    std::stable_sort(loads.begin(), loads.end(),
                     [](const LinkLoad& a, const LinkLoad& b) { return a.timeline < b.timeline; });
    join_equal(loads, &LinkLoad::timeline);
    out.push_back({slot.trunk, fabric_.link_kind(slot.trunk), std::move(loads)});
  }
  if (by_kind_) add_kinds(out);
  return out;
}

}  // namespace chakra::sim
