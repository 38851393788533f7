// Nodes, lags, transfers and tiers take another time, or are gone.
#include <algorithm>
#include <array>
#include <span>

#include "chakra/base/times.h"
#include "chakra/recorded/recorded.h"
#include "chakra/trace/roles.h"
#include "chakra/whatif/nodes.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// Per rank and row of Trace::comms.
using Marks = std::vector<std::vector<char>>;

const match::Matching& matching_of(sim::SimInput& input) {
  if (!input.matching) input.matching = match::match(input.job, input.groups);
  return *input.matching;
}

/// Who takes part in a collective or a message that is marked anywhere is marked.
void mark_partners(sim::SimInput& input, Marks& marks) {
  const match::Matching& matching = matching_of(input);
  const auto row = [&](const match::NodeRef& ref) -> char* {
    if (ref.node == trace::kNoNode) return nullptr;
    return &marks[ref.rank][input.job.ranks[ref.rank].comm_row[ref.node]];
  };
  for (const match::Collective& c : matching.collectives) {
    const bool any =
        std::any_of(c.members.begin(), c.members.end(), [&](const auto& ref) { return row(ref) && *row(ref); });
    for (const match::NodeRef& ref : c.members)
      if (any && row(ref)) *row(ref) = 1;
  }
  for (const match::Message& m : matching.messages) {
    const bool any = (row(m.send) && *row(m.send)) || (row(m.recv) && *row(m.recv));
    for (const match::NodeRef& ref : {m.send, m.recv})
      if (any && row(ref)) *row(ref) = 1;
  }
}

bool any_mark(const Marks& marks) {
  return std::any_of(marks.begin(), marks.end(),
                     [](const std::vector<char>& row) { return std::find(row.begin(), row.end(), 1) != row.end(); });
}

Marks no_marks(const trace::TraceSet& job) {
  Marks marks;
  for (const Trace& t : job.ranks) marks.emplace_back(t.comms.size(), 0);
  return marks;
}

/// Whether the selector is for the communication node.
class CommFilter {
 public:
  CommFilter(sim::SimInput& input, const Selector& selector) : selector_(selector) {
    if (!selector.group) return;
    matching_ = &matching_of(input);
    const trace::GroupRoles roles(input.job);
    for (const match::Group& group : matching_->groups) {
      const trace::Role role = roles.of(group.name);
      groups_.push_back(recorded::matches_pattern(*selector.group, group.name) ||
                        (role != trace::Role::unknown && trace::name(role) == *selector.group));
    }
  }
  bool takes(const Trace& t, size_t rank, NodeId n, Kind kind) const {
    if (!(selector_.kinds & bit(kind))) return false;
    if (kind != Kind::collective) return true;
    const trace::Comm& comm = *t.comm(n);
    if (selector_.type && comm.type != *selector_.type) return false;
    if (!matching_) return true;
    const uint32_t id = matching_->of_comm[rank][t.comm_row[n]];
    return id != trace::kNoRow && groups_[matching_->collectives[id].group];
  }

 private:
  const Selector& selector_;
  const match::Matching* matching_ = nullptr;
  std::vector<char> groups_;  ///< of the matching: whether name or role is the selector's
};

/// Whether the selector is for a node that does not communicate.
class NodeFilter {
 public:
  NodeFilter(const Trace& t, const Selector& selector) : selector_(selector) {
    if (selector.works != 0) works_.emplace(t);
  }
  bool takes(NodeId n, Kind kind) const {
    if (!(selector_.kinds & bit(kind))) return false;
    return kind != Kind::compute || !works_ || (selector_.works & bit(works_->of(n)));
  }

 private:
  const Selector& selector_;
  std::optional<NodeWorks> works_;
};

