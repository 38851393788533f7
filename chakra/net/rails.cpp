// Rail-optimised leaf-spine networks, as NVIDIA's DGX SuperPOD reference architecture builds them: the ranks of a node
// are on one switch inside it (NVLink); the i-th ranks of all nodes of a pod, rail i, are on one leaf; each leaf is
// linked with all spines. Without spines and with one pod it is the rail-only network of Wang et al., "Rail-only"
// (2023): from rail to rail a rank of the node passes messages on.
#include <fmt/core.h>

#include "chakra/net/rows.h"
#include "chakra/net/shapes.h"

namespace chakra::net {
namespace {

struct RailNumbers {
  int64_t rails, nodes, pods, spines;
  explicit RailNumbers(ShapeNumbers n) : rails(n[0][0]), nodes(n[1][0]), pods(n[2][0]), spines(n[3][0]) {}
};

}  // namespace

ShapeSize rails_size(ShapeNumbers numbers) {
  const RailNumbers n(numbers);
  const auto rails = static_cast<double>(n.rails), pods = static_cast<double>(n.pods);
  const double nodes = static_cast<double>(n.nodes) * pods, leaves = pods * rails;
  const auto spines = static_cast<double>(n.spines);
  return {.ranks = nodes * rails,
          .switches = nodes + leaves + spines,
          .cables = 2 * nodes * rails + leaves * spines,
          .cable_kinds = 3,
          .switch_kinds = 3};
}

void build_rails(ShapeNumbers numbers, ShapeBuilder& out) {
  enum Kind : uint8_t { kNode, kLeaf, kSpine };
  const RailNumbers n(numbers);
  for (const int64_t extent : {n.rails, n.nodes, n.pods}) out.axis(extent, RowForm::star);
  const int64_t ranks = out.graph.ranks, nodes = n.nodes * n.pods, leaves = n.pods * n.rails;
  for (int64_t node = 0; node < nodes; ++node) out.add_switch(fmt::format("node {}", node), kNode);
  for (int64_t leaf = 0; leaf < leaves; ++leaf)
    out.add_switch(fmt::format("leaf {}.{}", leaf / n.rails, leaf % n.rails), kLeaf);
  for (int64_t spine = 0; spine < n.spines; ++spine) out.add_switch(fmt::format("spine {}", spine), kSpine);
  const auto device = [](int64_t number) { return static_cast<uint32_t>(number); };
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t node = rank / n.rails, leaf = node / n.nodes * n.rails + rank % n.rails;
    out.cable(device(rank), device(ranks + node), kNode);
    out.cable(device(rank), device(ranks + nodes + leaf), kLeaf);
  }
  for (int64_t leaf = 0; leaf < leaves; ++leaf)
    for (int64_t spine = 0; spine < n.spines; ++spine)
      out.cable(device(ranks + nodes + leaf), device(ranks + nodes + leaves + spine), kSpine);
  const uint32_t rails = device(n.rails), in_pod = device(n.nodes);
  out.graph.turns = Turns({rails, in_pod, device(n.pods)},
                          {{0, {1, rails, rails * in_pod}},
                           {device(ranks), {0, 1, in_pod}},
                           {device(ranks + nodes), {1, 0, rails}},
                           {device(ranks + nodes + leaves), {}}},
                          UINT32_MAX);
}

}  // namespace chakra::net
