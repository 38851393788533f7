#include "chakra/sim/engine/sharing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "chakra/sim/alone.h"
#include "chakra/sim/shared_links.h"

namespace chakra::sim {
namespace {

constexpr uint64_t kMostTransfers = uint64_t{1} << 17;
constexpr uint64_t kMostFirstTransfers = uint64_t{1} << 12;  ///< of a collective

/// A collective whose members come one after the other mostly moves data when the last one has come.
std::vector<Span> spans_of(const CollectiveTotals& totals, Picoseconds alone) {
  std::vector<Span> spans;
  spans.reserve(totals.when.size());
  for (const CollectiveTotals::When& when : totals.when)
    spans.push_back({std::max(when.first, when.end - alone), when.end});
  return spans;
}

/// What a member sends in the rounds that wait for no other one.
std::vector<coll::Transfer> first_transfers(const coll::Plan& plan) {
  std::vector<coll::Transfer> all;
  std::vector<char> begun(plan.lanes, 0);
  for (size_t k = 0; k < plan.rounds.size(); ++k) {
    const coll::Round& round = plan.rounds[k];
    if (std::exchange(begun[round.lane], 1) || round.after >= 0 || !plan.waits(k).empty()) continue;
    const uint64_t count = round.list.empty() ? uint64_t{round.shifts} * plan.members : round.list.size();
    if (all.size() + count > kMostFirstTransfers) return {};
    coll::each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) {
      all.push_back({from, to, bytes});
    });
  }
  return all;
}

/// Members that come before the others send what they can.
void add_early(Run& run, uint32_t group, const CollectiveTotals& totals, Picoseconds alone, const coll::Choice& choice,
               SharedLinks& links) {
  const GroupPlaces& places = run.job.places[group];
  const Folded::Group& whole = run.job.folded.groups[places.folded];
  const std::vector<coll::Transfer> first = first_transfers(choice.plan);
  const auto place = [&](uint32_t member) { return choice.order.empty() ? member : choice.order[member]; };
  coll::Plan plan{choice.plan.members, 1, {}};
  plan.rounds.resize(1);
  std::vector<double> busy;  // seconds, by member of the plan
  for (uint32_t m = 0; m < totals.early.size() && !first.empty(); ++m) {
    std::vector<coll::Transfer>& list = plan.rounds[0].list;
    list.clear();
    double seconds = 0;
    busy.assign(choice.plan.members, 0);
    for (const coll::Transfer& t : first) {
      if (places.member_at[place(t.from)] != m || t.bytes == 0) continue;
      list.push_back(t);
      const net::Path path = run.in.fabric.alone(whole.ranks[place(t.from)], whole.ranks[place(t.to)], whole.flow);
      busy[t.from] += static_cast<double>(t.bytes) / path.bytes_per_s;
      seconds = std::max(seconds, busy[t.from]);
    }
    std::vector<Span> spans;
    for (const auto& [came, end] : totals.early[m]) {
      const Picoseconds until = std::min(add_saturated(came, picoseconds(seconds)), end - alone);
      if (came < until) spans.push_back({came, until});
    }
    if (!list.empty() && !spans.empty())
      links.add(plan, choice.order, whole.places, whole.places.size(), whole.flow, seconds, std::move(spans));
  }
}

/// Simulates one collective of each kind that takes a part of the run, if members do not wait for each other, as in
/// trees and lanes: closed form does not know which of their rounds meet on a link.
class OwnSharing {
 public:
  explicit OwnSharing(Run& run) : run_(run) {}

  void look_at(const Folded::Group& whole, const coll::Operation& op, const coll::Choice& choice, size_t count,
               Picoseconds closed) {
    if (!run_.in.fabric.fits.empty()) return;  // fluid does not use them
    if (choice.plan.lanes == 1 && coll::rotation_symmetric(choice.plan)) return;
    const auto runs = static_cast<double>(count);
    if (static_cast<double>(closed) * runs < kLeastPart * static_cast<double>(run_.report.makespan_ps)) return;
    const std::optional<Picoseconds> shared = time_of(whole, op, choice);
    if (!shared) return;
    const double misses = std::abs(static_cast<double>(*shared - closed)) * runs;
    if (misses <= static_cast<double>(worst_.misses_ps)) return;
    worst_ = {fmt::format("{} of {} ({})", trace::name(op.type), show_bytes(static_cast<double>(op.bytes)),
                          choice.algorithm->name),
              closed, *shared, static_cast<Picoseconds>(std::min(misses, static_cast<double>(kLongestPs)))};
  }
  Sharing::Own worst() && { return std::move(worst_); }

 private:
  /// Over shared links, once for all groups in equivalent places; nullopt if that takes too many transfers.
  std::optional<Picoseconds> time_of(const Folded::Group& whole, const coll::Operation& op,
                                     const coll::Choice& choice) {
    const std::tuple key(whole.shape, op.type, op.bytes, op.root);
    if (const auto known = times_.find(key); known != times_.end()) return known->second;
    const uint64_t transfers = transfers_of(choice.plan);
    if (transfers >= std::min(kMostTransfersAlone, left_)) return std::nullopt;
    left_ -= transfers;
    return times_[key] =
               time_alone(run_.in.fabric, Congestion::fluid, choice.plan, choice.order, whole.ranks, whole.flow);
  }

  static constexpr double kLeastPart = 0.02;  ///< of the run
  Run& run_;
  uint64_t left_ = uint64_t{1} << 16;  ///< transfers that may still be simulated
  std::map<std::tuple<uint32_t, trace::CommType, uint64_t, uint32_t>, Picoseconds> times_;
  Sharing::Own worst_;
};

Sharing::Own add_collectives(Run& run, const Collectives& collectives, SharedLinks& links) {
  OwnSharing own(run);
  for (const auto& [kind, totals] : collectives.totals()) {
    if (totals.when.empty()) continue;
    const auto& [group, type, bytes] = kind;
    const Folded::Group& whole = run.job.folded.groups[run.job.places[group].folded];
    const coll::Operation op{type, bytes, totals.root, {}};
    const std::vector<Picoseconds>& ends = run.prices.together(whole.shape, op);
    const Picoseconds alone = *std::max_element(ends.begin(), ends.end());
    const coll::Choice& choice = run.prices.choice(whole.shape, op);
    const uint32_t timeline = links.add(choice.plan, choice.order, whole.places, whole.places.size(), whole.flow,
                                        static_cast<double>(alone) / kPsPerSecond, spans_of(totals, alone));
    links.count(timeline, choice.plan, whole.places.size());
    add_early(run, group, totals, alone, choice, links);
    own.look_at(whole, op, choice, totals.when.size(), alone);
  }
  return std::move(own).worst();
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
    const double seconds = static_cast<double>(first.end - first.begin) / kPsPerSecond;
    links.count(links.add(plan, {}, pairs, count, 0, seconds, std::move(kind.spans)), plan, count);
  }
}

}  // namespace

void find_sharing(Run& run, const Collectives& collectives, Messages& messages) {
  if (!run.in.transfer_factors.empty()) return;
  SharedLinks links(run.in.fabric, kMostTransfers);
  Sharing::Own own = add_collectives(run, collectives, links);
  add_messages(run, messages, links);
  run.report.sharing = links.find(run.in.link_loads ? &run.report.link_loads : nullptr, run.report.makespan_ps);
  run.report.sharing.own = std::move(own);
}

}  // namespace chakra::sim
