// What each transfer of a plan costs at its place: by the fabric's form alone where that says it, else by the links.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "chakra/coll/closed.h"
#include "chakra/coll/fares.h"
#include "chakra/coll/symmetry.h"

namespace chakra::coll {
namespace {

using Fare = PricedPlan::Fare;

/// Fares of members that differ are kept up to here; beyond, they are worked out anew in each run.
constexpr size_t kMostFares = size_t{1} << 22;
/// Transfers of a kind that are looked at one by one; beyond, and where that is too many, a sample of this size.
constexpr uint64_t kMostOneByOne = uint64_t{1} << 21, kSample = uint64_t{1} << 17;
/// Members from which the latencies of an exchange are looked at.
constexpr uint32_t kSenders = 16;
/// Loads of different rounds are remembered up to here.
constexpr size_t kMostLoads = size_t{1} << 20;

/// All that the plan puts on links.
struct Carried {
  std::vector<double> bytes;  ///< by trunk; empty where no transfer was looked at
  std::map<std::pair<const Symmetry::Dimension*, uint32_t>, Symmetry::Crowd> turned;
  double least_latency = std::numeric_limits<double>::infinity();  ///< of the transfers

  void add(const net::Fabric& fabric, net::TrunkId trunk, double more) {
    if (bytes.empty()) bytes.resize(fabric.trunk_count());
    bytes[trunk] += more;
  }
  void saw(double latency_ps) { least_latency = std::min(least_latency, latency_ps); }

  /// How long the busiest link takes, until the last has arrived.
  double busiest_ps(Fares& fares) const {
    double busiest = 0;
    for (net::TrunkId trunk = 0; trunk < bytes.size(); ++trunk)
      if (bytes[trunk] > 0) busiest = later(busiest, bytes[trunk] * fares.ps_per_byte(trunk));
    for (const auto& [links, sum] : turned)
      busiest = later(busiest, later(sum.up, sum.down) * links.first->ps_per_byte);
    return busiest > 0 ? busiest + least_latency : 0;
  }
};

/// A shift round that may come again.
struct Known {
  struct Load {
    net::TrunkId trunk;
    double bytes;
  };
  bool uniform = false;
  uint32_t first = 0;       ///< uniform: into alike_; else into fares, or kNotKept
  double bytes = 0;         ///< that all such rounds send, per transfer
  std::vector<Load> loads;  ///< per byte of a transfer
  const Symmetry::Dimension* turns = nullptr;
  Symmetry::Crowd crowd;
};
struct KnownRounds {
  absl::flat_hash_map<Targets, Known> by_targets;
  size_t size = 0;        ///< loads and rounds
  Known* last = nullptr;  ///< of the round before, whose targets these are
  Targets last_targets{Plan{1, 1, {}}, Round{}};
};

/// When all members end that begin at 0 and do the same.
double end_together(const PricedPlan& priced) {
  const Plan& plan = *priced.plan;
  std::vector<double> done(std::max(plan.lanes, 1u), 0.0);
  for (size_t k = 0; k < plan.rounds.size(); ++k) {
    const Round& round = plan.rounds[k];
    const PricedPlan::RoundCost& cost = priced.rounds[k];
    if (!cost.uniform) continue;
    const double begin = round.after < 0
                             ? done[round.lane]
                             : later(done[round.lane], done[plan.rounds[static_cast<size_t>(round.after)].lane]);
    double last = begin + cost.left_ps;
    for (uint32_t q = 0; q < round.shifts; ++q) last = later(last, begin + priced.arrive_ps[cost.first + q]);
    done[round.lane] = last;
  }
  return *std::max_element(done.begin(), done.end());
}

/// Limits of a prediction.
struct Most {
  uint64_t transfers = 0;  ///< looked at one by one
  double ps = 0;           ///< of all members together
};

/// Whether an exchange of this size is priced as a whole.
bool is_large_exchange(const Targets& targets, uint32_t members, const Most& most) {
  return uint64_t{members} * targets.shifts > std::min(most.transfers, kSample) && targets.shifts + 1 == targets.extent;
}

/// Whether more transfers would be looked at than may be; false where a sample may be enough.
bool are_too_many(const Plan& plan, const net::Fabric& fabric, const Most& most) {
  uint64_t transfers = 0;
  absl::flat_hash_set<Targets> seen;
  std::optional<Targets> before;
  for (const Round& round : plan.rounds) {
    transfers += round.list.size();
    if (round.list.empty() && round.shift != 0) {
      const Targets targets(plan, round);
      if (before && *before == targets) continue;
      before.emplace(targets);
      if (!seen.insert(targets).second) continue;
      if (!is_large_exchange(targets, plan.members, most)) transfers += uint64_t{plan.members} * targets.shifts;
      else if (!fabric.spreads_exchanges()) return false;
    }
    if (transfers > most.transfers) return true;
  }
  return false;
}

/// From some of the members; one of those that see all others in the same places.
double longest_latency(const Targets& targets, const Place& place) {
  double latency = 0;
  std::vector<int64_t> row;
  std::vector<std::vector<int64_t>> seen;
  for (uint32_t s = 0; s < kSenders; ++s) {
    const auto from = static_cast<uint32_t>(uint64_t{s} * place.members() / kSenders);
    row.assign(1, place.ranks[from]);
    for (uint32_t q = 0; q < targets.shifts; ++q) row.push_back(place.ranks[targets.of(from, q)]);
    std::vector<int64_t> places = place.fabric->placement(row);
    std::sort(places.begin() + 1, places.end());
    if (std::find(seen.begin(), seen.end(), places) != seen.end()) continue;
    seen.push_back(std::move(places));
    for (size_t i = 1; i < row.size(); ++i)
      latency = later(latency, static_cast<double>(place.fabric->path(row[0], row[i]).latency_ps));
  }
  return latency;
}

class Pricing {
 public:
  Pricing(const Plan& plan, const Place& place, const Most& most)
      : plan_(plan), place_(place), symmetry_(place), fares_(place), most_(most) {}

