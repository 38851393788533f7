#include "chakra/sim/prices.h"

namespace chakra::sim {

namespace {
/// Plans that name their transfers one by one are kept up to here; then all are made anew.
constexpr size_t kMostTransfersHeld = size_t{1} << 22;
}  // namespace

const coll::Plan& Prices::plan(uint32_t shape, std::span<const int64_t> ranks, const coll::Operation& op) {
  const coll::Place place{&fabric_, ranks};
  if (!op.splits.empty()) return once_ = coll::choose(selection_, op, place).plan(op, place);
  const auto [found, added] = plans_.try_emplace({shape, op.type, op.bytes, op.root});
  if (!added) return found->second;
  coll::Plan made = coll::choose(selection_, op, place).plan(op, place);
  size_t transfers = made.rounds.size();
  for (const coll::Round& round : made.rounds) transfers += round.list.size();
  if (held_ += transfers; held_ > kMostTransfersHeld) {
    plans_.clear();
    held_ = transfers;
    return plans_.try_emplace({shape, op.type, op.bytes, op.root}, std::move(made)).first->second;
  }
  return found->second = std::move(made);
}

const std::vector<Picoseconds>& Prices::together(uint32_t shape, std::span<const int64_t> ranks,
                                                 const coll::Operation& op) {
  const auto run = [&](std::vector<Picoseconds>& ends) {
    ends.assign(ranks.size(), 0);
    coll::run_closed(plan(shape, ranks, op), {&fabric_, ranks}, ends);
  };
  if (!op.splits.empty()) {
    run(once_ends_);
    return once_ends_;
  }
  const auto [found, added] = ends_.try_emplace({shape, op.type, op.bytes, op.root});
  if (added) run(found->second);
  return found->second;
}

}  // namespace chakra::sim
