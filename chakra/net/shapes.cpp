// The table of whole networks.
#include "chakra/net/shapes.h"
#include "chakra/net/rows.h"

namespace chakra::net {

namespace {

constexpr ShapeKey kFatTreeKeys[] = {
    {"down", "by level: devices of the level below that a switch has below it", 1, true},
    {"up", "by level: switches of the level that a device of the level below has above it", 1, true},
};
constexpr ShapeKey kDragonflyKeys[] = {
    {"ranks_per_router", "ranks of a router"},
    {"routers", "routers of a group, each linked with each other"},
    {"global", "ports of a router to other groups; the cables of a group are spread over its routers", 0},
    {"groups", "groups, at most routers * global + 1; one cable between any two"},
};
constexpr ShapeKey kRailsKeys[] = {
    {"ranks_per_node", "ranks of a node, on one switch inside it; the i-th of each node is on rail i"},
    {"nodes", "nodes of a pod"},
    {"pods", "pods, each with one leaf per rail"},
    {"spines", "spines, each linked with all leaves; 0: none", 0},
};

constexpr ShapeRow kShapeRows[] = {
    {"FatTree", "levels of switches: leaf-spine, fat trees of any number of levels and of any oversubscription",
     kFatTreeKeys, "one per level, from the ranks up", "one per level, from the ranks up", fat_tree_size,
     build_fat_tree, "down: [4, 3]\nup: [1, 2]"},
    {"Dragonfly", "groups of routers: all linked within a group, one link between any two groups", kDragonflyKeys,
     "ranks to routers, within a group, between groups", "", dragonfly_size, build_dragonfly,
     "ranks_per_router: 2\nrouters: 3\nglobal: 1\ngroups: 4"},
    {"Rails", "rail-optimised leaf-spine: nodes of ranks on one switch, and a leaf for the i-th rank of each node",
     kRailsKeys, "within a node, ranks to leaves, leaves to spines", "nodes, leaves, spines", rails_size, build_rails,
     "ranks_per_node: 4\nnodes: 3\npods: 2\nspines: 2"},
};

}  // namespace

constinit const std::span<const ShapeRow> kShapes = kShapeRows;

const ShapeRow* find_shape(std::string_view name) {
  for (const ShapeRow& row : kShapeRows)
    if (row.name == name) return &row;
  return nullptr;
}

uint32_t ShapeBuilder::add_switch(std::string name, size_t kind) {
  switch_kinds.push_back(kind);
  graph.names.push_back(std::move(name));
  return static_cast<uint32_t>(graph.names.size() - 1);
}

void ShapeBuilder::cable(uint32_t a, uint32_t b, size_t kind) {
  const auto& [bytes_per_s, latency_ps] = kinds[kind];
  graph.links.push_back({a, b, bytes_per_s, latency_ps});
  graph.links.push_back({b, a, bytes_per_s, latency_ps});
}

}  // namespace chakra::net
