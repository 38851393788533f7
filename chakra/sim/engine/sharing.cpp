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
      links.add_again(plan, choice.order, whole.places, whole.places.size(), whole.flow, seconds, std::move(spans));
  }
}

/// How long after its first member each member of a collective came. Empty if that is not known.
std::vector<Picoseconds> arrivals_of(const CollectiveTotals& totals, const CollectiveTotals::When& when,
                                     const GroupPlaces& places, size_t members) {
  std::vector<Picoseconds> of(totals.early.size(), when.last - when.first);
  bool any = false;
  for (size_t m = 0; m < of.size(); ++m)
    for (const auto& [came, end] : totals.early[m])
      if (end == when.end && came >= when.first && came < when.last) of[m] = came - when.first, any = true;
  std::vector<Picoseconds> arrivals(any ? members : 0);
  for (size_t w = 0; w < arrivals.size(); ++w) arrivals[w] = of[places.member_at[w]];
  return arrivals;
}

/// Simulates some collectives of each kind that takes a part of the run: one if members do not wait for each other, as
/// in trees and lanes, and those whose members came one after the other. Closed form does not know which of their
/// rounds meet on a link.
class OwnSharing {
 public:
  explicit OwnSharing(Run& run) : run_(run) {}

  /// `closed`: the time of one whose members come together.
  void look_at(const GroupPlaces& places, const coll::Operation& op, const coll::Choice& choice,
               const CollectiveTotals& totals, Picoseconds closed) {
    if (!run_.in.fabric.fits.empty()) return;  // fluid does not use them
    const Folded::Group& whole = run_.job.folded.groups[places.folded];
    const auto runs = static_cast<double>(totals.when.size());
    if (static_cast<double>(closed) * runs < kLeastPart * static_cast<double>(run_.report.makespan_ps)) return;
    Miss miss = look_at_late(places, whole, op, choice, totals);
    // Where all members do the same in one lane, rounds do not meet.
    if (choice.plan.lanes > 1 || !run_.prices.all_do_the_same(whole.shape, op)) {
      if (const std::optional<Picoseconds> shared = time_of(whole, op, choice))
        if (const Miss together{closed, *shared, runs, 0}; together.all() > miss.all()) miss = together;
    }
    if (miss.all() > 0) note(whole, op, choice, miss);
  }
  /// The kind that misses most, and how much all kinds of the same ranks miss together.
  Sharing::Own worst() && {
    const auto most = std::max_element(misses_.begin(), misses_.end());
    if (most != misses_.end())
      worst_.misses_ps = static_cast<Picoseconds>(std::min(*most, static_cast<double>(kLongestPs)));
    return std::move(worst_);
  }

 private:
  /// The times of a collective, and how many collectives miss as much as this one.
  struct Miss {
    Picoseconds closed = 0, shared = 0;
    double runs = 0;
    Picoseconds apart = 0;  ///< between its first and last member

    double all() const { return std::abs(static_cast<double>(shared - closed)) * runs; }
  };

  void note(const Folded::Group& whole, const coll::Operation& op, const coll::Choice& choice, const Miss& miss) {
    misses_.resize(run_.actors.size(), 0);
    std::vector<uint32_t> actors = whole.actors;
    std::sort(actors.begin(), actors.end());
    actors.erase(std::unique(actors.begin(), actors.end()), actors.end());
    for (const uint32_t a : actors)
      if (a != kNobody) misses_[a] += miss.all();
    if (miss.all() <= most_) return;
    most_ = miss.all();
    const std::string how =
        miss.apart > 0 ? fmt::format(", whose members arrive up to {} apart,", show_time(miss.apart)) : std::string();
    worst_ = {fmt::format("{} of {} ({}){}", trace::name(op.type), show_bytes(static_cast<double>(op.bytes)),
                          choice.algorithm->name, how),
              miss.closed, miss.shared, 0};
  }

  /// Of the collectives whose members came one after the other, some from the first to the last stand for all.
  Miss look_at_late(const GroupPlaces& places, const Folded::Group& whole, const coll::Operation& op,
                    const coll::Choice& choice, const CollectiveTotals& totals) {
    std::vector<const CollectiveTotals::When*> late;
    for (const CollectiveTotals::When& when : totals.when)
      if (!totals.early.empty() && when.first < when.last) late.push_back(&when);
    const size_t samples = std::min(late.size(), kMostSamples);
    const uint64_t transfers = transfers_of(choice.plan);
    if (samples == 0 || whole.late_start || transfers >= std::min(kMostTransfersAlone, left_ / samples)) return {};
    left_ -= transfers * samples;
    double misses = 0, most = -1;
    size_t known = 0;
    Picoseconds closed = 0, shared = 0, apart = 0;
    for (size_t s = 0; s < samples; ++s) {
      const CollectiveTotals::When& when = *late[s * late.size() / samples];
      const std::vector<Picoseconds> arrivals = arrivals_of(totals, when, places, whole.ranks.size());
      if (arrivals.empty()) continue;
      const Picoseconds time =
          time_alone(run_.in.fabric, Congestion::fluid, choice.plan, choice.order, whole.ranks, whole.flow, arrivals);
      std::vector<Picoseconds> ends = arrivals;  // priced again, because `when` may have uneven sizes
      run_.prices.run(whole.shape, op, ends);
      const Picoseconds priced = std::max(when.last - when.first, *std::max_element(ends.begin(), ends.end()));
      const double one = std::abs(static_cast<double>(time - priced));
      misses += one;
      ++known;
      if (one > most) most = one, closed = priced, shared = time, apart = when.last - when.first;
    }
    if (most <= 0) return {};
    return {closed, shared, misses / most * static_cast<double>(late.size()) / static_cast<double>(known), apart};
  }

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
  static constexpr size_t kMostSamples = 4;   ///< of a kind
  Run& run_;
  uint64_t left_ = uint64_t{1} << 16;  ///< transfers that may still be simulated
  std::map<std::tuple<uint32_t, trace::CommType, uint64_t, uint32_t>, Picoseconds> times_;
  std::vector<double> misses_;  ///< by actor
  double most_ = 0;             ///< of one kind
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
    own.look_at(run.job.places[group], op, choice, totals, alone);
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
