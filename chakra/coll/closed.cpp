// What a plan costs where nothing contends: a max-plus recurrence over members and rounds.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>

#include "chakra/coll/coll.h"

namespace chakra::coll {
namespace {

using Hop = PricedPlan::Hop;

/// What a rate of next to nothing comes to: finite, so that 0 bytes take 0.
constexpr double kSlowest = 1e18;
/// Up to so many transfers of a member per round, their costs are kept from round to round.
constexpr uint32_t kFewShifts = 4;

/// What a transfer between two ranks costs.
Hop hop(const net::Fabric& fabric, int64_t from, int64_t to) {
  const net::Path path = fabric.path(from, to);
  return {static_cast<double>(path.latency_ps), std::min(kPsPerSecond / path.bytes_per_s, kSlowest), path.first};
}

/// Which moves of the members cost the same for all, as far as the fabric's form alone says.
class Symmetry {
 public:
  explicit Symmetry(const Place& place) {
    const auto& dimensions = place.fabric->dimensions;
    std::vector<int64_t> at;
    int64_t inner = 1;
    uint64_t stride = 1;
    for (const net::Dimension& d : dimensions) {
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
            {stride, extent, d.kind == net::TopologyKind::switch_ || d.kind == net::TopologyKind::fully_connected,
             whole && (d.kind == net::TopologyKind::ring || d.kind == net::TopologyKind::torus), inner, at});
      stride *= extent;
      inner *= d.ranks;
    }
    grid_ = stride == place.ranks.size() && place.fabric->odd_links.empty() && !place.fabric->graph;
    const int64_t base = place.ranks.empty() ? 0 : place.ranks[0];
    for (size_t i = 0; i < place.ranks.size() && grid_; ++i) {
      int64_t rank = base;
      for (const Dimension& d : dimensions_) rank += (d.at[i / d.stride % d.extent] - d.at[0]) * d.inner;
      grid_ = rank == place.ranks[i];
    }
  }

  bool uniform(const Plan& plan, const Round& round) const {
    if (!grid_) return false;
    const uint64_t extent = round.extent ? round.extent : plan.members, reach = round.stride * extent;
    for (const Dimension& d : dimensions_) {
      if (round.stride % d.stride != 0 || d.stride * d.extent % reach != 0) continue;
      // All within this dimension. Round a ring, by turning it, or by swapping with the opposite place.
      return d.equidistant || (d.whole && (reach == d.stride * d.extent || (extent == 2 && round.shifts == 1)));
    }
    return false;
  }

 private:
  struct Dimension {
    uint64_t stride, extent;
    bool equidistant;  ///< any two are as far from each other as any other two
    bool whole;        ///< evenly spaced all the way round
    int64_t inner;
    std::vector<int64_t> at;
  };
  std::vector<Dimension> dimensions_;
  bool grid_ = false;
};

/// The members a round's member sends to.
struct Targets {
  uint32_t extent, stride, shift, shifts, apart;
  Targets(const Plan& plan, const Round& round)
      : extent(round.extent ? round.extent : plan.members),
        stride(round.stride),
        shift(round.shift % extent),
        shifts(round.shifts),
        apart(round.apart % extent) {}
  uint32_t of(uint32_t from, uint32_t q) const {
    const uint32_t c = from / stride % extent;
    const auto to = static_cast<uint32_t>((c + shift + uint64_t{q} * apart) % extent);
    return from - c * stride + to * stride;
  }
  /// Members stand in blocks of stride * extent; within one, places turn by this many.
  uint32_t block() const { return stride * extent; }
  uint32_t by(uint32_t q) const { return static_cast<uint32_t>((shift + uint64_t{q} * apart) % extent) * stride; }
  bool operator==(const Targets&) const = default;
};

/// What one member's transfers of a round cost: per transfer picoseconds per byte until it has left, behind those
/// before it through the same link, and latency.
class Departures {
 public:
  struct Cost {
    double ps_per_byte, latency_ps;
  };
  void begin() {
    last_ = UINT64_MAX;
    others_.clear();
  }
  Cost add(const Hop& hop) {
    if (hop.link != last_) {
      if (last_ != UINT64_MAX) others_[last_] = busy_;
      const auto found = others_.find(hop.link);
      busy_ = found == others_.end() ? 0 : found->second;
      last_ = hop.link;
    }
    busy_ += hop.ps_per_byte;
    return {busy_, hop.latency_ps};
  }

