// Many nodes as few boxes. Each node has a path: its lane, then the names of what called it from the outside in, down
// to the first operator; where nothing called it, the parts of its own name ("layer3.mlp.up"). Numbers in names are
// left out, so that what repeats is one. The paths form a tree; we begin with a box for each lane and open the heaviest
// box (by time and number of nodes) as long as there may be more boxes.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "chakra/view/graph.h"

namespace chakra::view {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kDeepest = 24;      ///< callers that are looked at
constexpr double kTooSmall = 0.002;  ///< of time and nodes: not opened

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Template arguments and parameters of a C++ name left out: "void at::f<float>(int)" is "at::f".
std::string_view without_arguments(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  else if (name.find("::") == std::string_view::npos) return name;
  const size_t end = name.find_first_of("<(");
  return end == std::string_view::npos || end == 0 || name.starts_with("(anonymous") ? name : name.substr(0, end);
}

/// Numbers at the end of a word are left out: "ProfilerStep#4" is "ProfilerStep#*", "conv2d" stays.
std::string pattern_of(std::string_view name) {
  name = without_arguments(name);
  std::string out;
  for (size_t at = 0; at < name.size();) {
    if (!is_digit(name[at])) {
      out += name[at++];
      continue;
    }
    size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool ends_word = end == name.size() || name[end] == '.' || name[end] == ']' || name[end] == '/' ||
                           name[end] == ' ' || name[end] == ':';
    const bool follows = at == 0 || name[at - 1] != '.' || out.empty() || !is_digit(out.back());
    if (ends_word && follows) out += '*';
    else out += name.substr(at, end - at);
    at = end;
  }
  return out;
}

/// An operator, kernel or call rather than a module or a phase.
bool is_operator(std::string_view name) { return name.find("::") != std::string_view::npos; }

struct Branch {
  uint32_t parent = kNone;
  StringId pattern = 0;
  StringId name = 0;     ///< the first of its names
  bool several = false;  ///< names differ
  bool is_operator = false;
  int64_t own = 0;    ///< nodes that are this and nothing below it
  int64_t count = 0;  ///< all below included
  double time = 0;
  double weight = 0;
  std::vector<uint32_t> children;
};

/// A box: branches with all below them, and the nodes of one branch without what is below it.
struct Part {
  std::vector<uint32_t> branches;
  uint32_t own = kNone;
  double weight = 0;

  bool others() const { return branches.size() + (own != kNone) > 1; }
  uint32_t first() const { return branches.empty() ? own : branches[0]; }
};

class Grouping {
 public:
  Grouping(const Trace& t, const std::vector<char>& keep, const GraphOptions& options, Pen& pen)
      : t_(t), keep_(keep), most_(std::max<size_t>(options.boxes, 2)), pen_(pen) {}

  Result<GraphCounts> run() {
    plant();
    weigh();
    divide();
    assign();
    return draw();
  }

 private:
  uint32_t child(uint32_t parent, std::string_view pattern, std::string_view name) {
    const StringId id = strings_.intern(pattern), raw = strings_.intern(name);
    const auto [found, is_new] = known_.emplace(std::pair(parent, id), static_cast<uint32_t>(tree_.size()));
    if (is_new) {
      Branch branch;
      branch.parent = parent;
      branch.pattern = id;
      branch.name = raw;
      branch.is_operator = is_operator(name);
      tree_.push_back(std::move(branch));
      if (parent != kNone) tree_[parent].children.push_back(found->second);
      else roots_.push_back(found->second);
    }
    tree_[found->second].several |= tree_[found->second].name != raw;
    return found->second;
  }
  uint32_t child(uint32_t parent, std::string_view name) { return child(parent, pattern_of(name), name); }

  std::string lane_of(NodeId n) const {
    if (t_.lane[n] != trace::kNoLane) return name_of(t_.lanes[t_.lane[n]]);
    switch (look_of(t_, n)) {
      case Look::comm: return "communication";
      case Look::memory: return "memory";
      case Look::metadata: return "metadata";
      case Look::compute: return "compute";
      default: return "host";
    }
  }

  /// The node's own name as the end of its path.
  uint32_t leaf(uint32_t at, std::string_view name, bool called) {
    if (!called && name.find_first_of(": (<[") == std::string_view::npos) {
      for (size_t from = 0; from < name.size();) {
        const size_t end = std::min(name.find('.', from), name.size());
        if (end > from) at = child(at, name.substr(from, end - from));
        from = end + 1;
      }
      return at;
    }
    return child(at, name);
  }