  std::optional<PricedPlan> run() {
    priced_.plan = &plan_;
    priced_.place = place_;
    priced_.rounds.resize(plan_.rounds.size());
    priced_.arrive_ps.reserve(plan_.rounds.size());
    if (plan_.members < 2) return std::move(priced_);
    every_ = follows_form() ? 0 : 1;
    if (every_ > 0) thin_out();
    if (every_ > 0 && !priced_.sampled && are_too_many(plan_, *place_.fabric, most_)) return std::nullopt;
    price_steps();
    for (size_t k = 0; k < plan_.rounds.size(); ++k) {
      const Round& round = plan_.rounds[k];
      if (!round.list.empty() && plan_.behind.empty()) {
        priced_.rounds[k].first = static_cast<uint32_t>(priced_.fares.size());
        price_list(round.list);
      } else if (round.list.empty() && round.shift != 0) {
        price_shift(k);
      }
      if (too_many_ || (fares_.transfers() > most_.transfers && !priced_.sampled)) return std::nullopt;
    }
    flush();
    return run_together() ? std::optional(std::move(priced_)) : std::nullopt;
  }

 private:
  /// Whether the fabric's form alone says what all rounds cost and what they put on links together. Lists do not follow
  /// it; where less than the whole dimension turns, other links are the busiest each time: that matters to other lanes.
  bool follows_form() const {
    Targets last(plan_, Round{});
    bool have = false;
    return std::all_of(plan_.rounds.begin(), plan_.rounds.end(), [&](const Round& round) {
      if (!round.list.empty()) return false;
      if (round.shift == 0) return true;
      const Targets targets(plan_, round);
      if (have && targets == last) return true;  // as the one before
      have = true;
      last = targets;
      const Symmetry::Dimension* turns = symmetry_.turns(targets);
      return turns && (plan_.lanes == 1 || turns->form == net::RowForm::star || turns->turned_by(targets));
    });
  }

