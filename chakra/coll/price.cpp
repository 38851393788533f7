#include "chakra/coll/price.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace chakra::coll {
namespace {

using Fare = PricedPlan::Fare;

/// What a rate of next to nothing comes to: finite, so that 0 bytes take 0.
constexpr double kSlowest = 1e18;
/// Fares of members that differ are kept up to here; beyond, they are worked out anew in each run.
constexpr size_t kMostFares = size_t{1} << 22;
/// Runs of links on ways are kept up to here (16 bytes each).
constexpr size_t kMostRuns = size_t{1} << 21;
/// Loads of different rounds are remembered up to here.
constexpr size_t kMostLoads = size_t{1} << 20;

double later(double a, double b) { return a < b ? b : a; }

// ---- members that stand alike --------------------------------------------------------------------------

/// Which rounds cost the same for all members, as far as the fabric's form alone says.
class Symmetry {
 public:
  /// Transfers round a ring: how many pass each of its links upwards and downwards.
  struct Crowd {
    double up = 0, down = 0;
  };
  struct Dimension {
    uint64_t stride, extent;
    net::TopologyKind kind;
    bool whole;  ///< evenly spaced all the way round a ring
    int64_t inner;
    double ps_per_byte;
    std::vector<int64_t> at;

    /// Any two are as far from each other as any other two.
    bool equidistant() const {
      return kind == net::TopologyKind::switch_ || kind == net::TopologyKind::fully_connected;
    }
    /// The round moves all its members round, by equal steps.
    bool turned_by(const Targets& t) const { return t.block() == stride * extent; }
  };

  explicit Symmetry(const Place& place) : fabric_(*place.fabric) {
    std::vector<int64_t> at;
    int64_t inner = 1;
    uint64_t stride = 1;
    for (const net::Dimension& d : fabric_.dimensions) {
      at.clear();
      // Coordinates in the order of members that differ in this dimension only.
      for (uint64_t i = 0; i < place.ranks.size(); i += stride) {
        const int64_t c = place.ranks[i] / inner % d.ranks;
        if (!at.empty() && c == at[0]) break;
        at.push_back(c);
      }
      const auto extent = static_cast<uint64_t>(at.size());
      bool whole = static_cast<int64_t>(extent) > 0 && d.ranks % static_cast<int64_t>(extent) == 0;
      for (size_t i = 1; i < extent && whole; ++i)
        whole = at[i] == at[0] + static_cast<int64_t>(i) * (d.ranks / static_cast<int64_t>(extent));
      if (extent > 1)
        dimensions_.push_back(
            {stride, extent, d.kind, whole, inner, std::min(kPsPerSecond / d.bytes_per_s(), kSlowest), at});
      stride *= extent;
      inner *= d.ranks;
    }
    grid_ = stride == place.ranks.size() && fabric_.odd_links.empty() && !fabric_.graph;
    const int64_t base = place.ranks.empty() ? 0 : place.ranks[0];
    for (size_t i = 0; i < place.ranks.size() && grid_; ++i) {
      int64_t rank = base;
      for (const Dimension& d : dimensions_) rank += (d.at[i / d.stride % d.extent] - d.at[0]) * d.inner;
      grid_ = rank == place.ranks[i];
    }
  }

  /// The dimension in which the round turns all members alike, or null.
  const Dimension* turns(const Targets& t) const {
    if (!grid_) return nullptr;
    const uint64_t reach = t.block();
    for (const Dimension& d : dimensions_) {
      if (t.stride % d.stride != 0 || d.stride * d.extent % reach != 0) continue;
      // All within this dimension. Round a ring, by turning it, or by swapping with the opposite place.
      using enum net::TopologyKind;
      if (d.equidistant()) return &d;
      const bool round = d.kind == ring || d.kind == torus, swapping = t.extent == 2 && t.shifts == 1;
      if (!round || !d.whole || !(d.turned_by(t) || swapping)) return nullptr;
      // Opposite places have two ways; a hash sends each member its own.
      return fabric_.routing.kind == net::Routing::ecmp && d.extent % 2 == 0 ? nullptr : &d;
    }
    return nullptr;
  }

  /// Such a round's transfers on each link of the dimension. Members are M, evenly spaced; s members further up, a
  /// transfer passes s - 1 of them, so s transfers of that kind pass each link.
  Crowd crowd(const Dimension& d, const Targets& t) const {
    using enum net::TopologyKind;
    if (d.kind == switch_) return {static_cast<double>(t.shifts), static_cast<double>(t.shifts)};
    if (d.kind == fully_connected) return {1, 1};
    Crowd crowd;
    for (uint32_t q = 0; q < t.shifts; ++q) {
      const Crowd share = ways(d, t, q);
      const double up = steps(d, t, q), down = static_cast<double>(d.extent) - up;
      crowd.up += share.up * up;
      crowd.down += share.down * down;
    }
    return !d.turned_by(t) ? Crowd{crowd.up + crowd.down, crowd.up + crowd.down} : crowd;
  }
  /// What of shift q goes up and down: opposite places share both ways, if they are spread.
  Crowd ways(const Dimension& d, const Targets& t, uint32_t q) const {
    if (d.equidistant()) return {1, 0};
    const double up = steps(d, t, q), all = static_cast<double>(d.extent);
    if (2 * up == all && all * static_cast<double>(spacing(d)) > 2 && fabric_.routing.kind != net::Routing::single)
      return {0.5, 0.5};
    return 2 * up <= all ? Crowd{1, 0} : Crowd{0, 1};
  }

