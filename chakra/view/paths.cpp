#include "chakra/view/paths.h"

#include <algorithm>
#include <map>
#include <utility>

#include "chakra/view/graph.h"

namespace chakra::view {
namespace {

using trace::NodeId;
using trace::Trace;

constexpr size_t kDeepest = 24;  ///< callers that are looked at

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

std::string lane_of(const Trace& t, NodeId n) {
  if (t.lane[n] != trace::kNoLane) return name_of(t.lanes[t.lane[n]]);
  switch (look_of(t, n)) {
    case Look::comm: return "communication";
    case Look::memory: return "memory";
    case Look::metadata: return "metadata";
    case Look::compute: return "compute";
    default: return "host";
  }
}

/// The node that a node is a continuation of, or it.
NodeId whole_of(const Trace& t, NodeId n) {
  for (size_t i = 0; i < kDeepest && t.part_of[n] != trace::kNoNode && t.part_of[n] != n; ++i) n = t.part_of[n];
  return n;
}

/// From the inside out.
std::vector<NodeId> callers_of(const Trace& t, NodeId n) {
  std::vector<NodeId> callers;
  NodeId at = n;
  while (callers.size() < kDeepest && !t.ctrl.of(at).empty()) {
    at = t.ctrl.of(at)[0];
    if (at == n) break;
    callers.push_back(at);
  }
  return callers;
}

class Planter {
 public:
  explicit Planter(PathTree& tree) : tree_(tree) {}

  /// The end of a node's path.
  uint32_t plant(const Trace& t, NodeId n) {
    const NodeId whole = whole_of(t, n);
    const std::vector<NodeId> callers = callers_of(t, whole);
    const std::string lane = lane_of(t, n);
    uint32_t branch = child(kNone, lane, lane);
    for (size_t i = callers.size(); i-- > 0;) {
      const std::string_view name = t.name_of(callers[i]);
      if (name.starts_with("[pytorch|profiler|")) continue;  // the roots of process and thread
      branch = child(branch, name);
      if (is_operator(name)) return branch;
    }
    return leaf(branch, t.name_of(whole), !callers.empty());
  }

 private:
  uint32_t child(uint32_t parent, std::string_view pattern, std::string_view name) {
    std::vector<Branch>& branches = tree_.branches;
    const StringId id = tree_.strings.intern(pattern), raw = tree_.strings.intern(name);
    const auto [found, is_new] = known_.emplace(std::pair(parent, id), static_cast<uint32_t>(branches.size()));
    if (is_new) {
      Branch branch;
      branch.parent = parent;
      branch.pattern = id;
      branch.name = raw;
      branches.push_back(std::move(branch));
      (parent != kNone ? branches[parent].children : tree_.roots).push_back(found->second);
    }
    branches[found->second].several |= branches[found->second].name != raw;
    return found->second;
  }
  uint32_t child(uint32_t parent, std::string_view name) { return child(parent, pattern_of(name), name); }

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

  PathTree& tree_;
  std::map<std::pair<uint32_t, StringId>, uint32_t> known_;
};

/// Sums up from the ends of the paths.
void weigh(std::vector<Branch>& branches) {
  double time = 0, count = 0;
  for (const Branch& b : branches) time += b.time, count += static_cast<double>(b.own);
  for (size_t b = branches.size(); b-- > 0;) {  // children stand behind their parents
    Branch& branch = branches[b];
    branch.count += branch.own;
    branch.weight = (time > 0 ? branch.time / time : 0) + static_cast<double>(branch.count) / std::max(count, 1.0);
    if (branch.parent == kNone) continue;
    branches[branch.parent].count += branch.count;
    branches[branch.parent].time += branch.time;
  }
}

}  // namespace

uint32_t PathTree::root_of(uint32_t branch) const {
  while (branches[branch].parent != kNone) branch = branches[branch].parent;
  return branch;
}

std::string PathTree::shown(uint32_t b) const {
  const Branch& branch = branches[b];
  std::string name(branch.several ? strings[branch.pattern] : without_arguments(strings[branch.name]));
  // What the box is about comes first.
  constexpr std::string_view kAutograd = "autograd::engine::evaluate_function: ";
  return name.starts_with(kAutograd) ? "autograd: " + name.substr(kAutograd.size()) : name;
}

PathTree grow_paths(const Trace& trace, const std::vector<char>& keep) {
  PathTree tree;
  tree.branch_of.assign(trace.size(), kNone);
  Planter planter(tree);
  for (const NodeId n : trace.nodes()) {
    if (!keep[n]) continue;
    tree.branch_of[n] = planter.plant(trace, n);
    Branch& branch = tree.branches[tree.branch_of[n]];
    ++branch.own;
    branch.time += static_cast<double>(trace.dur_ps[n]);
  }
  weigh(tree.branches);
  return tree;
}

}  // namespace chakra::view
