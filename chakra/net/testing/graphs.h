// Networks of many paths for tests, as network files: leaf-spine, three-level fat trees, dragonflies.
#pragma once

#include <fmt/core.h>

#include <string>

namespace chakra::net::testing {

inline void link(std::string& text, const std::string& from, const std::string& to, double gib_per_s, double ns) {
  text += fmt::format("- {{from: {}, to: {}, bandwidth: {}, latency: {}}}\n", from, to, gib_per_s, ns);
}
inline std::string head(int64_t ranks, int64_t switches, const char* routing) {
  return fmt::format("ranks: {}\nswitches: {}\nrouting: {}\nlinks:\n", ranks, switches, routing);
}
inline std::string switch_name(int64_t ranks, int64_t number) { return fmt::format("{}", ranks + number); }

/// `hosts` ranks on each of `leaves` switches, each of these linked with all of `spines`.
inline std::string leaf_spine(int64_t leaves, int64_t hosts, int64_t spines, double up = 50, double ns = 500,
                              const char* routing = "spread") {
  const int64_t ranks = leaves * hosts;
  std::string text = head(ranks, leaves + spines, routing);
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    for (int64_t h = 0; h < hosts; ++h)
      link(text, fmt::format("{}", leaf * hosts + h), switch_name(ranks, leaf), 50, ns);
    for (int64_t s = 0; s < spines; ++s) link(text, switch_name(ranks, leaf), switch_name(ranks, leaves + s), up, ns);
  }
  return text;
}

/// The fat tree of switches with k ports (Al-Fares 2008): k pods of k/2 edge and k/2 aggregation switches, k^2/4 cores,
/// k^3/4 ranks.
inline std::string fat_tree(int64_t k, double ns = 500, const char* routing = "spread") {
  const int64_t half = k / 2, ranks = k * half * half, edges = k * half;
  std::string text = head(ranks, 2 * edges + half * half, routing);
  for (int64_t pod = 0; pod < k; ++pod)
    for (int64_t e = 0; e < half; ++e) {
      const std::string edge = switch_name(ranks, pod * half + e), up = switch_name(ranks, edges + pod * half + e);
      for (int64_t h = 0; h < half; ++h) link(text, fmt::format("{}", (pod * half + e) * half + h), edge, 50, ns);
      for (int64_t a = 0; a < half; ++a) link(text, edge, switch_name(ranks, edges + pod * half + a), 50, ns);
      for (int64_t c = 0; c < half; ++c) link(text, up, switch_name(ranks, 2 * edges + e * half + c), 50, ns);
    }
  return text;
}

/// Groups of `routers` that are all linked with each other, `hosts` ranks on each; `global` links of each router lead
/// to others, one link between any two of the routers x global + 1 groups (Kim 2008).
inline std::string dragonfly(int64_t routers, int64_t hosts, int64_t global, double ns = 500,
                             const char* routing = "spread") {
  const int64_t groups = routers * global + 1, ranks = groups * routers * hosts;
  std::string text = head(ranks, groups * routers, routing);
  const auto router = [&](int64_t group, int64_t r) { return switch_name(ranks, group * routers + r); };
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t r = 0; r < routers; ++r) {
      for (int64_t h = 0; h < hosts; ++h)
        link(text, fmt::format("{}", (g * routers + r) * hosts + h), router(g, r), 50, ns);
      for (int64_t other = r + 1; other < routers; ++other) link(text, router(g, r), router(g, other), 50, ns);
    }
    // The p-th other group, counted from the own one, hangs on router p / global.
    for (int64_t p = 0; p < groups - 1; ++p) {
      const int64_t other = (g + p + 1) % groups, back = (g - other - 1 + 2 * groups) % groups;
      if (other > g) link(text, router(g, p / global), router(other, back / global), 50, ns);
    }
  }
  return text;
}

}  // namespace chakra::net::testing