  /// Where rounds of more different shifts than can be looked at turn all members, some stand for those near them.
  void thin_out() {
    const uint64_t n = plan_.members;
    uint64_t shifts = 0;
    std::optional<Targets> before;
    for (const Round& round : plan_.rounds) {
      if (!round.list.empty()) return;
      if (round.shift == 0) continue;
      const Targets targets(plan_, round);
      if (targets.extent != n || targets.shifts > 1) return;
      if (!before || !(targets == *before)) ++shifts;
      before.emplace(targets);
    }
    if (shifts * n <= one_by_one()) return;
    every_ = every_of(shifts);
    priced_.sampled = true;
  }
  uint64_t one_by_one() const { return std::min(most_.transfers, kMostOneByOne); }
  /// One of this many shifts is looked at.
  uint32_t every_of(uint64_t shifts) const {
    const uint64_t looked_at = std::max<uint64_t>(1, std::min(most_.transfers, kSample) / plan_.members);
    return static_cast<uint32_t>((shifts + looked_at - 1) / looked_at);
  }
  /// The shift, of `every` from begin on, that stands for them: at random, so that no regular order of places is met.
  static uint32_t drawn(uint32_t begin, uint32_t every, uint32_t extent) {
    return std::clamp(begin + static_cast<uint32_t>(Prng(begin).below(every)), 1u, extent - 1);
  }
  Targets stands_for(Targets targets) const {
    if (every_ > 1) targets.shift = drawn(targets.shift / every_ * every_, every_, targets.extent);
    return targets;
  }

  /// Rounds of programs that are priced together.
  void price_steps() {
    std::map<uint32_t, std::vector<size_t>> steps;
    for (size_t k = 0; k < plan_.behind.size(); ++k) steps[plan_.behind[k].step].push_back(k);
    std::vector<Transfer> list;
    for (const auto& [step, rounds] : steps) {
      list.clear();
      for (const size_t k : rounds) {
        priced_.rounds[k].first = static_cast<uint32_t>(priced_.fares.size() + list.size());
        list.insert(list.end(), plan_.rounds[k].list.begin(), plan_.rounds[k].list.end());
      }
      price_list(list);
    }
  }

  void price_list(const std::vector<Transfer>& list) {
    const size_t first = priced_.fares.size();
    fares_.of_list(list, priced_.fares);
    for (size_t t = first; t < priced_.fares.size(); ++t) carried_.saw(priced_.fares[t].latency_ps);
    fares_.take_loads([&](net::TrunkId trunk, double bytes) { carried_.add(*place_.fabric, trunk, bytes); });
  }

  Known& known_of(const Targets& targets) {
    if (known_.last && targets == known_.last_targets) return *known_.last;
    auto found = known_.by_targets.find(targets);
    if (found == known_.by_targets.end()) {
      if (known_.size > kMostLoads) flush();
      found = known_.by_targets.emplace(targets, every_ == 0 ? look_at_form(targets) : look_at_links(targets)).first;
      known_.size += found->second.loads.size() + 1;
    }
    known_.last = &found->second;
    known_.last_targets = targets;
    return found->second;
  }

  void price_shift(size_t k) {
    const Round& round = plan_.rounds[k];
    const Targets targets = stands_for(Targets(plan_, round));
    Known& known = known_of(targets);
    const auto bytes = static_cast<double>(round.bytes);
    known.bytes += bytes;
    PricedPlan::RoundCost& cost = priced_.rounds[k];
    cost.uniform = known.uniform;
    cost.first = known.first;
    if (!known.uniform) return;
    cost.first = static_cast<uint32_t>(priced_.arrive_ps.size());
    for (uint32_t q = 0; q < targets.shifts; ++q) {
      const Fare& fare = alike_[known.first + q];
      const double left = bytes * fare.ps_per_byte;
      cost.left_ps = later(cost.left_ps, left);
      priced_.arrive_ps.push_back(left + later(fare.latency_ps, static_cast<double>(round.latency_ps)));
    }
  }