void scale_row(sim::SimInput& input, size_t rank, size_t row, double factor) {
  if (input.transfers && input.transfers->rows[rank][row].known())
    return input.transfers->rows[rank][row].scale(factor);
  if (input.transfer_factors.empty())
    for (const Trace& t : input.job.ranks) input.transfer_factors.emplace_back(t.comms.size(), 1);
  input.transfer_factors[rank][row] *= factor;
}

/// Each collective and message that is marked anywhere takes the next factor of its time, on all its ranks.
template <class Next>
void scale_marked(sim::SimInput& input, const Marks& marks, const Next& next) {
  const auto scale = [&](std::span<const match::NodeRef> refs) {
    const auto row = [&](const match::NodeRef& ref) { return input.job.ranks[ref.rank].comm_row[ref.node]; };
    if (std::none_of(refs.begin(), refs.end(), [&](const match::NodeRef& ref) {
          return ref.node != trace::kNoNode && marks[ref.rank][row(ref)];
        }))
      return;
    const double factor = next();
    for (const match::NodeRef& ref : refs)
      if (ref.node != trace::kNoNode && factor != 1) scale_row(input, ref.rank, row(ref), factor);
  };
  const match::Matching& matching = matching_of(input);
  for (const match::Collective& c : matching.collectives) scale(c.members);
  for (const match::Message& m : matching.messages) scale(std::array{m.send, m.recv});
}

Picoseconds time_of(const sim::SimInput& input, size_t rank, const Trace& t, NodeId n) {
  if (!trace::is_comm(t.type[n])) return t.dur_ps[n];
  if (!input.transfers) return 0;
  const sim::Transfers::Row* const row = input.transfers->find(static_cast<uint32_t>(rank), t.comm_row[n]);
  return row ? row->transfer_ps : 0;
}

void count(Reached& reached, Picoseconds time) {
  ++reached.nodes;
  reached.time_ps = add_saturated(reached.time_ps, time);
}

/// Lags for which visit(edge, lag) gives another one.
template <class Visit>
void change_lags(Trace& t, const Visit& visit) {
  std::vector<std::pair<uint32_t, Picoseconds>> lags;
  for (uint32_t e = 0; e < t.deps.node.size(); ++e)
    if (const Picoseconds lag = t.deps.lag_of(e); lag != 0)
      if (const Picoseconds changed = visit(e, lag); changed != 0) lags.emplace_back(e, changed);
  t.deps.lag = trace::Lags(t.deps.node.size(), lags);
}

void scale_tiers(sim::SimInput& input, double factor) {
  for (device::Tier& tier : input.system.tiers) {
    tier.bytes_per_s /= factor;
    tier.latency_ps = times(tier.latency_ps, factor);
  }
}

/// The nodes that takes(trace, rank, node, kind) names take next() of their time; what tiers move has next() of its
/// bytes.
template <class Takes, class Next>
Reached scale_nodes(sim::SimInput& input, const Next& next, const Takes& takes) {
  Reached reached;
  Marks marks = no_marks(input.job);
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    Trace& t = input.job.ranks[r];
    const NodeKinds kinds(t, &input.system);
    std::vector<std::pair<NodeId, double>> moves;
    for (const NodeId n : t.nodes()) {
      const std::optional<Kind> kind = kinds.of(n);
      if (!kind || !takes(t, r, n, *kind)) continue;
      count(reached, time_of(input, r, t, n));
      if (trace::is_comm(t.type[n])) marks[r][t.comm_row[n]] = 1;
      else if (const double factor = next(); factor == 1) continue;
      else if (*kind == Kind::storage) moves.emplace_back(n, factor);
      else t.dur_ps.edit(n) = times(t.dur_ps[n], factor);
    }
    scale_moves(t, moves);
  }
  if (any_mark(marks)) scale_marked(input, marks, next);
  return reached;
}

}  // namespace