  void plant() {
    branch_.assign(t_.size(), kNone);
    std::vector<NodeId> callers;
    for (NodeId n = 0; n < t_.size(); ++n) {
      if (!keep_[n]) continue;
      callers.clear();
      NodeId whole = n;
      for (size_t i = 0; i < kDeepest && t_.part_of[whole] != trace::kNoNode && t_.part_of[whole] != whole; ++i)
        whole = t_.part_of[whole];
      NodeId at = whole;
      while (callers.size() < kDeepest && !t_.ctrl.of(at).empty()) {
        at = t_.ctrl.of(at)[0];
        if (at == whole) break;
        callers.push_back(at);
      }
      uint32_t branch = child(kNone, lane_of(n), lane_of(n));
      bool done = false;
      for (size_t i = callers.size(); i-- > 0 && !done;) {
        const std::string_view name = t_.name_of(callers[i]);
        if (name.starts_with("[pytorch|profiler|")) continue;  // the roots of process and thread
        branch = child(branch, name);
        done = is_operator(name);
      }
      if (!done) branch = leaf(branch, t_.name_of(whole), !callers.empty());
      branch_[n] = branch;
      ++tree_[branch].own;
      tree_[branch].time += static_cast<double>(t_.dur_ps[n]);
    }
  }

  void weigh() {
    double time = 0, count = 0;
    for (const Branch& b : tree_) time += b.time, count += static_cast<double>(b.own);
    for (size_t b = tree_.size(); b-- > 0;) {  // children stand behind their parents
      Branch& branch = tree_[b];
      branch.count += branch.own;
      branch.weight = (time > 0 ? branch.time / time : 0) + static_cast<double>(branch.count) / std::max(count, 1.0);
      if (branch.parent == kNone) continue;
      tree_[branch.parent].count += branch.count;
      tree_[branch.parent].time += branch.time;
    }
  }

  Part part_of(uint32_t branch) const { return {{branch}, kNone, tree_[branch].weight}; }

