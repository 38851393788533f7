#include "chakra/sim/engine/sharing.h"

#include <algorithm>

#include "chakra/sim/shared_links.h"

namespace chakra::sim {
namespace {

double flows_of(const coll::Plan& plan) {
  double flows = 0;
  for (const coll::Round& round : plan.rounds)
    flows += !round.list.empty() ? static_cast<double>(round.list.size())
             : round.shift == 0  ? 0
                                 : static_cast<double>(uint64_t{round.shifts} * plan.members);
  return flows;
}

constexpr uint64_t kMostTransfers = uint64_t{1} << 17;

/// A collective whose members come one after the other mostly moves data when the last one has come.
std::vector<Span> spans_of(const CollectiveTotals& totals, Picoseconds alone) {
  std::vector<Span> spans;
  spans.reserve(totals.when.size());
  for (const CollectiveTotals::When& when : totals.when)
    spans.push_back({std::max(when.first, when.end - alone), when.end});
  return spans;
}

void add_collectives(Run& run, const Collectives& collectives, SharedLinks& links) {
  for (const auto& [kind, totals] : collectives.totals()) {
    if (totals.when.empty()) continue;
    const auto& [group, type, bytes] = kind;
    const Folded::Group& whole = run.job.folded.groups[run.job.places[group].folded];
    const coll::Operation op{type, bytes, totals.root, {}};
    const std::vector<Picoseconds>& ends = run.prices.together(whole.shape, op);
    const Picoseconds alone = *std::max_element(ends.begin(), ends.end());
    const coll::Choice& choice = run.prices.choice(whole.shape, op);
    run.report.sharing.flows +=
        flows_of(choice.plan) * static_cast<double>(whole.places.size() * totals.when.size());
    links.add(choice.plan, choice.order, whole.places, whole.places.size(), whole.flow,
              static_cast<double>(alone) / kPsPerSecond, spans_of(totals, alone));
  }
}

void add_messages(Run& run, Messages& messages, SharedLinks& links) {
  const Folded& folded = run.job.folded;
  if (messages.kinds().empty()) return;
  std::vector<std::vector<uint32_t>> ranks(folded.actors.ranks.size());  // by actor, into Folded::ranks
  for (uint32_t i = 0; i < folded.ranks.size(); ++i)
    if (ranks[folded.actor_of[i]].size() < LinkLoads::kMostGroups) ranks[folded.actor_of[i]].push_back(i);
  coll::Plan plan{2, 1, {}};
  plan.rounds.resize(1);
  std::vector<std::vector<int64_t>> pairs;
  for (MessageKind& kind : messages.kinds()) {
    plan.rounds[0].list = {{0, 1, kind.bytes}};
    pairs.clear();
    for (const uint32_t i : ranks[kind.actor])
      pairs.push_back({folded.ranks[i], folded.peer_of[folded.first_peer[i] + kind.slot]});
    const Span& first = kind.spans.front();
    const auto count = static_cast<size_t>(folded.count[kind.actor]);
    run.report.sharing.flows += static_cast<double>(count * kind.spans.size());
    links.add(plan, {}, pairs, count, 0, static_cast<double>(first.end - first.begin) / kPsPerSecond, std::move(kind.spans));
  }
}

}  // namespace

void find_sharing(Run& run, const Collectives& collectives, Messages& messages) {
  if (!run.in.transfer_factors.empty()) return;
  SharedLinks links(run.in.fabric, kMostTransfers);
  add_collectives(run, collectives, links);
  add_messages(run, messages, links);
  const double flows = run.report.sharing.flows * run.in.fabric.routing.channels;
  run.report.sharing = links.find();
  run.report.sharing.flows = flows;
}

}  // namespace chakra::sim
