#include "chakra/sim/engine/timeline.h"

#include <fmt/core.h>

namespace chakra::sim {

using trace::NodeId;
using trace::Trace;

namespace {
constexpr uint32_t kNoSlice = UINT32_MAX;
}  // namespace

TimelineWriter::TimelineWriter(Run& run) : run_(run), timeline_(run.report.timeline) {
  for (const Actor& actor : run_.actors) {
    const Trace& t = *actor.trace;
    slice_of_.emplace_back(t.size(), kNoSlice);
    first_track_.push_back(static_cast<uint32_t>(timeline_.tracks.size()));
    for (uint32_t queue = 0; queue <= actor.queues.fixed(); ++queue)  // the last: nodes without a queue
      timeline_.tracks.push_back({t.rank, feed::queue_name(t, queue)});
  }
}

uint32_t TimelineWriter::track_of(ActorId a, NodeId n) {
  const feed::Queues& queues = run_.actors[a].queues;
  const Trace& t = run_.job.trace(a);
  const uint32_t q = queues.of(n);
  if (q == feed::Queues::kNone) return first_track_[a] + queues.fixed();
  if (q < queues.fixed()) return first_track_[a] + q;
  const auto [found, added] = group_tracks_.emplace(std::pair(a, q), static_cast<uint32_t>(timeline_.tracks.size()));
  if (added)
    timeline_.tracks.push_back({t.rank, fmt::format("collectives of group {}", quote(t.strings[t.comm(n)->group]))});
  return found->second;
}

void TimelineWriter::add(ActorId a, NodeId n) {
  const Trace& t = run_.job.trace(a);
  const NodeTimes& times = run_.actors[a].times;
  const std::string_view name = t.name_of(n);
  if (t.type[n] == trace::NodeType::metadata || name == trace::kHostGap || name == trace::kInitialCondition) return;
  slice_of_[a][n] = static_cast<uint32_t>(timeline_.slices.size());
  timeline_.slices.push_back({track_of(a, n), timeline_.strings.intern(name),
                              timeline_.strings.intern(trace::name(t.type[n])), times.start[n], times.end[n], t.id[n]});
}

void TimelineWriter::finish() {
  const auto flow = [&](uint32_t from, uint32_t to, std::string_view name) {
    if (from != kNoSlice && to != kNoSlice) timeline_.flows.push_back({from, to, timeline_.strings.intern(name)});
  };
  for (const ActorId a : ids<ActorId>(run_.actors.size())) {
    const Trace& t = run_.job.trace(a);
    const std::vector<NodeId> shown = trace::shown_nodes(t);
    for (const NodeId n : t.nodes())
      for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
        if (const trace::EdgeKind kind = trace::kind_of(t.deps.kind[e]);
            kind == trace::EdgeKind::launch || kind == trace::EdgeKind::comm)
          flow(slice_of_[a][shown[t.deps.node[e]]], slice_of_[a][shown[n]], trace::name(kind));
  }
  for (const match::Message& m : run_.job.matching.messages)
    if (m.send.node != trace::kNoNode && m.recv.node != trace::kNoNode)
      flow(slice_of_[m.send.rank][m.send.node], slice_of_[m.recv.rank][m.recv.node], "message");
}

}  // namespace chakra::sim