 private:
  uint64_t last_ = UINT64_MAX;
  double busy_ = 0;
  absl::flat_hash_map<uint64_t, double> others_;
};

double later(double a, double b) { return a < b ? b : a; }

/// A duration; where it would not fit, one that takes the earliest start to the latest end there is.
Picoseconds rounded(double ps) {
  constexpr Picoseconds kLongest = 2 * kLongestPs;
  return ps < static_cast<double>(kLongest) ? std::llround(ps) : kLongest;
}

/// Each member gets from the one `by` places before it in its block. Arrays that do not overlap.
void turn_uniform(const double* __restrict begin, double* __restrict end, size_t members, size_t block, size_t by,
                  double left, double arrive) {
  for (size_t b = 0; b < members; b += block) {
    const double* __restrict own = begin + b;
    double* __restrict out = end + b;
    for (size_t i = 0; i < by; ++i) out[i] = later(own[i] + left, own[i + block - by] + arrive);
    for (size_t i = by; i < block; ++i) out[i] = later(own[i] + left, own[i - by] + arrive);
  }
}
void turn_more(const double* __restrict begin, double* __restrict end, size_t members, size_t block, size_t by,
               double arrive) {
  for (size_t b = 0; b < members; b += block) {
    const double* __restrict own = begin + b;
    double* __restrict out = end + b;
    for (size_t i = 0; i < by; ++i) out[i] = later(out[i], own[i + block - by] + arrive);
    for (size_t i = by; i < block; ++i) out[i] = later(out[i], own[i - by] + arrive);
  }
}
/// The same with costs per sender: `end` holds what there is so far.
void turn_each(const double* __restrict begin, double* __restrict end, const double* __restrict arrive, size_t members,
               size_t block, size_t by) {
  for (size_t b = 0; b < members; b += block) {
    const double* __restrict own = begin + b;
    const double* __restrict cost = arrive + b;
    double* __restrict out = end + b;
    for (size_t i = 0; i < by; ++i) out[i] = later(out[i], own[i + block - by] + cost[i + block - by]);
    for (size_t i = by; i < block; ++i) out[i] = later(out[i], own[i - by] + cost[i - by]);
  }
}

class Closed {
 public:
  Closed(const PricedPlan& priced, std::span<const Picoseconds> ready)
      : priced_(priced), plan_(*priced.plan), n_(plan_.members), spare_(n_), waiting_(n_) {
    base_ = *std::min_element(ready.begin(), ready.end());
    std::vector<double> start(n_);
    for (uint32_t i = 0; i < n_; ++i) start[i] = static_cast<double>(ready[i] - base_);
    done_.assign(std::max(plan_.lanes, 1u), start);
  }

  void run(std::span<Picoseconds> ready) {
    for (uint32_t k = 0; k < plan_.rounds.size(); ++k) {
      const Round& round = plan_.rounds[k];
      if (!round.list.empty()) run_list(k);
      else if (round.shift != 0) run_shift(k);
    }
    for (uint32_t i = 0; i < n_; ++i) {
      double end = 0;
      for (const std::vector<double>& lane : done_) end = later(end, lane[i]);
      ready[i] = std::max(ready[i], add_saturated(base_, rounded(end)));
    }
  }

 private:
  /// When the members can begin a round of the lane.
  const double* begin(const Round& round) {
    const std::vector<double>& own = done_[round.lane];
    if (round.after < 0) return own.data();
    const std::vector<double>& other = done_[plan_.rounds[static_cast<size_t>(round.after)].lane];
    for (uint32_t i = 0; i < n_; ++i) waiting_[i] = later(own[i], other[i]);
    return waiting_.data();
  }

  void run_shift(uint32_t k) {
    const Round& round = plan_.rounds[k];
    const PricedPlan::RoundCost& cost = priced_.rounds[k];
    const Targets targets(plan_, round);
    const double* from = begin(round);
    double* to = spare_.data();
    if (cost.uniform) {
      const double* arrive = priced_.arrive_ps.data() + cost.first;
      turn_uniform(from, to, n_, targets.block(), targets.by(0), cost.left_ps, arrive[0]);
      for (uint32_t q = 1; q < targets.shifts; ++q) turn_more(from, to, n_, targets.block(), targets.by(q), arrive[q]);
    } else if (targets.shifts <= kFewShifts) {
      price_each(round, targets);
      for (uint32_t i = 0; i < n_; ++i) to[i] = from[i] + left_[i];
      for (uint32_t q = 0; q < targets.shifts; ++q)
        turn_each(from, to, arrive_.data() + size_t{q} * n_, n_, targets.block(), targets.by(q));
    } else {
      std::copy(from, from + n_, to);
      for (uint32_t i = 0; i < n_; ++i) send_each(round, targets, i, from, to);
    }
    done_[round.lane].swap(spare_);
  }