  /// What the fabric's form says; requires follows_form().
  Known look_at_form(const Targets& targets) {
    Known known;
    const Symmetry::Dimension* turns = symmetry_.turns(targets);
    known.uniform = true;
    known.turns = turns;
    known.crowd = symmetry_.crowd(*turns, targets);
    known.first = static_cast<uint32_t>(alike_.size());
    for (uint32_t q = 0; q < targets.shifts; ++q) {
      const Symmetry::Crowd ways = symmetry_.ways(*turns, targets, q);
      const double crowd = later(ways.up > 0 ? known.crowd.up : 0, ways.down > 0 ? known.crowd.down : 0);
      const net::Path path = place_.fabric->path(place_.ranks[0], place_.ranks[targets.of(0, q)]);
      alike_.push_back({crowd * turns->ps_per_byte, static_cast<double>(path.latency_ps)});
      carried_.saw(alike_.back().latency_ps);
    }
    return known;
  }

  Known look_at_links(const Targets& targets) {
    Known known;
    const uint32_t n = plan_.members;
    if (is_large_exchange(targets, n, most_))
      if (auto exchange = look_at_exchange(targets)) return *std::move(exchange);
    if (size_t{n} * targets.shifts > most_.transfers) {
      too_many_ = true;
      return known;
    }
    fares_.of_shift(targets, scratch_);
    fares_.take_loads([&](net::TrunkId trunk, double bytes) { known.loads.push_back({trunk, bytes}); });
    for (const Fare& fare : scratch_) carried_.saw(fare.latency_ps);
    known.uniform = true;
    for (uint32_t q = 0; q < targets.shifts && known.uniform; ++q) {
      const auto first = scratch_.begin() + size_t{q} * n;
      known.uniform = std::all_of(first, first + n, [&](const Fare& f) {
        return f.ps_per_byte == first->ps_per_byte && f.latency_ps == first->latency_ps;
      });
    }
    if (known.uniform) {
      known.first = static_cast<uint32_t>(alike_.size());
      for (uint32_t q = 0; q < targets.shifts; ++q) alike_.push_back(scratch_[size_t{q} * n]);
    } else if (priced_.fares.size() + scratch_.size() <= kMostFares) {
      known.first = static_cast<uint32_t>(priced_.fares.size());
      priced_.fares.insert(priced_.fares.end(), scratch_.begin(), scratch_.end());
    } else {
      known.first = PricedPlan::kNotKept;
    }
    return known;
  }

  /// Each member of a row sends to each other: all have left when the busiest link of all has carried its part. The
  /// form says what that is, or the routes of all messages together, or, of too many, a sample of the shifts.
  std::optional<Known> look_at_exchange(const Targets& targets) {
    const uint32_t n = plan_.members;
    Known known;
    known.uniform = true;
    known.first = static_cast<uint32_t>(alike_.size());
    const double latency = longest_latency(targets, place_);
    double ps_per_byte = 0;
    if (const auto by_form =
            targets.block() == n && plan_.lanes == 1 ? symmetry_.exchange_ps_per_byte() : std::nullopt) {
      ps_per_byte = *by_form;
    } else {
      known.loads = exchange_loads(targets);
      if (known.loads.empty()) return std::nullopt;
      for (const Known::Load& load : known.loads)
        ps_per_byte = later(ps_per_byte, load.bytes * fares_.ps_per_byte(load.trunk));
    }
    alike_.resize(alike_.size() + targets.shifts, Fare{ps_per_byte, latency});
    carried_.saw(latency);
    return known;
  }

