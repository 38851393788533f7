// Nodes of any sizes: as many members of each node as the smallest one has are columns, each for a part of the buffer.
// Sums are made in the nodes onto the columns, then along each column from node to node, and results come back.
#include <map>

#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {
namespace {

using Kind = Phase::Kind;
enum : uint32_t { kInNode, kAlong };  // Phase::dimension

struct NodeLeg {
  Kind kind;
  uint32_t dimension;
};

/// The data that a member contributes goes to the columns first; the data that it receives comes from them last.
std::vector<NodeLeg> node_way_of(CommType type) {
  if (type == CommType::all_gather)
    return {{Kind::exchange, kInNode}, {Kind::all_gather, kAlong}, {Kind::all_gather, kInNode}};
  std::vector<NodeLeg> way{{Kind::reduce_scatter, kInNode}, {Kind::reduce_scatter, kAlong}};
  if (type != CommType::all_reduce) way.push_back({Kind::exchange, kInNode});
  else way.insert(way.end(), {{Kind::all_gather, kAlong}, {Kind::all_gather, kInNode}});
  return way;
}

/// A round of one chunk. Units of block b, column c: (b * columns + c) * chunks + chunk; all-reduce has a block for
/// each node, the others one for each member.
class NodeRound {
 public:
  NodeRound(const Outline& o, const Phase& phase, Moves& moves)
      : o_(o), phase_(phase), columns_(o.columns), blocks_(o.units / columns_ / o.pieces), moves_(moves) {}

  void add(uint32_t k) const {
    if (phase_.dimension == kAlong) return along(k);
    for (const std::vector<uint32_t>& node : o_.nodes)
      for (uint32_t from = 0; from < node.size(); ++from)
        for (uint32_t to = 0; to < node.size(); ++to)
          if (from != to) within(node, from, to);
  }

 private:
  void send(uint32_t from, uint32_t to, uint64_t first, uint64_t count, uint32_t column, bool reduce) const {
    const uint64_t step = uint64_t{columns_} * o_.pieces;
    if (count > 0)
      moves_.push_back({from, to, first * step + uint64_t{column} * o_.pieces + phase_.slice, count, step, reduce});
  }

  /// From the from-th to the to-th member of a node.
  void within(const std::vector<uint32_t>& node, uint32_t from, uint32_t to) const {
    const uint32_t m = node[from], other = node[to];
    if (phase_.kind == Kind::reduce_scatter) {
      if (to < columns_) send(m, other, 0, blocks_, to, true);
    } else if (phase_.kind == Kind::exchange) {
      const bool gathers_parts = gathers(o_.type);
      if (gathers_parts ? to < columns_ : from < columns_)
        send(m, other, gathers_parts ? m : other, 1, gathers_parts ? to : from, false);
    } else if (from < columns_) {
      const uint64_t own = o_.type == CommType::all_gather ? other : blocks_;  // which it has
      send(m, other, 0, own, from, false);
      if (own < blocks_) send(m, other, own + 1, blocks_ - own - 1, from, false);
    }
  }

  /// As hierarchical_doubling along a row, for nodes instead of members.
  void along(uint32_t k) const {
    const bool sums = phase_.kind == Kind::reduce_scatter;
    const auto nodes = static_cast<uint32_t>(o_.nodes.size());
    for (uint32_t i = 0; i < nodes; ++i)
      for (uint32_t c = 0; c < columns_; ++c) {
        const DoublingStep step = doubling_step(i, k, nodes, sums);
        for (uint32_t x = 0; x < step.count; ++x) {
          const uint32_t of = turn(step.first, x, nodes);
          const auto send_block = [&](uint64_t block) {
            send(o_.nodes[i][c], o_.nodes[step.to][c], block, 1, c, sums);
          };
          if (o_.type == CommType::all_reduce) send_block(of);
          else
            for (const uint32_t member : o_.nodes[of]) send_block(member);
        }
      }
  }

  const Outline& o_;
  const Phase& phase_;
  const uint32_t columns_;
  const uint64_t blocks_;
  Moves& moves_;
};

}  // namespace

std::vector<std::vector<uint32_t>> nodes_of(const Place& place) {
  if (!place.fabric) return {};
  const std::vector<net::Axis> axes = place.fabric->axes();
  if (axes.size() < 2) return {};
  std::map<int64_t, std::vector<uint32_t>> nodes;  // by the places on all axes but the first
  for (uint32_t m = 0; m < place.ranks.size(); ++m) {
    int64_t outside = 0;
    for (size_t a = axes.size(); a-- > 1;) outside = outside * axes[a].extent + axes[a].of(place.ranks[m]);
    nodes[outside].push_back(m);
  }
  std::vector<std::vector<uint32_t>> all;
  for (auto& [outside, members] : nodes) {
    std::sort(members.begin(), members.end(),
              [&](uint32_t a, uint32_t b) { return axes[0].of(place.ranks[a]) < axes[0].of(place.ranks[b]); });
    if (members.size() < 2) return {};
    all.push_back(std::move(members));
  }
  return all.size() < 2 ? std::vector<std::vector<uint32_t>>{} : all;
}

Outline node_columns(const Operation& op, const Place& place) {
  std::vector<std::vector<uint32_t>> nodes = nodes_of(place);
  uint32_t columns = place.members();
  for (const std::vector<uint32_t>& node : nodes) columns = std::min(columns, static_cast<uint32_t>(node.size()));
  const std::vector<NodeLeg> way = node_way_of(op.type);
  const uint32_t along = doublings(static_cast<uint32_t>(nodes.size()));
  uint32_t rounds = 0;
  for (const NodeLeg& leg : way) rounds += leg.dimension == kAlong ? along : 1;
  const uint32_t chunks = chunks_of(op, place.members(), rounds);
  const uint64_t blocks = gathers(op.type) ? 1 : op.type == CommType::all_reduce ? nodes.size() : place.members();
  Outline o = outline_of(op, place, blocks * columns * chunks);
  o.columns = columns;
  o.pieces = o.lanes = chunks;
  o.nodes = std::move(nodes);
  follow_each_other(o, chunks, static_cast<uint32_t>(way.size()), [&](uint32_t leg, Phase& phase) {
    phase.kind = way[leg].kind;
    phase.dimension = way[leg].dimension;
    phase.rounds = way[leg].dimension == kAlong ? along : 1;
  });
  return o;
}

void node_columns_round(const Outline& o, uint32_t k, uint32_t, Round& head, Moves& moves) {
  const Phase& phase = phase_of(o, k);
  head.lane = phase.lane;
  head.after = k == phase.first ? phase.after : -1;
  NodeRound(o, phase, moves).add(k - phase.first);
}

}  // namespace chakra::coll
