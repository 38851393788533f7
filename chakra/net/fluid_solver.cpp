#include "chakra/net/fluid_solver.h"

#include <algorithm>
#include <limits>

namespace chakra::net {

void FluidSolver::solve(std::span<const double> capacity, std::span<const uint32_t> first,
                        std::span<const uint32_t> uses, std::span<const double> parts, std::span<double> rate) {
  if (parts.empty()) fill<false>(capacity, first, uses, parts, rate);
  else fill<true>(capacity, first, uses, parts, rate);
}

template <bool kParts>
void FluidSolver::fill(std::span<const double> capacity, std::span<const uint32_t> first,
                       std::span<const uint32_t> uses, std::span<const double> parts, std::span<double> rate) {
  const size_t links = capacity.size(), flows = rate.size();
  left_.assign(capacity.begin(), capacity.end());
  waiting_.assign(links, 0);
  kept_.assign(flows, false);
  for (const uint32_t link : uses) ++waiting_[link];
  if constexpr (kParts) {
    weight_.assign(links, 0);
    least_.assign(links, std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < uses.size(); ++i) {
      weight_[uses[i]] += parts[i];
      least_[uses[i]] = std::min(least_[uses[i]], parts[i]);
    }
  }
  const auto share_of = [&](uint32_t link) {
    if constexpr (kParts) return left_[link] / weight_[link];
    else return left_[link] / waiting_[link];
  };

  // Flows by link: a counting sort. first_flow_ ends up where each link's flows begin.
  first_flow_.resize(links + 1);
  uint32_t sum = 0;
  for (size_t l = 0; l < links; ++l) first_flow_[l] = sum += waiting_[l];
  first_flow_[links] = sum;
  flows_.resize(uses.size());
  for (auto f = static_cast<uint32_t>(flows); f-- > 0;)
    for (uint32_t i = first[f]; i < first[f + 1]; ++i) flows_[--first_flow_[uses[i]]] = f;

  const auto later = [](const Share& a, const Share& b) {
    return a.share != b.share ? a.share > b.share : a.link > b.link;
  };
  heap_.clear();
  for (uint32_t l = 0; l < links; ++l)
    if (waiting_[l] > 0) heap_.push_back({share_of(l), l});
  std::make_heap(heap_.begin(), heap_.end(), later);

  double level = 0;  // of the rates that still grow; rounding never lets it sink
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const auto [was, link] = heap_.back();
    heap_.pop_back();
    if (waiting_[link] == 0) continue;
    const double share = share_of(link);
    if (share > was) {
      heap_.push_back({share, link});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    level = std::max(level, share);
    for (uint32_t i = first_flow_[link]; i < first_flow_[link + 1]; ++i) {
      const uint32_t flow = flows_[i];
      if (kept_[flow]) continue;
      kept_[flow] = true;
      rate[flow] = level;
      for (uint32_t k = first[flow]; k < first[flow + 1]; ++k) {
        const uint32_t used = uses[k];
        if constexpr (kParts) {
          left_[used] = std::max(0.0, left_[used] - level * parts[k]);
          weight_[used] = std::max(least_[used], weight_[used] - parts[k]);  // rounding leaves none that wait without
        } else {
          left_[used] = std::max(0.0, left_[used] - level);
        }
        --waiting_[used];
      }
    }
  }
}

}  // namespace chakra::net