  /// Empty where transfers can be looked at one by one.
  std::vector<Known::Load> exchange_loads(const Targets& targets) {
    const uint32_t n = plan_.members;
    std::vector<double> bytes(place_.fabric->trunk_count(), 0);
    double scale = 1;
    if (place_.fabric->spreads_exchanges()) {
      std::vector<int64_t> rows;
      rows.reserve(n);
      for (uint32_t m = 0; m < n; ++m) {
        if (m / targets.stride % targets.extent != 0) continue;
        rows.push_back(place_.ranks[m]);
        for (uint32_t q = 0; q < targets.shifts; ++q) rows.push_back(place_.ranks[targets.of(m, q)]);
      }
      place_.fabric->add_exchanges(rows, targets.extent, bytes);
    } else {
      const bool long_ways = place_.fabric->routing.kind == net::Routing::valiant;
      if (!long_ways && uint64_t{n} * targets.shifts <= one_by_one() / 2) return {};
      const uint32_t every = every_of(targets.shifts);
      uint32_t looked_at = 0;
      std::vector<Fare> fares;
      Targets one = targets;
      one.shifts = 1;
      for (uint32_t begin = 0; begin < targets.extent; begin += every, ++looked_at) {
        one.shift = drawn(begin, every, targets.extent);
        fares_.of_shift(one, fares);
        fares_.take_loads([&](net::TrunkId trunk, double load) { bytes[trunk] += load; });
      }
      scale = static_cast<double>(targets.shifts) / std::max(looked_at, 1u);
      priced_.sampled = true;
    }
    std::vector<Known::Load> loads;
    for (net::TrunkId trunk = 0; trunk < bytes.size(); ++trunk)
      if (bytes[trunk] > 0) loads.push_back({trunk, bytes[trunk] * scale});
    return loads;
  }

  /// Adds what the rounds that are known have put on links, and forgets them.
  void flush() {
    for (const auto& [targets, known] : known_.by_targets) {
      for (const Known::Load& load : known.loads) carried_.add(*place_.fabric, load.trunk, load.bytes * known.bytes);
      if (!known.turns || plan_.lanes == 1) continue;  // in one lane all wait for each round to end
      // If each pair has a direct link, each shift uses other links.
      const bool own = known.turns->form == net::RowForm::pairs;
      for (uint32_t q = 0; q < (own ? targets.shifts : 1); ++q) {
        Symmetry::Crowd& sum = carried_.turned[{known.turns, own ? targets.by(q) : 0}];
        sum.up += known.crowd.up * known.bytes;
        sum.down += known.crowd.down * known.bytes;
      }
    }
    known_.by_targets.clear();
    known_.last = nullptr;
    known_.size = 0;
  }

  /// All begin at 0: when they end, and what the busiest link takes beyond that.
  bool run_together() {
    priced_.alike = true;
    for (size_t k = 0; k < plan_.rounds.size(); ++k)
      if (!priced_.rounds[k].uniform && (plan_.rounds[k].shift != 0 || !plan_.rounds[k].list.empty()))
        priced_.alike = false;
    double end = 0;
    if (priced_.alike) {
      end = end_together(priced_);
    } else {
      auto ends = ends_together(priced_, most_.ps);
      if (!ends) return false;
      priced_.ends_ps = *std::move(ends);
      end = std::round(*std::max_element(priced_.ends_ps.begin(), priced_.ends_ps.end()));
    }
    // Sums in another order differ in their last bits.
    const double busiest = carried_.busiest_ps(fares_);
    if (busiest > end * (1 + 1e-9)) priced_.extra_ps = busiest - end;
    constexpr double kLongest = 2.0 * static_cast<double>(kLongestPs);
    const double all = end + priced_.extra_ps;
    priced_.together_ps = all < kLongest ? std::llround(all) : 2 * kLongestPs;
    return true;
  }

  const Plan& plan_;
  const Place& place_;
  Symmetry symmetry_;
  Fares fares_;
  Most most_;
  bool too_many_ = false;
  uint32_t every_ = 1;  ///< shifts, of which one is looked at; 0: none, for the form says what they cost
  PricedPlan priced_;
  KnownRounds known_;
  Carried carried_;
  std::vector<Fare> alike_, scratch_;
};

}  // namespace

std::optional<PricedPlan> price(const Plan& plan, const Place& place, uint64_t most, double longest) {
  CHAKRA_ASSERT(plan.members == place.members());
  assert_whole(plan);
  return Pricing(plan, place, {most, longest}).run();
}

PricedPlan price(const Plan& plan, const Place& place) {
  return *price(plan, place, std::numeric_limits<uint64_t>::max());
}

}  // namespace chakra::coll
