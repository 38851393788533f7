// When the members of a plan end by what its transfers cost: a max-plus recurrence over members and rounds.
#include "chakra/coll/closed.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "chakra/coll/fares.h"

namespace chakra::coll {
namespace {

using Fare = PricedPlan::Fare;

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
/// The same with costs per member: until the sender has sent, and until what it sends has arrived.
void turn_each(const double* __restrict begin, double* __restrict end, const double* __restrict left,
               const double* __restrict arrive, size_t members, size_t block, size_t by) {
  for (size_t b = 0; b < members; b += block) {
    const double* __restrict own = begin + b;
    const double* __restrict stay = left + b;
    const double* __restrict cost = arrive + b;
    double* __restrict out = end + b;
    for (size_t i = 0; i < by; ++i) out[i] = later(own[i] + stay[i], own[i + block - by] + cost[i + block - by]);
    for (size_t i = by; i < block; ++i) out[i] = later(own[i] + stay[i], own[i - by] + cost[i - by]);
  }
}
void turn_more_each(const double* __restrict begin, double* __restrict end, const double* __restrict arrive,
                    size_t members, size_t block, size_t by) {
  for (size_t b = 0; b < members; b += block) {
    const double* __restrict own = begin + b;
    const double* __restrict cost = arrive + b;
    double* __restrict out = end + b;
    for (size_t i = 0; i < by; ++i) out[i] = later(out[i], own[i + block - by] + cost[i + block - by]);
    for (size_t i = by; i < block; ++i) out[i] = later(out[i], own[i - by] + cost[i - by]);
  }
}

/// The smallest number of members after which the costs repeat, all through.
uint32_t period_of(std::span<const Fare> fares) {
  const auto same = [&](size_t a, size_t b) {
    return fares[a].ps_per_byte == fares[b].ps_per_byte && fares[a].latency_ps == fares[b].latency_ps;
  };
  std::vector<uint32_t> border(fares.size() + 1, 0);  // as in the search by Knuth, Morris and Pratt
  for (size_t i = 1; i < fares.size(); ++i) {
    uint32_t length = border[i];
    while (length > 0 && !same(i, length)) length = border[length];
    border[i + 1] = length + (same(i, length) ? 1 : 0);
  }
  const auto n = static_cast<uint32_t>(fares.size()), period = n - border[n];
  return n % period == 0 ? period : n;
}

/// The number of members that stand for all if all begin together: members p places apart do the same at the same
/// times, because the costs of all rounds repeat every p members and blocks are multiples or parts of p.
uint32_t period_of(const PricedPlan& priced) {
  const Plan& plan = *priced.plan;
  const uint32_t n = plan.members;
  if (!plan.behind.empty()) return n;
  uint32_t period = 1;
  absl::flat_hash_set<uint32_t> seen;
  for (size_t k = 0; k < plan.rounds.size() && period < n; ++k) {
    const Round& round = plan.rounds[k];
    if (!round.list.empty() || round.together()) return n;
    const PricedPlan::RoundCost& cost = priced.rounds[k];
    if (round.shift == 0 || cost.uniform || !seen.insert(cost.first).second) continue;
    if (cost.first == PricedPlan::kNotKept) return n;
    for (uint32_t q = 0; q < round.shifts; ++q)
      period = std::lcm(period, period_of(std::span(priced.fares).subspan(cost.first + size_t{q} * n, n)));
  }
  for (const Round& round : plan.rounds)
    if (const uint32_t block = Targets(plan, round).block(); block % period != 0 && period % block != 0) return n;
  return period;
}

}  // namespace

/// One waits in each round of a lane until it has sent, or what one sends goes on to the next one in each round.
double not_before(const PricedPlan& priced) {
  const Plan& plan = *priced.plan;
  std::vector<double> passed_on(std::max(plan.lanes, 1u), 0), waited(passed_on);
  std::vector<uint32_t> at(passed_on.size(), 0);
  struct Sent {
    double bytes = 0;
    uint32_t shifts = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Sent> sent;  // by lane and fares
  for (size_t k = 0; k < plan.rounds.size(); ++k) {
    const Round& round = plan.rounds[k];
    const PricedPlan::RoundCost& cost = priced.rounds[k];
    if (!round.list.empty() || round.shift == 0 || (!cost.uniform && cost.first == PricedPlan::kNotKept)) continue;
    double& time = passed_on[round.lane];
    uint32_t& member = at[round.lane];
    if (cost.uniform) {
      waited[round.lane] += cost.left_ps;
      time += priced.arrive_ps[cost.first];
    } else {
      const auto b = static_cast<double>(round.bytes);
      Sent& with_fares = sent[{round.lane, cost.first}];
      with_fares.bytes += b;
      with_fares.shifts = round.shifts;
      const Fare& fare = priced.fares[cost.first + member];
      time += b * fare.ps_per_byte + later(fare.latency_ps, static_cast<double>(round.latency_ps));
    }
    member = Targets(plan, round).of(member, 0);
  }
  std::vector<std::vector<double>> each(waited.size());
  for (const auto& [which, with_fares] : sent) {
    std::vector<double>& of = each[which.first];
    of.resize(plan.members, 0);
    for (uint32_t i = 0; i < plan.members; ++i) {
      double most = 0;
      for (uint32_t q = 0; q < with_fares.shifts; ++q)
        most = later(most, priced.fares[which.second + size_t{q} * plan.members + i].ps_per_byte);
      of[i] += with_fares.bytes * most;
    }
  }
  double longest = 0;
  for (size_t lane = 0; lane < waited.size(); ++lane) {
    const double most = each[lane].empty() ? 0 : *std::max_element(each[lane].begin(), each[lane].end());
    longest = later(longest, later(passed_on[lane], waited[lane] + most));
  }
  return longest;
}

namespace {

class Closed {
 public:
  /// The first `ready.size()` members stand for all (period_of).
  Closed(const PricedPlan& priced, std::span<const Picoseconds> ready)
      : priced_(priced), plan_(*priced.plan), n_(static_cast<uint32_t>(ready.size())), spare_(n_), waiting_(n_) {
    const Picoseconds base = *std::min_element(ready.begin(), ready.end());
    std::vector<double> start(n_);
    for (uint32_t i = 0; i < n_; ++i) start[i] = static_cast<double>(ready[i] - base);
    done_.assign(std::max(plan_.lanes, 1u), start);
    kept_.resize(plan_.behind.size());
    for (size_t k = 0; k < plan_.behind.size(); ++k)
      for (const int32_t wait : plan_.waits(k)) kept_[static_cast<size_t>(wait)].awaited = true;
  }

  std::vector<double> run() {
    for (uint32_t k = 0; k < plan_.rounds.size(); ++k) {
      const Round& round = plan_.rounds[k];
      if (!round.list.empty()) run_list(k);
      else if (round.shift != 0) run_shift(k);
    }
    std::vector<double> ends = std::move(done_[0]);
    for (size_t lane = 1; lane < done_.size(); ++lane)
      for (uint32_t i = 0; i < n_; ++i) ends[i] = later(ends[i], done_[lane][i]);
    return ends;
  }

 private:
  /// When the members with a part in a round that others name in Round::waits have finished it.
  struct Kept {
    bool awaited = false;
    std::vector<std::pair<uint32_t, double>> ends;

    double of(uint32_t member) const {
      for (const auto& [m, end] : ends)
        if (m == member) return end;
      return 0;
    }
  };

  /// When the members can begin a round of the lane.
  const double* begin(const Round& round) {
    const std::vector<double>& own = done_[round.lane];
    if (round.after < 0 && !round.together()) return own.data();
    waiting_ = own;
    if (round.after >= 0) {
      const std::vector<double>& other = done_[plan_.rounds[static_cast<size_t>(round.after)].lane];
      for (uint32_t i = 0; i < n_; ++i) waiting_[i] = later(own[i], other[i]);
    }
    if (round.together()) gather(round);
    return waiting_.data();
  }

  /// All members of a row begin when the last of them does.
  void gather(const Round& round) {
    const Rows rows(plan_, round);
    for (uint32_t row = 0; row < rows.count(); ++row) {
      double last = 0;
      for (uint32_t c = 0; c < rows.extent; ++c) last = later(last, waiting_[rows.member(row, c)]);
      for (uint32_t c = 0; c < rows.extent; ++c) waiting_[rows.member(row, c)] = last;
    }
  }

  void run_shift(uint32_t k) {
    const Round& round = plan_.rounds[k];
    const PricedPlan::RoundCost& cost = priced_.rounds[k];
    const Targets targets(plan_, round);
    const double* from = begin(round);
    double* to = spare_.data();
    const uint32_t block = std::min(targets.block(), n_);
    if (cost.uniform) {
      const double* arrive = priced_.arrive_ps.data() + cost.first;
      turn_uniform(from, to, n_, block, targets.by(0) % block, cost.left_ps, arrive[0]);
      for (uint32_t q = 1; q < targets.shifts; ++q) turn_more(from, to, n_, block, targets.by(q) % block, arrive[q]);
    } else {
      arrive_each(round, targets, cost.first);
      turn_each(from, to, left_.data(), arrive_.data(), n_, block, targets.by(0) % block);
      for (uint32_t q = 1; q < targets.shifts; ++q)
        turn_more_each(from, to, arrive_.data() + size_t{q} * n_, n_, block, targets.by(q) % block);
    }
    done_[round.lane].swap(spare_);
  }

  /// Times of a round that differ from member to member; kept while they repeat.
  void arrive_each(const Round& round, const Targets& targets, uint32_t first) {
    const std::tuple asked(targets, round.bytes, round.latency_ps);
    if (times_of_ == asked) return;
    times_of_ = asked;
    const size_t count = size_t{plan_.members} * targets.shifts;
    std::span<const Fare> fares;
    if (first != PricedPlan::kNotKept) {
      fares = std::span(priced_.fares).subspan(first, count);
    } else {
      Fares(priced_.place).of_shift(targets, scratch_);
      fares = scratch_;
    }
    const auto bytes = static_cast<double>(round.bytes);
    left_.assign(n_, 0);
    arrive_.resize(size_t{n_} * targets.shifts);
    for (uint32_t q = 0; q < targets.shifts; ++q)
      for (uint32_t i = 0; i < n_; ++i) {
        const Fare& fare = fares[size_t{q} * plan_.members + i];
        const double left = bytes * fare.ps_per_byte;
        left_[i] = later(left_[i], left);
        arrive_[size_t{q} * n_ + i] = left + later(fare.latency_ps, static_cast<double>(round.latency_ps));
      }
  }

  void run_list(uint32_t k) {
    const Round& round = plan_.rounds[k];
    if (round.together()) return run_list_together(k);
    const Fare* fares = priced_.fares.data() + priced_.rounds[k].first;
    std::vector<double>& done = done_[round.lane];
    std::vector<double>& begin = waiting_;
    const std::vector<double>* other =
        round.after < 0 ? nullptr : &done_[plan_.rounds[static_cast<size_t>(round.after)].lane];
    const std::span<const int32_t> waits = plan_.waits(k);
    const auto begin_of = [&](uint32_t member) {
      double time = other ? later(done[member], (*other)[member]) : done[member];
      for (const int32_t wait : waits) time = later(time, kept_[static_cast<size_t>(wait)].of(member));
      return time;
    };
    for (const Transfer& t : round.list) {
      begin[t.from] = begin_of(t.from);
      begin[t.to] = begin_of(t.to);
    }
    if (other || !waits.empty())
      for (const Transfer& t : round.list) {
        done[t.from] = begin[t.from];
        done[t.to] = begin[t.to];
      }
    for (size_t i = 0; i < round.list.size(); ++i) {
      const Transfer& t = round.list[i];
      const double left = fares[i].ps_per_byte;
      done[t.from] = later(done[t.from], begin[t.from] + left);
      done[t.to] =
          later(done[t.to], begin[t.from] + (left + later(fares[i].latency_ps, static_cast<double>(round.latency_ps))));
    }
    if (kept_.empty() || !kept_[k].awaited) return;
    for (const Transfer& t : round.list) {
      kept_[k].ends.emplace_back(t.from, done[t.from]);
      kept_[k].ends.emplace_back(t.to, done[t.to]);
    }
  }

  void run_list_together(uint32_t k) {
    const Round& round = plan_.rounds[k];
    const Fare* fares = priced_.fares.data() + priced_.rounds[k].first;
    const double* from = begin(round);
    std::vector<double>& done = done_[round.lane];
    done.assign(from, from + n_);
    const double start = n_ > 0 ? done[0] : 0, latency = static_cast<double>(round.latency_ps);
    for (size_t i = 0; i < round.list.size(); ++i) {
      const Transfer& t = round.list[i];
      const double left = fares[i].ps_per_byte;
      done[t.from] = later(done[t.from], start + left);
      done[t.to] = later(done[t.to], start + (left + later(fares[i].latency_ps, latency)));
    }
  }

  const PricedPlan& priced_;
  const Plan& plan_;
  const uint32_t n_;
  std::vector<std::vector<double>> done_;  ///< per lane and member
  std::vector<double> spare_, waiting_;
  std::vector<Kept> kept_;  ///< by round; empty where no round waits so

  /// Bytes of a transfer, and its latency beyond that of its way.
  std::optional<std::tuple<Targets, uint64_t, Picoseconds>> times_of_;
  std::vector<double> left_, arrive_;  ///< per member; per shift and member
  std::vector<Fare> scratch_;
};

}  // namespace

bool rotation_symmetric(const Plan& plan) {
  return std::all_of(plan.rounds.begin(), plan.rounds.end(), [](const Round& r) { return r.list.empty(); });
}

std::vector<double> ends_after(const PricedPlan& plan, std::span<const Picoseconds> ready) {
  CHAKRA_ASSERT(plan.plan->members > 0);
  CHAKRA_ASSERT(ready.size() == plan.plan->members);
  return Closed(plan, ready).run();
}

std::optional<std::vector<double>> ends_together(const PricedPlan& plan, double longest) {
  const std::vector<Picoseconds> ready(period_of(plan), 0);
  constexpr size_t kManySteps = size_t{1} << 24;
  // Sums in another order differ in their last bits.
  if (ready.size() * plan.plan->rounds.size() > kManySteps && not_before(plan) > longest * (1 + 1e-9) + 1)
    return std::nullopt;
  std::vector<double> ends = Closed(plan, ready).run();
  ends.resize(plan.plan->members);
  for (size_t i = ready.size(); i < ends.size(); ++i) ends[i] = ends[i - ready.size()];
  return ends;
}

void run_closed(const PricedPlan& plan, std::span<Picoseconds> ready) {
  CHAKRA_ASSERT(ready.size() == plan.plan->members);
  if (plan.plan->members < 2 || plan.plan->rounds.empty()) return;
  const bool together = std::all_of(ready.begin(), ready.end(), [&](Picoseconds t) { return t == ready[0]; });
  if (plan.alike && together) {
    std::fill(ready.begin(), ready.end(), add_saturated(ready[0], plan.together_ps));
    return;
  }
  const Picoseconds base = *std::min_element(ready.begin(), ready.end());
  const std::vector<double> apart = together ? std::vector<double>{} : ends_after(plan, ready);
  const std::vector<double>& ends = together ? plan.ends_ps : apart;
  for (size_t i = 0; i < ready.size(); ++i)
    ready[i] = std::max(ready[i], add_saturated(base, rounded(ends[i] + plan.extra_ps)));
}

void run_closed(const Plan& plan, const Place& place, std::span<Picoseconds> ready) {
  run_closed(price(plan, place), ready);
}

}  // namespace chakra::coll
