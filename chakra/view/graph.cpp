// Trace -> boxes and arrows, one for each node and edge.
#include "chakra/view/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace chakra::view {
namespace {

using trace::Defect;
using trace::NodeId;
using trace::Trace;

constexpr size_t kHub = 32;           ///< edges of a node that a focus is not widened through
constexpr size_t kMostPassedOn = 32;  ///< nodes that a hidden node passes on to who waits for it

bool is_wanted(const Trace& t, NodeId n, Only only) {
  switch (only) {
    case Only::all: return true;
    case Only::comm: return trace::is_comm(t.type[n]);
    case Only::compute: return t.type[n] == trace::NodeType::comp && look_of(t, n) != Look::waiting;
    case Only::device: return t.on_device(n);
  }
  return true;
}

/// Keeps what is within `hops` edges of a node, along or against them. Nodes with many edges, as the callers of whole
/// phases have, are shown, but not walked through: all would be near. Gives how many those are.
int64_t keep_near(const Trace& t, NodeId focus, int64_t hops, std::vector<char>& keep) {
  int64_t hubs = 0;
  const trace::Edges waiting = trace::reversed(t.deps), called = trace::reversed(t.ctrl);
  std::vector<char> near(t.size(), 0);
  std::vector<NodeId> front{focus}, next;
  near[focus] = 1;
  for (; hops > 0 && !front.empty(); --hops) {
    next.clear();
    for (const NodeId n : front) {
      size_t degree = 0;
      for (const trace::Edges* edges : {&t.deps, &t.ctrl, &waiting, &called}) degree += edges->of(n).size();
      if (n != focus && degree > kHub) {
        ++hubs;
        continue;
      }
      for (const trace::Edges* edges : {&t.deps, &t.ctrl, &waiting, &called})
        for (const NodeId other : edges->of(n))
          if (!near[other]) near[other] = 1, next.push_back(other);
    }
    std::swap(front, next);
  }
  for (const NodeId n : t.nodes()) keep[n] = static_cast<char>(keep[n] && near[n]);
  return hubs;
}

/// What the shown nodes wait for through hidden ones, without what follows from other arrows: of a -> b -> c, a -> c is
/// left out.
class Indirect {
 public:
  Indirect(const Trace& t, const std::vector<char>& keep) : t_(t), keep_(keep) {
    sets_.push_back({});
    known_[{}] = 0;
    passed_.assign(t.size(), 0);
    waited_.resize(t.size());
    place_.assign(t.size(), 0);
    seen_.assign(t.size(), trace::kNoNode);
    const std::vector<NodeId> order = trace::topological_order(t.deps).order;
    for (uint32_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
    for (const NodeId n : order) {
      if (keep[n]) waited_[n] = arrows_to(n);
      else pass_on(n);
    }
    in_order_ = order.size() == t.size();
  }
  /// Ascending.
  std::vector<NodeId> of(NodeId n) { return without_direct(n, in_order_ ? waited_[n] : gather(n)); }
  int64_t cut() const { return cut_; }

 private:
  /// The shown nodes that a node waits for, through hidden ones and directly; ascending.
  std::vector<NodeId> gather(NodeId n) const {
    std::vector<NodeId> all;
    uint32_t last = 0;
    for (const NodeId on : t_.deps.of(n)) {
      if (keep_[on]) {
        all.push_back(on);
      } else if (passed_[on] != last) {
        last = passed_[on];
        all.insert(all.end(), sets_[last].begin(), sets_[last].end());
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  std::vector<NodeId> without_direct(NodeId n, std::vector<NodeId> all) const {
    const auto waited = t_.deps.of(n);
    std::erase_if(all, [&](NodeId on) { return std::find(waited.begin(), waited.end(), on) != waited.end(); });
    return all;
  }

  /// Edges of the trace stay, whatever follows from what.
  std::vector<NodeId> arrows_to(NodeId n) {
    std::vector<NodeId> all = gather(n);
    reduce(n, all);
    for (const NodeId on : t_.deps.of(n))
      if (keep_[on]) all.push_back(on);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void pass_on(NodeId n) {
    uint32_t only = 0;  // most hidden nodes pass on what one before them does
    bool several = false;
    for (const NodeId on : t_.deps.of(n)) {
      const uint32_t set = keep_[on] ? UINT32_MAX : passed_[on];
      if (set == 0 || set == only) continue;
      several |= only != 0 || set == UINT32_MAX;
      only = set;
    }
    if (!several) {
      passed_[n] = only;
      return;
    }
    std::vector<NodeId> all = gather(n);
    reduce(n, all);
    if (all.size() > kMostPassedOn) {
      cut_ += static_cast<int64_t>(all.size() - kMostPassedOn);
      all.erase(all.begin(), all.end() - static_cast<ptrdiff_t>(kMostPassedOn));
    }
    passed_[n] = number_of(std::move(all));
  }

  /// Drop those that others of them wait for, as far as a walk of bounded length finds it.
  void reduce(NodeId n, std::vector<NodeId>& all) {
    if (all.size() < 2) return;
    uint32_t first = UINT32_MAX;
    for (const NodeId on : all) first = std::min(first, place_[on]);
    std::vector<NodeId> open = all;
    size_t steps = 0;
    for (; !open.empty() && steps < kMostSteps; ++steps) {
      const NodeId at = open.back();
      open.pop_back();
      for (const NodeId before : waited_[at])
        if (place_[before] >= first && seen_[before] != n) {
          seen_[before] = n;
          open.push_back(before);
        }
    }
    std::erase_if(all, [&](NodeId on) { return seen_[on] == n; });
  }

  uint32_t number_of(std::vector<NodeId> set) {
    const auto [found, is_new] = known_.emplace(std::move(set), static_cast<uint32_t>(sets_.size()));
    if (is_new) sets_.push_back(found->first);
    return found->second;
  }

  static constexpr size_t kMostSteps = 10'000;

  const Trace& t_;
  const std::vector<char>& keep_;
  std::map<std::vector<NodeId>, uint32_t> known_;
  std::vector<std::vector<NodeId>> sets_;
  std::vector<uint32_t> passed_;             ///< of hidden nodes, into sets_
  std::vector<std::vector<NodeId>> waited_;  ///< of shown nodes: arrows to them, and edges
  std::vector<uint32_t> place_;              ///< in the order of dependencies
  std::vector<NodeId> seen_;                 ///< by shown node: whose reduction reached it last
  bool in_order_ = true;
  int64_t cut_ = 0;
};

/// The key of a box in a buffer of the caller's.
class Keys {
 public:
  explicit Keys(const Trace& t) : t_(t) {
    for (const Defect& defect : t.defects)
      if (defect.kind == Defect::Kind::duplicate_id) twice_.push_back(defect.node);
    std::sort(twice_.begin(), twice_.end());
  }
  std::string_view node(NodeId n, fmt::memory_buffer& to) const {
    to.clear();
    fmt::format_to(std::back_inserter(to), "n{}", t_.id[n]);
    if (!twice_.empty() && std::binary_search(twice_.begin(), twice_.end(), n))
      fmt::format_to(std::back_inserter(to), "_row{}", uint32_t{n});
    return {to.data(), to.size()};
  }
  static std::string_view absent(uint64_t id, fmt::memory_buffer& to) {
    to.clear();
    fmt::format_to(std::back_inserter(to), "absent{}", id);
    return {to.data(), to.size()};
  }

 private:
  const Trace& t_;
  std::vector<NodeId> twice_;  ///< nodes whose id another has, too
};

Result<void> draw_box(const Trace& t, NodeId n, std::string_view key, const std::vector<std::string>& lanes, bool focus,
                      Pen& pen) {
  Box box;
  box.key = key;
  box.name = t.name_of(n);
  box.type = trace::name(t.type[n]);
  if (t.lane[n] != trace::kNoLane) box.where = lanes[t.lane[n]];
  box.look = look_of(t, n);
  box.id = t.id[n];
  box.focus = focus;
  box.dur_ps = t.dur_ps[n];
  box.has_start = t.has_start(n);
  box.start_ps = t.start_ps[n];
  if (const trace::Comm* comm = t.comm(n); comm && trace::is_comm(t.type[n])) {
    const bool sends = t.type[n] == trace::NodeType::send;
    box.bytes = comm->bytes;
    box.group = t.strings[comm->group];
    if (t.type[n] == trace::NodeType::coll) {
      box.comm = trace::name(comm->type);
    } else {
      box.comm = sends ? "SEND" : "RECV";
      box.peer = sends ? comm->dst : comm->src;
    }
  } else if (!t.tensor_bytes.empty() && box.look == Look::memory) {
    box.bytes = t.tensor_bytes[n];
  }
  return pen.box(box);
}

/// A figure with a box for each kept node and an arrow for each edge between two of them.
class NodePicture {
 public:
  NodePicture(const Trace& t, const std::vector<char>& keep, Pen& pen) : t_(t), keep_(keep), pen_(pen), keys_(t) {}

  Result<void> boxes(NodeId focus) {
    std::vector<std::string> lanes;
    for (const trace::Lane& lane : t_.lanes) lanes.push_back(name_of(lane));
    for (const NodeId n : t_.nodes()) {
      if (!keep_[n]) continue;
      ++counts_.boxes;
      CHAKRA_TRY(draw_box(t_, n, keys_.node(n, one_), lanes, n == focus, pen_));
    }
    return {};
  }

  /// A placeholder for each node that an edge names and the file does not have.
  Result<void> absent_boxes() {
    std::vector<uint64_t> absent;
    for (const Defect& d : t_.defects)
      if (keep_[d.node] && (d.kind == Defect::Kind::dangling_dep || d.kind == Defect::Kind::dangling_ctrl))
        absent.push_back(d.id);
    std::sort(absent.begin(), absent.end());
    absent.erase(std::unique(absent.begin(), absent.end()), absent.end());
    counts_.absent = static_cast<int64_t>(absent.size());
    for (const uint64_t id : absent) {
      Box box;
      box.key = Keys::absent(id, one_);
      box.id = id;
      const std::string name = fmt::format("node {}", id);
      box.name = name;
      box.type = "ABSENT";
      box.look = Look::absent;
      CHAKRA_TRY(pen_.box(box));
    }
    return {};
  }

  Result<void> data_arrows() {
    for (const NodeId n : t_.nodes()) {
      if (!keep_[n]) continue;
      for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e) {
        if (!keep_[t_.deps.node[e]]) continue;
        ++counts_.data;
        const uint8_t kind = t_.deps.kind[e];
        CHAKRA_TRY(pen_.data({keys_.node(t_.deps.node[e], one_), keys_.node(n, two_),
                              trace::kind_of(kind) == trace::EdgeKind::given ? "" : trace::name(trace::kind_of(kind)),
                              (kind & trace::kInferred) != 0, t_.deps.lag_of(e)}));
      }
    }
    return {};
  }

  Result<void> indirect_arrows(Findings& findings) {
    Indirect indirect(t_, keep_);
    for (const NodeId n : t_.nodes()) {
      if (!keep_[n]) continue;
      for (const NodeId on : indirect.of(n)) {
        ++counts_.indirect;
        CHAKRA_TRY(pen_.data({keys_.node(on, one_), keys_.node(n, two_), "indirect"}));
      }
    }
    if (indirect.cut() > 0)
      findings.push_back({"view.graph.cut", Severity::note, t_.rank, -1,
                          fmt::format("a hidden node passes at most {} dependencies on to its dependents; {} were left "
                                      "out, so indirect edges are missing",
                                      kMostPassedOn, show_count(indirect.cut()))});
    return {};
  }

  Result<void> arrows_to_self() {
    for (const Defect& d : t_.defects) {
      if (d.kind != Defect::Kind::self_dep || !keep_[d.node]) continue;
      ++counts_.data;
      const std::string_view key = keys_.node(d.node, one_);
      CHAKRA_TRY(pen_.data({key, key, ""}));
    }
    return {};
  }

  Result<void> control_arrows() {
    for (const NodeId n : t_.nodes()) {
      if (!keep_[n]) continue;
      for (const NodeId caller : t_.ctrl.of(n)) {
        if (!keep_[caller]) continue;
        ++counts_.control;
        CHAKRA_TRY(pen_.control({keys_.node(caller, one_), keys_.node(n, two_), ""}));
      }
    }
    return {};
  }

  /// `kind`: dangling_dep or dangling_ctrl.
  Result<void> arrows_from_absent(Defect::Kind kind) {
    const bool is_data = kind == Defect::Kind::dangling_dep;
    for (const Defect& d : t_.defects) {
      if (d.kind != kind || !keep_[d.node]) continue;
      ++counts_.to_absent;
      ++(is_data ? counts_.data : counts_.control);
      const Arrow arrow{Keys::absent(d.id, one_), keys_.node(d.node, two_), ""};
      CHAKRA_TRY(is_data ? pen_.data(arrow) : pen_.control(arrow));
    }
    return {};
  }

  const GraphCounts& counts() const { return counts_; }

 private:
  const Trace& t_;
  const std::vector<char>& keep_;
  Pen& pen_;
  Keys keys_;
  fmt::memory_buffer one_, two_;  ///< keys
  GraphCounts counts_;
};

/// The pen wants boxes first, then data arrows, then control arrows.
Result<GraphCounts> draw_nodes(const Trace& t, const std::vector<char>& keep, const GraphOptions& options, NodeId focus,
                               Pen& pen, Findings& findings) {
  NodePicture picture(t, keep, pen);
  CHAKRA_TRY(picture.boxes(focus));
  CHAKRA_TRY(picture.absent_boxes());
  CHAKRA_TRY(picture.data_arrows());
  if (options.only != Only::all && !options.focus) CHAKRA_TRY(picture.indirect_arrows(findings));
  CHAKRA_TRY(picture.arrows_to_self());
  CHAKRA_TRY(picture.arrows_from_absent(Defect::Kind::dangling_dep));
  CHAKRA_TRY(picture.control_arrows());
  CHAKRA_TRY(picture.arrows_from_absent(Defect::Kind::dangling_ctrl));
  return picture.counts();
}

}  // namespace

Look look_of(const Trace& t, NodeId n) {
  switch (t.type[n]) {
    case trace::NodeType::send:
    case trace::NodeType::recv:
    case trace::NodeType::coll: return Look::comm;
    case trace::NodeType::mem_load:
    case trace::NodeType::mem_store: return Look::memory;
    case trace::NodeType::metadata: return Look::metadata;
    default: break;
  }
  const std::string_view name = t.name_of(n);
  if (name == trace::kHostGap || name == trace::kSyncRemainder || name == trace::kInitialCondition ||
      name == trace::kUnrecorded)
    return Look::waiting;
  return t.on_device(n) || !(t.flags[n] & trace::kOnCpu) ? Look::compute : Look::host;
}

std::string name_of(const trace::Lane& lane) {
  return lane.kind == trace::Lane::Kind::thread ? fmt::format("thread {}", lane.index)
                                                : fmt::format("device {} stream {}", lane.process, lane.index);
}

Result<GraphCounts> draw(const Trace& t, const GraphOptions& options, Pen pen, Findings& findings) {
  std::vector<char> keep(t.size(), 0);
  for (const NodeId n : t.nodes()) keep[n] = is_wanted(t, n, options.only);
  NodeId focus = trace::kNoNode;
  if (options.focus) {
    const size_t found = t.id.find(*options.focus);
    if (found == t.id.size())
      return fail(Code::usage, "view.graph.focus", fmt::format("--focus: the trace has no node {}", *options.focus),
                  {t.file});
    focus = NodeId(found);
    keep[focus] = 1;
    if (const int64_t hubs = keep_near(t, focus, options.hops, keep); hubs > 0)
      findings.push_back(
          {"view.graph.hub", Severity::note, t.rank, -1,
           fmt::format("{} near it ha{} more than {} edges and {} shown without further neighbours",
                       show_count(hubs, "node"), hubs == 1 ? "s" : "ve", kHub, hubs == 1 ? "is" : "are")});
  }
  pen.begin(fmt::format("{}: rank {}", t.file, t.rank));
  CHAKRA_ASSIGN(const GraphCounts counts, options.group ? draw_groups(t, keep, options, pen)
                                                        : draw_nodes(t, keep, options, focus, pen, findings));
  CHAKRA_TRY(pen.end());
  return counts;
}

}  // namespace chakra::view