  /// Costs of a round that differ from member to member; kept while they repeat.
  void price_each(const Round& round, const Targets& targets) {
    const double bytes = static_cast<double>(round.bytes);
    if (!(have_ && targets == of_)) {
      hops_.resize(size_t{n_} * targets.shifts);
      for (uint32_t i = 0; i < n_; ++i) {
        departures_.begin();
        for (uint32_t q = 0; q < targets.shifts; ++q)
          hops_[size_t{q} * n_ + i] = departures_.add(
              hop(*priced_.place.fabric, priced_.place.ranks[i], priced_.place.ranks[targets.of(i, q)]));
      }
      of_ = targets;
      have_ = true;
    } else if (round.bytes == bytes_) {
      return;
    }
    bytes_ = round.bytes;
    left_.assign(n_, 0);
    arrive_.resize(hops_.size());
    for (size_t h = 0; h < hops_.size(); ++h) {
      const double left = bytes * hops_[h].ps_per_byte;
      double& all = left_[h % n_];
      all = later(all, left);
      arrive_[h] = left + hops_[h].latency_ps;
    }
  }

  void send_each(const Round& round, const Targets& targets, uint32_t i, const double* from, double* to) {
    const double bytes = static_cast<double>(round.bytes);
    departures_.begin();
    for (uint32_t q = 0; q < targets.shifts; ++q) {
      const uint32_t target = targets.of(i, q);
      const Departures::Cost cost =
          departures_.add(hop(*priced_.place.fabric, priced_.place.ranks[i], priced_.place.ranks[target]));
      const double left = bytes * cost.ps_per_byte;
      to[i] = later(to[i], from[i] + left);
      to[target] = later(to[target], from[i] + (left + cost.latency_ps));
    }
  }

  void run_list(uint32_t k) {
    const Round& round = plan_.rounds[k];
    const PricedPlan::RoundCost& cost = priced_.rounds[k];
    const Hop* hops = priced_.hops.data() + cost.first;
    std::vector<double>& done = done_[round.lane];
    std::vector<double>& begin = waiting_;
    const std::vector<double>* other =
        round.after < 0 ? nullptr : &done_[plan_.rounds[static_cast<size_t>(round.after)].lane];
    for (const Transfer& t : round.list) {
      begin[t.from] = other ? later(done[t.from], (*other)[t.from]) : done[t.from];
      begin[t.to] = other ? later(done[t.to], (*other)[t.to]) : done[t.to];
    }
    if (other)
      for (const Transfer& t : round.list) {
        done[t.from] = begin[t.from];
        done[t.to] = begin[t.to];
      }
    if (!cost.one_each) busy_.clear();
    for (size_t i = 0; i < round.list.size(); ++i) {
      const Transfer& t = round.list[i];
      double left = static_cast<double>(t.bytes) * hops[i].ps_per_byte;
      if (!cost.one_each) left = busy_[{t.from, hops[i].link}] += left;
      done[t.from] = later(done[t.from], begin[t.from] + left);
      done[t.to] = later(done[t.to], begin[t.from] + (left + hops[i].latency_ps));
    }
  }

  const PricedPlan& priced_;
  const Plan& plan_;
  const uint32_t n_;
  Picoseconds base_ = 0;
  std::vector<std::vector<double>> done_;  ///< per lane and member
  std::vector<double> spare_, waiting_;

  bool have_ = false;
  Targets of_{Plan{1, 1, {}}, Round{}};
  uint64_t bytes_ = 0;
  std::vector<Departures::Cost> hops_;  ///< per shift and member
  std::vector<double> left_, arrive_;
  Departures departures_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, double> busy_;
};

}  // namespace

bool rotation_symmetric(const Plan& plan) {
  return std::all_of(plan.rounds.begin(), plan.rounds.end(), [](const Round& r) { return r.list.empty(); });
}

