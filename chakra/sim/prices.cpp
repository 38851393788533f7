#include "chakra/sim/prices.h"

namespace chakra::sim {

namespace {
/// Plans that name their transfers one by one are kept up to here; then all are made anew.
constexpr size_t kMostTransfersHeld = size_t{1} << 22;
}  // namespace

uint32_t Prices::shape(std::span<const int64_t> ranks) {
  const uint32_t shape = shapes_(fabric_.placement(ranks));
  if (shape == ranks_of_.size())
    ranks_of_.push_back(std::make_unique<std::vector<int64_t>>(ranks.begin(), ranks.end()));
  return shape;
}

void Prices::make(Priced& priced, uint32_t shape, const coll::Operation& op) {
  const coll::Place place{&fabric_, *ranks_of_[shape]};
  priced.plan = coll::choose(selection_, op, place).plan(op, place);
  priced.costs = coll::price(priced.plan, place);
}

const Prices::Priced& Prices::priced(uint32_t shape, const coll::Operation& op) {
  if (!op.splits.empty()) {
    make(once_, shape, op);
    return once_;
  }
  const Key key{shape, op.type, op.bytes, op.root};
  if (const auto found = plans_.find(key); found != plans_.end()) return *found->second;
  auto made = std::make_unique<Priced>();
  make(*made, shape, op);
  size_t transfers = made->plan.rounds.size();
  for (const coll::Round& round : made->plan.rounds) transfers += round.list.size();
  if (held_ += transfers; held_ > kMostTransfersHeld) {
    plans_.clear();
    held_ = transfers;
  }
  return *plans_.emplace(key, std::move(made)).first->second;
}

void Prices::run(uint32_t shape, const coll::Operation& op, std::span<Picoseconds> ready) {
  coll::run_closed(priced(shape, op).costs, ready);
}

const std::vector<Picoseconds>& Prices::together(uint32_t shape, const coll::Operation& op) {
  const auto from_zero = [&](std::vector<Picoseconds>& ends) {
    ends.assign(ranks_of_[shape]->size(), 0);
    run(shape, op, ends);
  };
  if (!op.splits.empty()) {
    from_zero(once_ends_);
    return once_ends_;
  }
  auto& ends = ends_[{shape, op.type, op.bytes, op.root}];
  if (!ends) {
    ends = std::make_unique<std::vector<Picoseconds>>();
    from_zero(*ends);
  }
  return *ends;
}

}  // namespace chakra::sim
