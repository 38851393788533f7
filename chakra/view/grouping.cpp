// Many nodes as few boxes: the tree of their paths (paths.h), divided into parts (parts.h), and the edges between them.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "chakra/view/graph.h"
#include "chakra/view/parts.h"

namespace chakra::view {
namespace {

using trace::NodeId;
using trace::Trace;

/// The nodes of a part.
struct Sum {
  int64_t count = 0;
  Picoseconds time = 0;
  uint64_t bytes = 0;
  NodeId first = trace::kNoNode;
  std::array<int64_t, 7> looks{};
};

/// A trace as parts.
struct Grouped {
  const Trace& trace;
  PathTree tree;
  std::vector<Part> parts;
  std::vector<uint32_t> part_of;  ///< per node
};

std::vector<Sum> sum_up(const Grouped& g) {
  const Trace& t = g.trace;
  std::vector<Sum> sums(g.parts.size());
  for (const NodeId n : t.nodes()) {
    if (g.part_of[n] == kNone) continue;
    Sum& sum = sums[g.part_of[n]];
    ++sum.count;
    sum.time = add_saturated(sum.time, t.dur_ps[n]);
    if (const trace::Comm* comm = t.comm(n); comm && trace::is_comm(t.type[n]))
      sum.bytes = sum.bytes > UINT64_MAX - comm->bytes ? UINT64_MAX : sum.bytes + comm->bytes;
    if (sum.first == trace::kNoNode) sum.first = n;
    ++sum.looks[static_cast<size_t>(look_of(t, n))];
  }
  return sums;
}

// ---- boxes -------------------------------------------------------------------------------------------

std::string key_of(uint32_t part) { return fmt::format("g{}", part); }

std::string title_of(const Grouped& g, const Part& part) {
  if (part.others()) return fmt::format("{} others", part.branches.size() + (part.own != kNone));
  return g.tree.shown(part.first()) + (part.own != kNone ? " itself" : "");
}

/// What the box is in, but for its lane: "forward / layer*".
std::string path_to(const PathTree& tree, uint32_t branch) {
  std::vector<std::string> path;
  for (uint32_t at = tree.branches[branch].parent; at != kNone && tree.branches[at].parent != kNone;
       at = tree.branches[at].parent)
    path.push_back(tree.shown(at));
  std::string text;
  for (size_t i = path.size(); i-- > 0;) text += (text.empty() ? "" : " / ") + path[i];
  return text;
}

Result<void> draw_box(const Grouped& g, uint32_t p, const Sum& sum, Pen& pen) {
  const uint32_t branch = g.parts[p].first();
  const std::string key = key_of(p), name = title_of(g, g.parts[p]), in = path_to(g.tree, branch),
                    lane = g.tree.shown(g.tree.root_of(branch));
  Box box;
  box.key = key;
  box.name = name;
  box.in = in;
  if (g.tree.branches[branch].parent != kNone) box.where = lane;
  box.id = g.trace.id[sum.first];
  box.count = sum.count;
  box.dur_ps = sum.time;
  box.bytes = sum.bytes;
  box.look = static_cast<Look>(std::max_element(sum.looks.begin(), sum.looks.end()) - sum.looks.begin());
  return pen.box(box);
}

/// Lane by lane, in the order of the trace.
Result<void> draw_boxes(const Grouped& g, GraphCounts& counts, Pen& pen) {
  const std::vector<Sum> sums = sum_up(g);
  std::map<uint32_t, std::vector<uint32_t>> by_lane;
  for (uint32_t p = 0; p < g.parts.size(); ++p) {
    if (sums[p].count == 0) continue;
    const uint32_t first = g.parts[p].first();
    const bool several_lanes = g.parts[p].others() && g.tree.branches[first].parent == kNone;
    by_lane[several_lanes ? kNone : g.tree.root_of(first)].push_back(p);
  }
  for (const auto& [lane, parts] : by_lane) {
    pen.cluster(lane == kNone ? "" : g.tree.shown(lane));
    for (const uint32_t p : parts) {
      ++counts.boxes;
      CHAKRA_TRY(draw_box(g, p, sums[p], pen));
    }
  }
  pen.cluster("");
  return {};
}

// ---- arrows ------------------------------------------------------------------------------------------

/// Edges between two parts.
struct Bundle {
  int64_t count = 0;
  uint8_t kind = 0;
  bool one_kind = true;
};
using Bundles = std::map<std::pair<uint32_t, uint32_t>, Bundle>;

struct Arrows {
  Bundles data, control;
  int64_t inside = 0;  ///< edges within a part
};

Arrows bundle(const Grouped& g) {
  Arrows arrows;
  const auto add = [&](Bundles& to, NodeId from, NodeId n, uint8_t kind) {
    const uint32_t a = g.part_of[from], b = g.part_of[n];
    if (a == kNone || b == kNone) return;
    if (a == b) {
      ++arrows.inside;
      return;
    }
    Bundle& edges = to[{a, b}];
    if (edges.count++ == 0) edges.kind = kind;
    edges.one_kind &= edges.kind == kind;
  };
  const Trace& t = g.trace;
  for (const NodeId n : t.nodes()) {
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
      add(arrows.data, t.deps.node[e], n, t.deps.kind[e] & 0x7f);
    for (const NodeId caller : t.ctrl.of(n)) add(arrows.control, caller, n, 0);
  }
  return arrows;
}

/// Nodes that edges name and the file does not have. One placeholder stands for all: a figure of some dozens of boxes
/// has no room for a thousand of them.
struct Absent {
  std::set<uint64_t> ids;
  std::map<uint32_t, int64_t> data, control;  ///< part -> edges
};

Absent find_absent(const Grouped& g) {
  Absent absent;
  for (const trace::Defect& d : g.trace.defects) {
    const bool is_data = d.kind == trace::Defect::Kind::dangling_dep;
    if ((!is_data && d.kind != trace::Defect::Kind::dangling_ctrl) || g.part_of[d.node] == kNone) continue;
    absent.ids.insert(d.id);
    ++(is_data ? absent.data : absent.control)[g.part_of[d.node]];
  }
  return absent;
}

Result<void> draw_placeholder(const Absent& absent, Pen& pen) {
  if (absent.ids.empty()) return {};
  const uint64_t first = *absent.ids.begin();
  const std::string name = absent.ids.size() == 1
                               ? fmt::format("node {}", first)
                               : fmt::format("{} nodes", show_count(static_cast<int64_t>(absent.ids.size())));
  Box box;
  box.key = "absent";
  box.name = name;
  box.type = "ABSENT";
  box.look = Look::absent;
  box.id = first;
  return pen.box(box);
}

using Draw = Result<void> (Pen::*)(const Arrow&);  ///< Pen::data or Pen::control

/// The arrows between parts, then those from the placeholder. Adds their edges to `count`.
Result<void> draw_arrows(const Bundles& bundles, const std::map<uint32_t, int64_t>& from_absent, Draw draw, Pen& pen,
                         int64_t& count) {
  for (const auto& [ends, edges] : bundles) {
    count += edges.count;
    const auto kind = static_cast<trace::EdgeKind>(edges.kind);
    const std::string from = key_of(ends.first), to = key_of(ends.second);
    const bool says_kind = edges.one_kind && kind != trace::EdgeKind::given;
    CHAKRA_TRY((pen.*draw)({from, to, says_kind ? trace::name(kind) : "", false, 0, edges.count}));
  }
  for (const auto& [p, edges] : from_absent) {
    count += edges;
    const std::string to = key_of(p);
    CHAKRA_TRY((pen.*draw)({"absent", to, "", false, 0, edges}));
  }
  return {};
}

}  // namespace

Result<GraphCounts> draw_groups(const Trace& t, const std::vector<char>& keep, const GraphOptions& options, Pen& pen) {
  Grouped g{t, grow_paths(t, keep), {}, {}};
  g.parts = divide(g.tree, std::max<size_t>(options.boxes, 2));
  g.part_of = parts_of_nodes(g.tree, g.parts);
  const Arrows arrows = bundle(g);
  const Absent absent = find_absent(g);

  GraphCounts counts;
  counts.inside = arrows.inside;
  counts.absent = static_cast<int64_t>(absent.ids.size());
  for (const auto* edges : {&absent.data, &absent.control})
    for (const auto& [part, number] : *edges) counts.to_absent += number;
  CHAKRA_TRY(draw_boxes(g, counts, pen));
  CHAKRA_TRY(draw_placeholder(absent, pen));
  CHAKRA_TRY(draw_arrows(arrows.data, absent.data, &Pen::data, pen, counts.data));
  CHAKRA_TRY(draw_arrows(arrows.control, absent.control, &Pen::control, pen, counts.control));
  return counts;
}

}  // namespace chakra::view