Reached scale_each(sim::SimInput& input, const Selector& selector, const std::function<double()>& next) {
  const CommFilter comms(input, selector);
  std::vector<NodeFilter> nodes;
  for (const Trace& t : input.job.ranks) nodes.emplace_back(t, selector);
  Reached reached = scale_nodes(input, next, [&](const Trace& t, size_t r, NodeId n, Kind kind) {
    return trace::is_comm(t.type[n]) ? comms.takes(t, r, n, kind) : nodes[r].takes(n, kind);
  });
  for (Trace& t : input.job.ranks)
    if (selector.kinds & bit(Kind::lag))
      change_lags(t, [&](uint32_t, Picoseconds lag) {
        count(reached, lag);
        return times(lag, next());
      });
  return reached;
}

Reached scale(sim::SimInput& input, const Selector& selector, double factor) {
  Selector others = selector;
  others.kinds &= ~bit(Kind::storage);
  Reached reached = scale_each(input, others, [factor] { return factor; });
  if (others.kinds == selector.kinds || input.system.tiers.empty()) return reached;
  for (const Trace& t : input.job.ranks) {
    const NodeKinds kinds(t, &input.system);
    for (const NodeId n : t.nodes()) reached.nodes += kinds.of(n) == Kind::storage;
  }
  scale_tiers(input, factor);
  return reached;
}

Reached scale_named(sim::SimInput& input, std::string_view pattern, double factor) {
  std::vector<std::vector<char>> named;
  for (const Trace& t : input.job.ranks) {
    named.emplace_back(t.strings.size(), 0);
    for (StringId id = 0; id < t.strings.size(); ++id)
      named.back()[id] = recorded::matches_pattern(pattern, t.strings[id]);
  }
  return scale_nodes(
      input, [factor] { return factor; },
      [&](const Trace& t, size_t r, NodeId n, Kind) { return named[r][t.name[n]] != 0; });
}

Reached remove(sim::SimInput& input, const Selector& selector) {
  const CommFilter comms(input, selector);
  Marks marks = no_marks(input.job);
  std::vector<std::vector<char>> gone;
  Reached reached;
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    const Trace& t = input.job.ranks[r];
    const NodeKinds kinds(t, &input.system);
    const NodeFilter nodes(t, selector);
    gone.emplace_back(t.size(), 0);
    for (const NodeId n : t.nodes()) {
      const std::optional<Kind> kind = kinds.of(n);
      if (!kind) continue;
      if (trace::is_comm(t.type[n])) marks[r][t.comm_row[n]] = comms.takes(t, r, n, *kind);
      else gone[r][n] = nodes.takes(n, *kind);
    }
  }
  mark_partners(input, marks);
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    Trace& t = input.job.ranks[r];
    for (const NodeId n : t.nodes())  // pieces go with their communication, whose time they are a part of
      if (const NodeId whole = trace::whole_communication(t, n); whole != n && marks[r][t.comm_row[whole]]) {
        gone[r][n] = 2;
        t.dur_ps.edit(n) = 0;
      }
    for (const NodeId n : t.nodes()) {
      if (gone[r][n] == 2) continue;
      const bool comm = trace::is_comm(t.type[n]);
      if (comm ? !marks[r][t.comm_row[n]] : !gone[r][n]) continue;
      gone[r][n] = 1;
      count(reached, time_of(input, r, t, n));
      t.dur_ps.edit(n) = 0;
      if (comm || t.type[n] != NodeType::comp) t.type.edit(n) = NodeType::metadata;  // holds no queue
      if (comm) t.comm_row.edit(n) = trace::kNoRow;
    }
    change_lags(t, [&](uint32_t e, Picoseconds lag) -> Picoseconds {
      if (selector.kinds & bit(Kind::lag)) return count(reached, lag), 0;
      const bool of_stream = !t.deps.kind.empty() && trace::kind_of(t.deps.kind[e]) == trace::EdgeKind::stream;
      return of_stream && gone[r][t.deps.node[e]] ? 0 : lag;
    });
  }
  input.matching.reset();  // of the communication that is left
  return reached;
}

}  // namespace chakra::whatif