PricedPlan price(const Plan& plan, const Place& place) {
  PricedPlan priced;
  priced.plan = &plan;
  priced.place = place;
  priced.rounds.resize(plan.rounds.size());
  if (plan.members < 2) return priced;
  const Symmetry symmetry(place);
  const net::Fabric& fabric = *place.fabric;
  Departures departures;
  // What the last shift round of other targets came to, for the rounds that repeat it.
  bool have = false, uniform = false;
  Targets of(plan, Round{});
  std::vector<Departures::Cost> costs;
  std::vector<uint32_t> sent_in(plan.members, UINT32_MAX);
  for (uint32_t k = 0; k < plan.rounds.size(); ++k) {
    const Round& round = plan.rounds[k];
    PricedPlan::RoundCost& cost = priced.rounds[k];
    if (!round.list.empty()) {
      cost.first = static_cast<uint32_t>(priced.hops.size());
      cost.one_each = true;
      for (const Transfer& t : round.list) {
        priced.hops.push_back(hop(fabric, place.ranks[t.from], place.ranks[t.to]));
        if (sent_in[t.from] == k) cost.one_each = false;
        sent_in[t.from] = k;
      }
      continue;
    }
    if (round.shift == 0) continue;
    const Targets targets(plan, round);
    if (!have || !(of == targets)) {
      have = true;
      of = targets;
      uniform = symmetry.uniform(plan, round);
      const Hop first = hop(fabric, place.ranks[0], place.ranks[targets.of(0, 0)]);
      if (!uniform && targets.shifts == 1) {
        uniform = true;
        for (uint32_t i = 1; i < plan.members && uniform; ++i) {
          const Hop other = hop(fabric, place.ranks[i], place.ranks[targets.of(i, 0)]);
          uniform = other.latency_ps == first.latency_ps && other.ps_per_byte == first.ps_per_byte;
        }
      }
      costs.clear();
      departures.begin();
      for (uint32_t q = 0; uniform && q < targets.shifts; ++q)
        costs.push_back(departures.add(hop(fabric, place.ranks[0], place.ranks[targets.of(0, q)])));
    }
    if (!uniform) continue;
    cost.uniform = true;
    cost.first = static_cast<uint32_t>(priced.arrive_ps.size());
    for (const Departures::Cost& c : costs) {
      const double left = static_cast<double>(round.bytes) * c.ps_per_byte;
      cost.left_ps = later(cost.left_ps, left);
      priced.arrive_ps.push_back(left + c.latency_ps);
    }
  }

  priced.alike = true;
  for (size_t k = 0; k < plan.rounds.size(); ++k)
    if (!priced.rounds[k].uniform && (plan.rounds[k].shift != 0 || !plan.rounds[k].list.empty())) priced.alike = false;
  if (!priced.alike) return priced;
  std::vector<double> done(std::max(plan.lanes, 1u), 0.0);
  for (size_t k = 0; k < plan.rounds.size(); ++k) {
    const Round& round = plan.rounds[k];
    const PricedPlan::RoundCost& cost = priced.rounds[k];
    if (!cost.uniform) continue;
    const double begin = round.after < 0
                             ? done[round.lane]
                             : later(done[round.lane], done[plan.rounds[static_cast<size_t>(round.after)].lane]);
    double end = begin + cost.left_ps;
    for (uint32_t q = 0; q < round.shifts; ++q) end = later(end, begin + priced.arrive_ps[cost.first + q]);
    done[round.lane] = end;
  }
  const double end = *std::max_element(done.begin(), done.end());
  priced.together_ps = rounded(end);
  return priced;
}

void run_closed(const PricedPlan& plan, std::span<Picoseconds> ready) {
  if (plan.plan->members < 2 || plan.plan->rounds.empty()) return;
  const bool together = std::all_of(ready.begin(), ready.end(), [&](Picoseconds t) { return t == ready[0]; });
  if (plan.alike && together) {
    std::fill(ready.begin(), ready.end(), add_saturated(ready[0], plan.together_ps));
    return;
  }
  Closed(plan, ready).run(ready);
}

void run_closed(const Plan& plan, const Place& place, std::span<Picoseconds> ready) {
  run_closed(price(plan, place), ready);
}

}  // namespace chakra::coll