  /// The heaviest of them, and the others together, so that there are at most `most`.
  std::vector<Part> heaviest(std::vector<Part> parts, size_t most) const {
    if (parts.size() <= most) return parts;
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.weight > b.weight; });
    Part others;
    for (size_t i = most - 1; i < parts.size(); ++i) {
      others.weight += parts[i].weight;
      if (parts[i].own != kNone) others.own = parts[i].own;
      others.branches.insert(others.branches.end(), parts[i].branches.begin(), parts[i].branches.end());
    }
    parts.resize(most - 1);
    parts.push_back(std::move(others));
    return parts;
  }

  void divide() {
    std::vector<Part> lanes;
    for (const uint32_t root : roots_) lanes.push_back(part_of(root));
    parts_ = heaviest(std::move(lanes), most_);
    for (;;) {
      size_t best = parts_.size();
      for (size_t p = 0; p < parts_.size(); ++p)
        if (can_open(parts_[p]) && (best == parts_.size() || parts_[p].weight > parts_[best].weight)) best = p;
      if (best == parts_.size()) return;
      const uint32_t branch = parts_[best].first();
      std::vector<Part> pieces;
      if (tree_[branch].own > 0) {
        double below = 0;
        for (const uint32_t c : tree_[branch].children) below += tree_[c].weight;
        pieces.push_back({{}, branch, std::max(0.0, tree_[branch].weight - below)});
      }
      for (const uint32_t c : tree_[branch].children) pieces.push_back(part_of(c));
      const size_t room = most_ - parts_.size() + 1;
      if (pieces.size() > room && room < 3) {
        closed_.push_back(branch);
        continue;
      }
      pieces = heaviest(std::move(pieces), std::min(room, std::max<size_t>(3, most_ / 3)));
      parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(best));
      parts_.insert(parts_.begin() + static_cast<ptrdiff_t>(best), pieces.begin(), pieces.end());
    }
  }

  bool can_open(const Part& part) const {
    return part.branches.size() == 1 && part.own == kNone && part.weight > kTooSmall &&
           !tree_[part.first()].children.empty() &&
           std::find(closed_.begin(), closed_.end(), part.first()) == closed_.end();
  }

  void assign() {
    std::vector<uint32_t> whole(tree_.size(), kNone), own(tree_.size(), kNone);
    for (uint32_t p = 0; p < parts_.size(); ++p) {
      for (const uint32_t b : parts_[p].branches) whole[b] = p;
      if (parts_[p].own != kNone) own[parts_[p].own] = p;
    }
    for (uint32_t b = 0; b < tree_.size(); ++b)  // parents stand before their children
      if (whole[b] == kNone && tree_[b].parent != kNone) whole[b] = whole[tree_[b].parent];
    part_of_.assign(t_.size(), kNone);
    for (NodeId n = 0; n < t_.size(); ++n) {
      if (branch_[n] == kNone) continue;
      const uint32_t b = branch_[n];
      part_of_[n] = own[b] != kNone ? own[b] : whole[b];
    }
  }
  std::string shown(uint32_t b) const {
    const Branch& branch = tree_[b];
    std::string name(branch.several ? strings_[branch.pattern] : without_arguments(strings_[branch.name]));
    // What the box is about comes first.
    constexpr std::string_view kAutograd = "autograd::engine::evaluate_function: ";
    return name.starts_with(kAutograd) ? "autograd: " + name.substr(kAutograd.size()) : name;
  }

  uint32_t root_of(uint32_t b) const {
    while (tree_[b].parent != kNone) b = tree_[b].parent;
    return b;
  }

  struct Sum {
    int64_t count = 0;
    Picoseconds time = 0;
    uint64_t bytes = 0;
    NodeId first = trace::kNoNode;
    std::array<int64_t, 7> looks{};
  };

  Result<GraphCounts> draw() {
    std::vector<Sum> sums(parts_.size());
    for (NodeId n = 0; n < t_.size(); ++n) {
      if (part_of_[n] == kNone) continue;
      Sum& sum = sums[part_of_[n]];
      ++sum.count;
      sum.time = add_saturated(sum.time, t_.dur_ps[n]);
      if (const trace::Comm* comm = t_.comm(n); comm && trace::is_comm(t_.type[n]))
        sum.bytes = sum.bytes > UINT64_MAX - comm->bytes ? UINT64_MAX : sum.bytes + comm->bytes;
      if (sum.first == trace::kNoNode) sum.first = n;
      ++sum.looks[static_cast<size_t>(look_of(t_, n))];
    }
    GraphCounts counts;
    // Lane by lane, in the order of the trace.
    std::map<uint32_t, std::vector<uint32_t>> by_lane;
    for (uint32_t p = 0; p < parts_.size(); ++p) {
      if (sums[p].count == 0) continue;
      const bool several_lanes = parts_[p].others() && tree_[parts_[p].first()].parent == kNone;
      by_lane[several_lanes ? kNone : root_of(parts_[p].first())].push_back(p);
    }
    for (auto& [lane, parts] : by_lane) {
      CHAKRA_TRY(pen_.cluster(lane == kNone ? "" : shown(lane)));
      for (const uint32_t p : parts) {
        ++counts.boxes;
        CHAKRA_TRY(draw_box(p, sums[p]));
      }
    }
    CHAKRA_TRY(pen_.cluster(""));
    CHAKRA_TRY(draw_arrows(counts));
    return counts;
  }

  Result<void> draw_box(uint32_t p, const Sum& sum) {
    const Part& part = parts_[p];
    const uint32_t b = part.first();
    std::string name = shown(b), in;
    Box box;
    if (part.others()) name = fmt::format("{} others", part.branches.size() + (part.own != kNone));
    else if (part.own != kNone) name += " itself";
    std::vector<std::string> path;
    for (uint32_t at = tree_[b].parent; at != kNone && tree_[at].parent != kNone; at = tree_[at].parent)
      path.push_back(shown(at));
    for (size_t i = path.size(); i-- > 0;) in += (in.empty() ? "" : " / ") + path[i];
    const std::string key = fmt::format("g{}", p);
    box.key = key;
    box.name = name;
    box.in = in;
    const std::string where = shown(root_of(b));
    if (tree_[b].parent != kNone) box.where = where;
    box.id = t_.id[sum.first];
    box.count = sum.count;
    box.dur_ps = sum.time;
    box.bytes = sum.bytes;
    box.look = static_cast<Look>(std::max_element(sum.looks.begin(), sum.looks.end()) - sum.looks.begin());
    return pen_.box(box);
  }

  Result<void> draw_arrows(GraphCounts& counts) {
    using Ends = std::pair<uint32_t, uint32_t>;
    struct Edges {
      int64_t count = 0;
      uint8_t kind = 0;
      bool one_kind = true;
    };
    std::map<Ends, Edges> data, control;
    const auto add = [&](std::map<Ends, Edges>& to, NodeId from, NodeId n, uint8_t kind) {
      const uint32_t a = part_of_[from], b = part_of_[n];
      if (a == kNone || b == kNone) return;
      if (a == b) {
        ++counts.inside;
        return;
      }
      Edges& edges = to[{a, b}];
      if (edges.count++ == 0) edges.kind = kind;
      edges.one_kind &= edges.kind == kind;
    };
    for (NodeId n = 0; n < t_.size(); ++n) {
      for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e)
        add(data, t_.deps.node[e], n, t_.deps.kind[e] & 0x7f);
      for (const NodeId caller : t_.ctrl.of(n)) add(control, caller, n, 0);
    }
    std::map<uint64_t, std::array<std::map<uint32_t, int64_t>, 2>> absent;  // id -> data, control: part -> edges
    for (const trace::Defect& d : t_.defects) {
      const bool is_data = d.kind == trace::Defect::Kind::dangling_dep;
      if ((!is_data && d.kind != trace::Defect::Kind::dangling_ctrl) || part_of_[d.node] == kNone) continue;
      ++absent[d.id][is_data ? 0 : 1][part_of_[d.node]];
      ++counts.to_absent;
    }
    counts.absent = static_cast<int64_t>(absent.size());
    // One placeholder for all: a picture of some dozens of boxes has no room for a thousand of them.
    std::array<std::map<uint32_t, int64_t>, 2> to_absent;
    for (const auto& [id, both] : absent)
      for (size_t k = 0; k < 2; ++k)
        for (const auto& [p, edges] : both[k]) to_absent[k][p] += edges;
    if (!absent.empty()) {
      const std::string name = absent.size() == 1 ? fmt::format("node {}", absent.begin()->first)
                                                  : fmt::format("{} nodes", show_count(counts.absent));
      Box box;
      box.key = "absent";
      box.name = name;
      box.type = "ABSENT";
      box.look = Look::absent;
      box.id = absent.begin()->first;
      CHAKRA_TRY(pen_.box(box));
    }
    const auto key = [](uint32_t p) { return fmt::format("g{}", p); };
    for (const auto& [ends, edges] : data) {
      counts.data += edges.count;
      const auto kind = static_cast<trace::EdgeKind>(edges.kind);
      const std::string from = key(ends.first), to = key(ends.second);
      CHAKRA_TRY(pen_.data({from, to, edges.one_kind && kind != trace::EdgeKind::given ? trace::name(kind) : "", false,
                            0, edges.count}));
    }
    for (const auto& [p, edges] : to_absent[0]) {
      counts.data += edges;
      const std::string to = key(p);
      CHAKRA_TRY(pen_.data({"absent", to, "", false, 0, edges}));
    }
    for (const auto& [ends, edges] : control) {
      counts.control += edges.count;
      const std::string from = key(ends.first), to = key(ends.second);
      CHAKRA_TRY(pen_.control({from, to, "", false, 0, edges.count}));
    }
    for (const auto& [p, edges] : to_absent[1]) {
      counts.control += edges;
      const std::string to = key(p);
      CHAKRA_TRY(pen_.control({"absent", to, "", false, 0, edges}));
    }
    return {};
  }

  const Trace& t_;
  const std::vector<char>& keep_;
  const size_t most_;
  Pen& pen_;
  StringPool strings_;
  std::map<std::pair<uint32_t, StringId>, uint32_t> known_;
  std::vector<Branch> tree_;
  std::vector<uint32_t> roots_;
  std::vector<uint32_t> branch_;  ///< per node, into tree_
  std::vector<Part> parts_;
  std::vector<uint32_t> closed_;   ///< branches that there was no room to open
  std::vector<uint32_t> part_of_;  ///< per node, into parts_
};

}  // namespace

Result<GraphCounts> draw_groups(const Trace& t, const std::vector<char>& keep, const GraphOptions& options, Pen& pen) {
  return Grouping(t, keep, options, pen).run();
}

}  // namespace chakra::view
