#include "chakra/sim/engine/standstill.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::sim {
namespace {

constexpr size_t kWaitsNamed = 6;

/// Why a node that others wait for does not run.
std::string why_not(const Run& run, const match::NodeRef& ref) {
  if (!run.actors[ref.rank].feeder.is_ready(ref.node)) return "which has not reached this node";
  return "which is blocked by earlier entries of its queue";
}

/// With the ranks of the job: of the first group that was simulated, every place.
Wait wait_in_collective(const Run& run, const Collectives& collectives, size_t id) {
  const match::Collective& c = run.job.matching.collectives[id];
  const Folded::Group& group = run.job.group_of(c);
  Wait wait{c.type, group.names, c.index, 0, {}, {}};
  for (size_t p = 0; p < group.ranks.size(); ++p) {
    const uint32_t m = run.job.places[c.group].member_at[p];
    const match::NodeRef& ref = c.members[m];
    Wait::Rank rank{group.ranks[p], {}, {}};
    if (ref.node != trace::kNoNode) rank.node = run.job.trace(ref.rank).id[ref.node];
    const bool waits = collectives.has_arrived(id, m);
    if (!waits)
      rank.why = group.actors[p] == kNobody   ? "which is not in the job"
                 : ref.node == trace::kNoNode ? "which has no such collective"
                                              : why_not(run, ref);
    (waits ? wait.waiting : wait.missing).push_back(std::move(rank));
  }
  return wait;
}

Wait wait_for_message(const Run& run, size_t id) {
  const Folded& folded = run.job.folded;
  const match::Message& m = run.job.matching.messages[id];
  const ActorId a = m.recv.rank;
  const trace::Trace& t = run.job.trace(a);
  Wait wait{trace::CommType::unknown, {}, 0, t.comm(m.recv.node)->tag, {}, {}};
  for (uint32_t i = 0; i < folded.ranks.size(); ++i)
    if (folded.actor_of[i] == a) wait.waiting.push_back({folded.ranks[i], t.id[m.recv.node], {}});
  Wait::Rank from{folded.peer[a][t.comm_row[m.recv.node]], {}, "which has not sent it yet"};
  if (m.send.node != trace::kNoNode) from.node = run.job.trace(m.send.rank).id[m.send.node];
  else from.why = "which never sends it";
  if (!std::binary_search(folded.ranks.begin(), folded.ranks.end(), from.rank)) from.why = "which is not in the job";
  wait.missing.push_back(std::move(from));
  return wait;
}

}  // namespace

Failure stuck(const Run& run, const Collectives& collectives, const Messages& messages) {
  for (const Actor& actor : run.actors)
    if (const trace::Order order = trace::topological_order(actor.trace->deps); !order.cycle.empty())
      return fail(Code::stuck, "sim.stuck.cycle",
                  fmt::format("rank {} cannot finish: node {} ({}) waits for itself through {} nodes; run 'chakra "
                              "check' for the path",
                              actor.trace->rank, actor.trace->id[order.cycle[0]],
                              quote(actor.trace->name_of(order.cycle[0])), order.cycle.size()),
                  {actor.trace->file});
  std::vector<Wait> waits;
  for (size_t i = 0; i < run.job.matching.collectives.size(); ++i)
    if (collectives.is_incomplete(i)) waits.push_back(wait_in_collective(run, collectives, i));
  for (size_t i = 0; i < run.job.matching.messages.size(); ++i)
    if (messages.is_unsent(i)) waits.push_back(wait_for_message(run, i));
  int64_t behind = 0;
  int64_t unfinished = 0;
  for (const ActorId a : ids<ActorId>(run.actors.size())) {
    const int64_t left = run.actors[a].feeder.remaining();
    behind += left * run.job.folded.count[a];
    if (left > 0) unfinished += run.job.folded.count[a];
  }
  std::string text = fmt::format("{} of {} ranks cannot finish ({} nodes left): ", unfinished,
                                 run.job.folded.ranks.size(), show_count(behind));
  for (size_t i = 0; i < std::min(waits.size(), kWaitsNamed); ++i) text += (i ? "; " : "") + to_text(waits[i]);
  if (waits.size() > kWaitsNamed) text += fmt::format("; and {} more", waits.size() - kWaitsNamed);
  if (run.in.waits) *run.in.waits = std::move(waits);
  return fail(Code::stuck, "sim.stuck", std::move(text));
}

}  // namespace chakra::sim
