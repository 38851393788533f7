#include "chakra/sim/engine/collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "chakra/base/times.h"

namespace chakra::sim {

using trace::CommType;
using trace::NodeId;
using trace::Trace;

namespace {
constexpr size_t kMostEarly = size_t{1} << 20;
constexpr Picoseconds kEndRounding = 1;  ///< of an end, which is a rounded sum of doubles
}  // namespace

Result<void> Collectives::arrive(ActorId a, NodeId n) {
  const Trace& t = run_.job.trace(a);
  const uint32_t id = run_.job.match_of(a, n);
  const match::Collective& c = run_.job.matching.collectives[id];
  if (c.type == CommType::unknown)
    return fail(Code::bad_input, "sim.comm.type",
                fmt::format("node {} of rank {} is a collective without a type", t.id[n], t.rank), {t.file});
  const Picoseconds now = run_.agenda.now;
  State& state = states_[id];
  if (state.arrived++ == 0) CHAKRA_TRY(begin(id, a, n));
  const uint32_t member = run_.job.member_of[a][t.comm_row[n]];
  state.arrival[member] = now;
  state.last = now;
  const bool all = state.arrived == c.members.size();
  if (const Transfers::Row* given = run_.transfer(a, n)) {
    if (!given->waits()) leave(id, member, add_saturated(now, given->own_ps));
    if (all) end_as_recorded(id);
  } else if (run_.traffic) {
    run_.traffic->begin(now, id, member, moved_);
    for (const Traffic::Done& done : moved_) member_done(done.id, done.member);
    moved_.clear();
    if (all)
      for (const uint32_t m : std::exchange(state.finished, {})) end_member(id, m, now);
  } else if (all) {
    return price(id, a, n);
  }
  return {};
}

/// End a member that waits for no other member, at an individual time.
void Collectives::leave(uint32_t id, uint32_t member, Picoseconds time) {
  const match::Collective& c = run_.job.matching.collectives[id];
  run_.agenda.end_at(c.members[member].rank, c.members[member].node, time);
  note_end(id, time);
}

/// All have come: those that waited for that end as long after it as they were recorded to.
void Collectives::end_as_recorded(uint32_t id) {
  const match::Collective& c = run_.job.matching.collectives[id];
  for (uint32_t m = 0; m < c.members.size(); ++m) {
    const Transfers::Row* given = run_.transfer(c.members[m].rank, c.members[m].node);
    CHAKRA_ASSERT(given);  // known of all members or of none
    if (!given->waits()) continue;
    Picoseconds& longest = longest_[id];  // pieces behind the last end belong to it
    longest = std::max(longest, add_saturated(run_.agenda.now, given->transfer_ps));
    end_member(id, m, add_saturated(run_.agenda.now, given->after()));
  }
}

/// The first member has come.
Result<void> Collectives::begin(uint32_t id, ActorId a, NodeId n) {
  const match::Collective& c = run_.job.matching.collectives[id];
  State& state = states_[id];
  state.arrival.assign(c.members.size(), -1);
  state.first = run_.agenda.now;
  if (run_.transfer(a, n) || run_.in.collective_time) return {};
  CHAKRA_TRY(note_choice(c, a, n));
  if (!run_.traffic) return {};
  add_traffic(id, operations_.of(c, a, n));
  return {};
}

void Collectives::add_traffic(uint32_t id, const coll::Operation& op) {
  const match::Collective& c = run_.job.matching.collectives[id];
  const Folded::Group& group = run_.job.group_of(c);
  const coll::Choice& choice = run_.prices.choice(group.shape, op);
  if (!run_.job.folded.links) return run_.traffic->add(id, choice.plan, choice.order, group.ranks, group.flow);
  std::shared_ptr<const Course>& course = courses_[{c.group, op.type, op.bytes, op.root}];
  if (!course) {
    Parts parts{run_.job.places[c.group].member_at, {}};
    for (const uint32_t place : run_.job.places[c.group].first_place)
      parts.ranks.push_back(run_.job.folded.count[group.actors[place]]);
    course = std::make_shared<const Course>(
        course_of(choice.plan, choice.order, group.ranks, group.flow, parts, run_.in.fabric, *run_.job.folded.links));
  }
  run_.traffic->add(id, choice.plan, course);
}

/// What the first of some equal collectives is done with.
Result<void> Collectives::note_choice(const match::Collective& c, ActorId a, NodeId n) {
  CollectiveTotals& totals = totals_[{c.group, c.type, c.bytes}];
  if (totals.algorithm || totals.fitted) return {};
  const uint32_t shape = run_.job.group_of(c).shape;
  const coll::Operation op = operations_.of(c, a, n);
  if (const std::string why = run_.prices.refusal(shape, op); !why.empty()) {
    const Trace& t = run_.job.trace(a);
    return fail(Code::bad_input, "sim.collectives.cannot",
                fmt::format("the collectives' rules name no algorithm for the {} of {} members that node {} of rank {} "
                            "takes part in: {}",
                            trace::name(c.type), run_.job.group_of(c).ranks.size(), t.id[n], t.rank, why),
                {t.file});
  }
  if ((totals.fitted = run_.prices.fitted(shape, op))) return {};
  const coll::Choice& choice = run_.prices.choice(shape, op);
  totals.algorithm = choice.algorithm;
  totals.near = !choice.order.empty();
  totals.by_rule = choice.by_rule;
  totals.candidates = choice.candidates;
  totals.root = run_.job.folded.root[a][run_.job.trace(a).comm_row[n]];
  return {};
}

// `sim.model.time` (1): a caller's model of collectives gives a negative time

/// All have come, and the caller's model knows how long it takes.
Result<bool> Collectives::end_by_model(uint32_t id) {
  const match::Collective& c = run_.job.matching.collectives[id];
  const State& state = states_[id];
  CHAKRA_ASSIGN(const std::optional<Picoseconds> takes,
                run_.in.collective_time({run_.job.matching.groups[c.group].name, c.type, c.bytes,
                                         run_.job.group_of(c).ranks.size(), state.first, state.last}));
  if (!takes) return false;
  if (*takes < 0) return fail(Code::bad_input, "sim.model.time", "the model of collectives gives a negative time");
  for (uint32_t m = 0; m < c.members.size(); ++m) end_member(id, m, add_saturated(run_.agenda.now, *takes));
  return true;
}

/// All have come: when they end on an idle network.
Result<void> Collectives::price(uint32_t id, ActorId a, NodeId n) {
  const Picoseconds now = run_.agenda.now;
  const match::Collective& c = run_.job.matching.collectives[id];
  State& state = states_[id];
  if (run_.in.collective_time) {
    CHAKRA_ASSIGN(const bool ended, end_by_model(id));
    if (ended) return {};
    CHAKRA_TRY(note_choice(c, a, n));
  }
  state.priced = true;
  const Folded::Group& group = run_.job.group_of(c);
  const GroupPlaces& places = run_.job.places[c.group];
  const coll::Operation op = operations_.of(c, a, n);
  const double factor = run_.transfer_factor(a, n);
  if (group.late_start && state.first != state.last && factor != 0) {
    end_late(id, op, factor);
    return {};
  }
  if (state.first == state.last || factor == 0) {
    const std::vector<Picoseconds>& after = run_.prices.together(group.shape, op);
    for (uint32_t m = 0; m < c.members.size(); ++m)
      end_member(id, m, add_saturated(now, times(after[places.first_place[m]], factor)));
    return {};
  }
  // If every cost is multiplied by `factor`, the arrivals are 1 / factor as far apart beside the costs.
  ends_.resize(group.ranks.size());
  for (size_t p = 0; p < ends_.size(); ++p)
    ends_[p] = times(state.arrival[places.member_at[p]] - state.first, 1 / factor);
  run_.prices.run(group.shape, op, ends_);
  for (Picoseconds& end : ends_) end = add_saturated(state.first, times(end, factor));
  for (uint32_t m = 0; m < c.members.size(); ++m)
    end_member(id, m, std::max(now, ends_[places.first_place[m]]));  // none leaves before the last has come
  return {};
}

/// All have come, one after the other: an upper bound of the ends, or a lower bound (Run::earliest), for any places.
void Collectives::end_late(uint32_t id, const coll::Operation& op, double factor) {
  const match::Collective& c = run_.job.matching.collectives[id];
  const State& state = states_[id];
  const uint32_t shape = run_.job.group_of(c).shape;
  const GroupPlaces& places = run_.job.places[c.group];
  const Picoseconds now = run_.agenda.now;
  const Picoseconds least = run_.earliest ? times(run_.prices.after_last(shape, op), factor) - kEndRounding : 0;
  const std::vector<Picoseconds>& after = run_.prices.together(shape, op);
  for (uint32_t m = 0; m < c.members.size(); ++m) {
    const Picoseconds takes = times(after[places.first_place[m]], factor);
    end_member(id, m,
               run_.earliest
                   ? std::max({now, add_saturated(now, least), add_saturated(state.first, takes - kEndRounding)})
                   : add_saturated(now, takes + kEndRounding));
  }
}

void Collectives::end_member(uint32_t id, uint32_t m, Picoseconds time) {
  const match::Collective& c = run_.job.matching.collectives[id];
  run_.agenda.end_at(c.members[m].rank, c.members[m].node, time);
  note_end(id, time);
}

void Collectives::note_end(uint32_t id, Picoseconds time) {
  const match::Collective& c = run_.job.matching.collectives[id];
  State& state = states_[id];
  Picoseconds& longest = longest_[id];
  longest = std::max(longest, time);
  if (++state.ended < c.members.size()) return;
  CollectiveTotals& totals = totals_[{c.group, c.type, c.bytes}];
  ++totals.count;
  totals.time = add_saturated(totals.time, longest - state.last);
  totals.wait = add_saturated(totals.wait, state.last - state.first);
  if (state.priced) note_times(state, longest, totals);
  longest_.erase(id);
  state.arrival = {};
}

void Collectives::note_times(const State& state, Picoseconds end, CollectiveTotals& totals) {
  totals.when.push_back({state.first, state.last, end});
  if (state.first == state.last || early_ > kMostEarly) return;
  totals.early.resize(state.arrival.size());
  for (size_t m = 0; m < state.arrival.size(); ++m)
    if (state.arrival[m] < state.last) totals.early[m].emplace_back(state.arrival[m], end);
  early_ += state.arrival.size();
}

void Collectives::member_done(uint32_t id, uint32_t member) {
  State& state = states_[id];
  if (state.arrived < run_.job.matching.collectives[id].members.size()) state.finished.push_back(member);
  else end_member(id, member, run_.agenda.now);
}

}  // namespace chakra::sim
