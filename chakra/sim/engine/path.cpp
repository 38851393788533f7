#include "chakra/sim/engine/path.h"

#include <algorithm>
#include <utility>

#include "chakra/sim/engine/collective_ends.h"

namespace chakra::sim {
namespace {

using match::NodeRef;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

class PathFinder {
 public:
  PathFinder(Run& run, const Messages& messages) : run_(run), messages_(messages), ends_(run, run.prices) {}

  std::vector<PathPiece> find() {
    cursor_ = run_.report.makespan_ps;
    NodeRef at = last_node();
    size_t nodes = 0;
    for (const Actor& actor : run_.actors) nodes += actor.trace->size();
    for (size_t steps = 0; at.node != trace::kNoNode && steps <= 2 * nodes; ++steps) {
      const NodeRef begun = add_node(at);
      at = what_held_up(begun);
      if (at.node != trace::kNoNode) add(PathPiece::Kind::lag, begun, run_.actors[at.rank].times.end[at.node]);
      else add(PathPiece::Kind::start, begun, 0);
    }
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  Picoseconds started(NodeRef ref) const { return run_.actors[ref.rank].times.start[ref.node]; }

  /// The first actor's first node that ends with the job.
  NodeRef last_node() const {
    for (const ActorId a : ids<ActorId>(run_.actors.size())) {
      const std::vector<Picoseconds>& ends = run_.actors[a].times.end;
      const auto found = std::find(ends.begin(), ends.end(), run_.report.makespan_ps);
      if (found != ends.end()) return {a, NodeId(found - ends.begin())};
    }
    return {ActorId(0), trace::kNoNode};
  }

  /// The node that has to be explained next: the one whose beginning this one waited for, itself as a rule.
  NodeRef add_node(NodeRef at) {
    const NodeType type = run_.job.trace(at.rank).type[at.node];
    NodeRef begun = at;
    if (type == NodeType::coll) {
      for (const NodeRef& other : run_.job.collective_of(at.rank, at.node).members)
        if (waits_as_recorded(at) && started(other) > started(begun)) begun = other;
      if (run_.in.decisive_path && !run_.transfer(at.rank, at.node)) begun = ends_.decisive(at);
      add(PathPiece::Kind::collective, at, started(begun));
    } else if (trace::is_comm(type)) {
      const uint32_t id = run_.job.match_of(at.rank, at.node);
      const match::Message& message = run_.job.matching.messages[id];
      if (type == NodeType::recv && messages_.arrival(id) > started(at)) begun = message.send;
      const bool given = run_.transfer(at.rank, at.node) != nullptr;
      if (type == NodeType::send && given && waits_as_recorded(at) && started(message.recv) > started(at))
        begun = message.recv;
      add(PathPiece::Kind::message, at, started(begun));
    } else {
      add(kind_of(at), at, started(at));
    }
    return begun;
  }

  /// False of communication whose time is given, and which did not wait for all who take part.
  bool waits_as_recorded(NodeRef at) const {
    const Transfers::Row* given = run_.transfer(at.rank, at.node);
    return !given || given->waits();
  }

  /// Of a node that is not communication.
  PathPiece::Kind kind_of(NodeRef at) const {
    const Trace& t = run_.job.trace(at.rank);
    const NodeType type = t.type[at.node];
    if (run_.job.tier_use(at.rank, at.node)) return PathPiece::Kind::storage;
    if (type == NodeType::mem_load || type == NodeType::mem_store) return PathPiece::Kind::memory;
    if (t.name_of(at.node) == trace::kUnrecorded) return PathPiece::Kind::unrecorded;
    return computes(run_.actors[at.rank], at.node) ? PathPiece::Kind::compute : PathPiece::Kind::host;
  }

  /// A piece from `start` to where the path has come, if there is anything between.
  void add(PathPiece::Kind kind, NodeRef ref, Picoseconds start) {
    if (start >= cursor_) return;
    const Trace& t = run_.job.trace(ref.rank);
    PathPiece& piece = path_.emplace_back();
    piece.kind = kind;
    piece.rank = t.rank;
    piece.node = t.id[ref.node];
    piece.actor = ref.rank;
    piece.row = ref.node;
    piece.name = t.name_of(ref.node);
    piece.start_ps = start;
    piece.end_ps = std::exchange(cursor_, start);
    if (kind == PathPiece::Kind::storage)
      piece.tier = run_.in.system.tiers[run_.job.tier_use(ref.rank, ref.node)->tier].name;
    if (kind != PathPiece::Kind::collective) return;
    const match::Collective& c = run_.job.collective_of(ref.rank, ref.node);
    piece.group = run_.job.matching.groups[c.group].name;
    piece.type = c.type;
  }

  NodeRef what_held_up(NodeRef ref) const {
    const Actor& actor = run_.actors[ref.rank];
    const Trace& t = *actor.trace;
    NodeRef found{ref.rank, trace::kNoNode};
    Picoseconds latest = -1;
    for (uint32_t e = t.deps.begin[ref.node]; e < t.deps.begin[ref.node + 1]; ++e)
      if (const Picoseconds ready = add_saturated(actor.times.end[t.deps.node[e]], t.deps.lag_of(e)); ready > latest) {
        latest = ready;
        found.node = t.deps.node[e];
      }
    const NodeId before = actor.queues.before(ref.node);
    if (before != trace::kNoNode && actor.times.end[before] > latest) found.node = before;
    return found;
  }

  const Run& run_;
  const Messages& messages_;
  CollectiveEnds ends_;
  Picoseconds cursor_ = 0;
  std::vector<PathPiece> path_;
};

}  // namespace

std::vector<PathPiece> find_critical_path(Run& run, const Messages& messages) {
  return PathFinder(run, messages).find();
}

}  // namespace chakra::sim
