// Max-min fair rates by a separate method, for tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chakra::net::testing {

struct Problem {
  std::vector<double> capacity;
  std::vector<uint32_t> first{0}, uses;
  std::vector<double> parts;  ///< of the rate, by use; empty: all

  size_t flows() const { return first.size() - 1; }
  std::span<const uint32_t> links_of(size_t flow) const {
    return std::span(uses).subspan(first[flow], first[flow + 1] - first[flow]);
  }
  /// Call use(link, part) for each link of the flow.
  template <class Use>
  void each(size_t flow, const Use& use) const {
    for (uint32_t i = first[flow]; i < first[flow + 1]; ++i) use(uses[i], parts.empty() ? 1.0 : parts[i]);
  }
};

/// Raise all rates by the most that all links allow, then stop the rates that cannot grow. No heap, no shares kept.
inline std::vector<double> fill(const Problem& p) {
  std::vector<double> rate(p.flows(), 0), left = p.capacity;
  std::vector<bool> stopped(p.flows(), false);
  for (;;) {
    std::vector<double> growing(left.size(), 0);
    for (size_t f = 0; f < p.flows(); ++f)
      if (!stopped[f]) p.each(f, [&](uint32_t link, double part) { growing[link] += part; });
    double step = -1;
    for (size_t l = 0; l < left.size(); ++l)
      if (growing[l] > 0 && (step < 0 || left[l] / growing[l] < step)) step = left[l] / growing[l];
    if (step < 0) return rate;
    for (size_t f = 0; f < p.flows(); ++f)
      if (!stopped[f]) rate[f] += step;
    for (size_t l = 0; l < left.size(); ++l) left[l] -= step * growing[l];
    for (size_t f = 0; f < p.flows(); ++f)
      for (const uint32_t l : p.links_of(f))
        if (left[l] <= 1e-9 * p.capacity[l]) stopped[f] = true;
  }
}

}  // namespace chakra::net::testing