 private:
  static int64_t spacing(const Dimension& d) { return d.at.size() > 1 ? d.at[1] - d.at[0] : 1; }
  static double steps(const Dimension& d, const Targets& t, uint32_t q) {
    return static_cast<double>(t.by(q) / d.stride);
  }

  const net::Fabric& fabric_;
  std::vector<Dimension> dimensions_;
  bool grid_ = false;
};

// ---- a plan --------------------------------------------------------------------------------------------

class Pricing {
 public:
  Pricing(const Plan& plan, const Place& place, uint64_t most)
      : plan_(plan), place_(place), symmetry_(place), fares_(place), most_(most) {}

  std::optional<PricedPlan> run() {
    priced_.plan = &plan_;
    priced_.place = place_;
    priced_.rounds.resize(plan_.rounds.size());
    priced_.arrive_ps.reserve(plan_.rounds.size());
    if (plan_.members < 2) return std::move(priced_);
    by_form_ = follows_form();
    for (size_t k = 0; k < plan_.rounds.size(); ++k) {
      const Round& round = plan_.rounds[k];
      if (!round.list.empty()) price_list(k);
      else if (round.shift != 0) price_shift(k);
      if (too_many_ || fares_.transfers() > most_) return std::nullopt;
    }
    flush();
    run_together();
    return std::move(priced_);
  }

