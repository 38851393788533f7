// Dragonflies: Kim et al., "Technology-driven, highly-scalable dragonfly topology" (2008). Routers of a group are all
// linked with each other. One cable joins any two groups. Of the k other groups, counted from a group upwards, the p-th
// is on its router p * routers / k: each router has k / routers cables, rounded down or up. With all groups that ports
// allow, that is router p / global.
#include <fmt/core.h>

#include "chakra/net/rows.h"
#include "chakra/net/shapes.h"

namespace chakra::net {
namespace {

struct DragonflyNumbers {
  int64_t ranks, routers, global, groups;
  explicit DragonflyNumbers(ShapeNumbers n) : ranks(n[0][0]), routers(n[1][0]), global(n[2][0]), groups(n[3][0]) {}
};

}  // namespace

ShapeSize dragonfly_size(ShapeNumbers numbers) {
  const DragonflyNumbers n(numbers);
  const auto groups = static_cast<double>(n.groups), routers = static_cast<double>(n.routers);
  const double most = routers * static_cast<double>(n.global) + 1;
  if (groups > most)
    return {.wrong =
                fmt::format("{} groups, but the routers of a group have ports to {} others only", n.groups, most - 1)};
  const double ranks = groups * routers * static_cast<double>(n.ranks);
  const double cables = ranks + groups * routers * (routers - 1) / 2 + groups * (groups - 1) / 2;
  return {.ranks = ranks, .switches = groups * routers, .cables = cables, .cable_kinds = 3};
}

void build_dragonfly(ShapeNumbers numbers, ShapeBuilder& out) {
  enum Kind : uint8_t { kRank, kLocal, kGlobal };
  const DragonflyNumbers n(numbers);
  out.axis(n.ranks, RowForm::star);
  out.axis(n.routers, RowForm::pairs);
  out.axis(n.groups, RowForm::pairs);
  for (int64_t g = 0; g < n.groups; ++g)
    for (int64_t r = 0; r < n.routers; ++r) out.add_switch(fmt::format("router {}.{}", g, r), 0);
  const int64_t ranks = out.graph.ranks, others = n.groups - 1;
  const auto router = [&](int64_t group, int64_t r) { return static_cast<uint32_t>(ranks + group * n.routers + r); };
  for (int64_t rank = 0; rank < ranks; ++rank) out.cable(static_cast<uint32_t>(rank), router(0, rank / n.ranks), kRank);
  for (int64_t g = 0; g < n.groups; ++g) {
    for (int64_t r = 0; r < n.routers; ++r)
      for (int64_t other = r + 1; other < n.routers; ++other) out.cable(router(g, r), router(g, other), kLocal);
    for (int64_t other = g + 1; other < n.groups; ++other) {
      const int64_t there = other - g - 1, back = others - 1 - there;  // which other group each is to the other one
      out.cable(router(g, there * n.routers / others), router(other, back * n.routers / others), kGlobal);
    }
  }
  const auto each = static_cast<uint32_t>(n.ranks), routers = static_cast<uint32_t>(n.routers);
  out.graph.turns = Turns({each, static_cast<uint32_t>(n.groups)},
                          {{0, {1, each * routers}}, {static_cast<uint32_t>(ranks), {0, routers}}},
                          1);  // ranks of a router may change places in any way
  // Minimal routes pass one cable between groups: two over a third group are never shorter.
  out.graph.metric = Metric::groups;
  for (int64_t rank = 0; rank < ranks; ++rank)
    out.graph.groups.push_back(static_cast<uint32_t>(rank / (n.ranks * n.routers)));
  for (int64_t r = 0; r < n.groups * n.routers; ++r) out.graph.groups.push_back(static_cast<uint32_t>(r / n.routers));
}

}  // namespace chakra::net
