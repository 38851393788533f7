#include "chakra/sim/prices.h"

#include <algorithm>
#include <bit>

#include "chakra/sim/alone.h"
#include "chakra/sim/equal_costs.h"

namespace chakra::sim {

namespace {
/// Plans that name their transfers one by one are kept up to here; then all are made anew.
constexpr size_t kMostTransfersHeld = size_t{1} << 22;
constexpr size_t kMostSteps = size_t{1} << 29;  ///< of after_last()

}  // namespace

uint32_t Prices::shape(std::span<const int64_t> ranks, uint64_t flow) {
  std::vector<int64_t> key = fabric_.placement(ranks);
  if (hashes()) {
    key.assign(ranks.begin(), ranks.end());
    key.push_back(static_cast<int64_t>(flow));
  }
  const uint32_t shape = shapes_(key);
  if (shape == standings_.size())
    standings_.push_back(std::make_unique<Standing>(Standing{{ranks.begin(), ranks.end()}, hashes() ? flow : 0}));
  return shape;
}

std::unique_ptr<Prices::Priced> Prices::make(uint32_t shape, const coll::Operation& op) const {
  auto priced = std::make_unique<Priced>();
  const coll::Place place{&fabric_, standings_[shape]->ranks, standings_[shape]->flow};
  priced->choice = coll::choose(selection_, op, place);
  if (shared_) choose_by_running(priced->choice, op, place);
  const coll::Reordered seen(op, place, priced->choice.order);
  priced->ranks.assign(seen.place.ranks.begin(), seen.place.ranks.end());
  return priced;
}

/// Counts a plan that will be kept, and forgets all others where they would be too many.
void Prices::make_room(const coll::Plan& plan) {
  size_t transfers = plan.rounds.size();
  for (const coll::Round& round : plan.rounds) transfers += round.list.size();
  if ((held_ += transfers) <= kMostTransfersHeld) return;
  plans_.clear();
  uneven_plans_.clear();
  held_ = transfers;
}

Prices::Priced& Prices::chosen(uint32_t shape, const coll::Operation& op) {
  const Key key{shape, op.type, op.bytes, op.root};
  const auto in = [&](auto& plans, auto whole_key) -> Priced& {
    if (const auto found = plans.find(whole_key); found != plans.end()) return *found->second;
    auto made = make(shape, op);
    make_room(made->choice.plan);
    return *plans.emplace(std::move(whole_key), std::move(made)).first->second;
  };
  if (op.splits.empty()) return in(plans_, key);
  return in(uneven_plans_, Uneven(key, {op.splits.begin(), op.splits.end()}));
}

std::optional<net::FittedTime> Prices::fitted(uint32_t shape, const coll::Operation& op) const {
  if (shared_ || fabric_.fits.empty()) return std::nullopt;
  const coll::Place place{&fabric_, standings_[shape]->ranks, standings_[shape]->flow};
  return coll::by_rule(selection_, op, place) ? std::nullopt : coll::fitted_time(op, place);
}

std::string Prices::refusal(uint32_t shape, const coll::Operation& op) const {
  return coll::refusal(selection_, op, {&fabric_, standings_[shape]->ranks, standings_[shape]->flow});
}

const coll::PricedPlan& Prices::costs_of(Priced& priced, uint32_t shape) const {
  if (!priced.costs) priced.costs = coll::price(priced.choice.plan, {&fabric_, priced.ranks, standings_[shape]->flow});
  return *priced.costs;
}

bool Prices::add_costs(uint32_t shape, const coll::Operation& op, Digest& digest) {
  if (!refusal(shape, op).empty()) return false;
  if (const auto known = fitted(shape, op)) {
    digest.add(std::bit_cast<uint64_t>(known->ns));
    digest.add(uint64_t{known->other_ranks} << 1 | uint64_t{known->other_bytes});
    for (const void* row : {static_cast<const void*>(known->fit), static_cast<const void*>(known->protocol)})
      digest.add(reinterpret_cast<uintptr_t>(row));
    return true;
  }
  Priced& priced = chosen(shape, op);
  return sim::add_costs(priced.choice, shared_ ? nullptr : &costs_of(priced, shape), digest);
}

void Prices::run(uint32_t shape, const coll::Operation& op, std::span<Picoseconds> ready) {
  if (const auto known = fitted(shape, op)) {
    const Picoseconds last = *std::max_element(ready.begin(), ready.end());
    std::fill(ready.begin(), ready.end(), add_saturated(last, picoseconds(known->ns * 1e-9)));
    return;
  }
  Priced& priced = chosen(shape, op);
  const std::vector<uint32_t>& order = priced.choice.order;
  const coll::PricedPlan& costs = costs_of(priced, shape);
  if (order.empty()) return coll::run_closed(costs, ready);
  ready_.resize(order.size());
  for (size_t p = 0; p < order.size(); ++p) ready_[p] = ready[order[p]];
  coll::run_closed(costs, ready_);
  for (size_t p = 0; p < order.size(); ++p) ready[order[p]] = ready_[p];
}

Picoseconds Prices::after_last(uint32_t shape, const coll::Operation& op) {
  const auto [found, added] = after_last_.try_emplace({shape, op.type, op.bytes, op.root}, 0);
  if (!added) return found->second;
  const std::vector<Picoseconds> together = this->together(shape, op);
  const auto [least, most] = std::minmax_element(together.begin(), together.end());
  if (fitted(shape, op)) return found->second = *least;
  std::vector<Picoseconds> ends;
  const auto after = [&](size_t place) {
    ends.assign(together.size(), -*most);  // so early that what depends on these alone ends before the last arrival
    ends[place] = 0;
    run(shape, op, ends);
    return std::max(*std::min_element(ends.begin(), ends.end()), Picoseconds{0});
  };
  Picoseconds shortest = after(0);
  const Priced& priced = chosen(shape, op);
  if (priced.costs && priced.costs->alike) return found->second = shortest;
  if (transfers_of(priced.choice.plan) > kMostSteps / together.size()) return 0;
  for (size_t p = 1; p < together.size() && shortest > 0; ++p) shortest = std::min(shortest, after(p));
  return found->second = shortest;
}

const std::vector<Picoseconds>& Prices::together(uint32_t shape, const coll::Operation& op) {
  const auto from_zero = [&](std::vector<Picoseconds>& ends) {
    ends.assign(standings_[shape]->ranks.size(), 0);
    run(shape, op, ends);
  };
  if (!op.splits.empty()) {
    std::vector<Picoseconds>& ends = chosen(shape, op).together;
    if (ends.empty()) from_zero(ends);
    return ends;
  }
  auto& ends = ends_[{shape, op.type, op.bytes, op.root}];
  if (!ends) {
    ends = std::make_unique<std::vector<Picoseconds>>();
    from_zero(*ends);
  }
  return *ends;
}

}  // namespace chakra::sim