 private:
  struct Load {
    net::TrunkId trunk;
    double bytes;
  };
  /// A shift round that may come again.
  struct Known {
    bool uniform = false;
    uint32_t first = 0;       ///< uniform: into alike_; else into fares, or kNotKept
    double bytes = 0;         ///< that all such rounds send, per transfer
    std::vector<Load> loads;  ///< per byte of a transfer
    const Symmetry::Dimension* turns = nullptr;
    Symmetry::Crowd crowd;
  };

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
      return turns && (plan_.lanes == 1 || turns->kind == net::TopologyKind::switch_ || turns->turned_by(targets));
    });
  }

  void price_list(size_t k) {
    const Round& round = plan_.rounds[k];
    priced_.rounds[k].first = static_cast<uint32_t>(priced_.fares.size());
    fares_.of_list(round.list, scratch_);
    priced_.fares.insert(priced_.fares.end(), scratch_.begin(), scratch_.end());
    for (const Fare& fare : scratch_) least_latency_ = std::min(least_latency_, fare.latency_ps);
    fares_.take_loads([&](net::TrunkId trunk, double bytes) { add_up(trunk, bytes); });
  }

  void add_up(net::TrunkId trunk, double bytes) {
    if (total_.empty()) total_.resize(place_.fabric->trunk_count());
    total_[trunk] += bytes;
  }

  void price_shift(size_t k) {
    const Round& round = plan_.rounds[k];
    const Targets targets(plan_, round);
    if (!last_ || !(targets == last_targets_)) {
      auto found = known_.find(targets);
      if (found == known_.end()) {
        if (remembered_ > kMostLoads) flush();
        found = known_.emplace(targets, look_at(targets)).first;
        remembered_ += found->second.loads.size() + 1;
      }
      last_ = &found->second;
      last_targets_ = targets;
    }
    Known& known = *last_;
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
      priced_.arrive_ps.push_back(left + fare.latency_ps);
    }
  }

  Known look_at(const Targets& targets) {
    Known known;
    const uint32_t n = plan_.members;
    if (by_form_) {
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
        least_latency_ = std::min(least_latency_, alike_.back().latency_ps);
      }
      return known;
    }
    if (size_t{n} * targets.shifts > most_) {
      too_many_ = true;
      return known;
    }
    fares_.of_shift(targets, scratch_);
    fares_.take_loads([&](net::TrunkId trunk, double bytes) { known.loads.push_back({trunk, bytes}); });
    for (const Fare& fare : scratch_) least_latency_ = std::min(least_latency_, fare.latency_ps);
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

  /// Adds what the rounds that are known have put on links, and forgets them.
  void flush() {
    for (const auto& [targets, known] : known_) {
      for (const Load& load : known.loads) add_up(load.trunk, load.bytes * known.bytes);
      if (!known.turns || plan_.lanes == 1) continue;  // in one lane all wait for each round to end
      // Between any two a link of their own: each shift has others.
      const bool own = known.turns->kind == net::TopologyKind::fully_connected;
      for (uint32_t q = 0; q < (own ? targets.shifts : 1); ++q) {
        Symmetry::Crowd& sum = turned_[{known.turns, own ? targets.by(q) : 0}];
        sum.up += known.crowd.up * known.bytes;
        sum.down += known.crowd.down * known.bytes;
      }
    }
    known_.clear();
    last_ = nullptr;
    remembered_ = 0;
  }

  /// All begin at 0: when they end, and what the busiest link takes beyond that.
  void run_together() {
    double busiest = 0;
    for (net::TrunkId trunk = 0; trunk < total_.size(); ++trunk)
      if (total_[trunk] > 0) busiest = later(busiest, total_[trunk] * fares_.ps_per_byte(trunk));
    for (const auto& [links, sum] : turned_)
      busiest = later(busiest, later(sum.up, sum.down) * links.first->ps_per_byte);
    priced_.alike = true;
    for (size_t k = 0; k < plan_.rounds.size(); ++k)
      if (!priced_.rounds[k].uniform && (plan_.rounds[k].shift != 0 || !plan_.rounds[k].list.empty()))
        priced_.alike = false;
    double end = 0;
    if (priced_.alike) {
      std::vector<double> done(std::max(plan_.lanes, 1u), 0.0);
      for (size_t k = 0; k < plan_.rounds.size(); ++k) {
        const Round& round = plan_.rounds[k];
        const PricedPlan::RoundCost& cost = priced_.rounds[k];
        if (!cost.uniform) continue;
        const double begin = round.after < 0
                                 ? done[round.lane]
                                 : later(done[round.lane], done[plan_.rounds[static_cast<size_t>(round.after)].lane]);
        double last = begin + cost.left_ps;
        for (uint32_t q = 0; q < round.shifts; ++q) last = later(last, begin + priced_.arrive_ps[cost.first + q]);
        done[round.lane] = last;
      }
      end = *std::max_element(done.begin(), done.end());
    } else {
      priced_.ends_ps = ends_after(priced_, std::vector<Picoseconds>(plan_.members, 0));
      end = std::round(*std::max_element(priced_.ends_ps.begin(), priced_.ends_ps.end()));
    }
    // Sums in another order differ in their last bits.
    if (busiest > 0) busiest += least_latency_;  // what it carries last has still to arrive
    if (busiest > end * (1 + 1e-9)) priced_.extra_ps = busiest - end;
    constexpr double kLongest = 2.0 * static_cast<double>(kLongestPs);
    const double all = end + priced_.extra_ps;
    priced_.together_ps = all < kLongest ? std::llround(all) : 2 * kLongestPs;
  }

  const Plan& plan_;
  const Place& place_;
  Symmetry symmetry_;
  Fares fares_;
  uint64_t most_;
  bool by_form_ = false, too_many_ = false;
  double least_latency_ = std::numeric_limits<double>::infinity();  ///< of the transfers
  PricedPlan priced_;
  absl::flat_hash_map<Targets, Known> known_;
  Known* last_ = nullptr;  ///< of the round before, whose targets these are
  Targets last_targets_{Plan{1, 1, {}}, Round{}};
  size_t remembered_ = 0;
  std::vector<Fare> alike_, scratch_;
  std::vector<double> total_;  ///< bytes by trunk; empty where no transfer was looked at
  std::map<std::pair<const Symmetry::Dimension*, uint32_t>, Symmetry::Crowd> turned_;
};

}  // namespace

Fares::Fares(const Place& place) : place_(place), fabric_(*place.fabric) {
  if (fabric_.routing.kind == net::Routing::adaptive) fabric_.routing.kind = net::Routing::spread;
}

void Fares::begin(size_t transfers) {
  if (bytes_.empty()) {
    bytes_.assign(fabric_.trunk_count(), 0);
    ps_per_byte_.assign(bytes_.size(), 0);
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
  out.clear();
  for (const Transfer& t : list) {
    const auto [known, fresh] = of_lists_.try_emplace(uint64_t{t.from} << 32 | t.to);
    if (fresh) known->second = find(t.from, t.to);
    const Way& way = known->second;
    charge(ways_.emplace_back(way.links), static_cast<double>(t.bytes));
    out.push_back({0, way.latency_ps});
    if (way.links.count == kNotKept) of_lists_.erase(known);
  }
  for (size_t t = 0; t < list.size(); ++t)
    if (list[t].bytes > 0) out[t].ps_per_byte = busiest(list[t].from, list[t].to, ways_[t]);
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

std::optional<PricedPlan> price(const Plan& plan, const Place& place, uint64_t most) {
  CHAKRA_ASSERT(plan.members == place.members());
  assert_whole(plan);
  return Pricing(plan, place, most).run();
}

PricedPlan price(const Plan& plan, const Place& place) {
  return *price(plan, place, std::numeric_limits<uint64_t>::max());
}

}  // namespace chakra::coll
