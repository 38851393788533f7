#include "chakra/astra/rings.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "chakra/astra/phases.h"
#include "chakra/astra/run.h"

namespace chakra::astra {
namespace {

/// How long a place waits in each step of a ring.
struct StepWaits {
  Picoseconds plain, reducing;
  Picoseconds of(const Plan& p, int64_t step) const {
    return ring_reduces(p.type, p.line.places, step) ? reducing : plain;
  }
};
StepWaits waits_of(const Run& run, const Stream& s, uint64_t message) {
  const Picoseconds plain = endpoint_delay(run, s);
  return {plain, add_saturated(plain, reduction(run, message))};
}

uint64_t message_of(const Plan& p) { return message_bytes(p.type, p.line.places, p.bytes); }

/// When a ring ends whose places all send first at `time` and whose messages all take `travel`. Cost: O(steps).
Picoseconds ring_end(const Run& run, const Stream& s, Picoseconds time, Picoseconds travel) {
  const Plan& p = s.plan();
  const StepWaits waits = waits_of(run, s, message_of(p));
  const int64_t steps = ring_steps(p.type, p.line.places);
  for (int64_t step = 1; step <= steps; ++step) time = std::min(time + travel + waits.of(p, step), kLongestPs);
  return time;
}

bool all_equal(const std::vector<Picoseconds>& values) {
  return std::all_of(values.begin(), values.end(), [&](Picoseconds v) { return v == values[0]; });
}

/// Replace the time at which each place begins by the time at which it ends. A step begins on a rank when it has the
/// message of the step before and has waited for the endpoint. Return whether all places are equivalent; then at[0]
/// stands for all of them. Cost: O(steps), times places if they differ.
bool run_ring(Run& run, const Stream& s, std::vector<Picoseconds>& at) {
  const Plan& p = s.plan();
  const uint32_t n = p.line.places;
  const uint64_t bytes = message_of(p);
  const StepWaits waits = waits_of(run, s, bytes);
  const auto source = [&](uint32_t place) { return neighbour(place, n, !s.turn().clockwise); };
  std::vector<Picoseconds>&travels = run.rings.travels, &next = run.rings.next;
  travels.resize(n);
  next.resize(n);
  for (uint32_t place = 0; place < n; ++place)
    travels[place] = travel(run, p.line.rank(source(place)), p.line.rank(place), bytes);
  for (uint32_t place = 0; place < n; ++place) at[place] = std::min(at[place] + waits.plain, kLongestPs);
  if (all_equal(at) && all_equal(travels)) {
    at[0] = ring_end(run, s, at[0], travels[0]);
    return true;
  }
  const int64_t steps = ring_steps(p.type, n);
  for (int64_t step = 1; step <= steps; ++step) {
    const Picoseconds wait = waits.of(p, step);
    for (uint32_t place = 0; place < n; ++place) {
      const Picoseconds arrival = at[source(place)] + travels[place];
      next[place] = std::min(std::max(arrival, at[place]) + wait, kLongestPs);
    }
    at.swap(next);
  }
  return false;
}

/// The event that comes next on a rank, if it is alone and at the same time as that of rank 0.
const Event* next_alone(const Run& run, uint32_t r) {
  const auto& due = run.clock.due[r];
  if (due.empty() || due[0].time <= run.now() || due[0].time != run.clock.due[0][0].time) return nullptr;
  const auto& batch = run.clock.batches[due[0].batch];
  return batch.size() == 1 ? &batch[0] : nullptr;
}

/// Per rank, the stream whose ring begins; none if a rank does something else.
std::vector<uint32_t> rings_of_all(const Run& run) {
  std::vector<uint32_t> streams;
  for (uint32_t r = 0; r < run.ranks.size(); ++r) {
    const Event* event = next_alone(run, r);
    if (!event || event->kind != Event::Kind::bundle_done) return {};
    const Stream& s = run.collectives.streams[event->stream];
    if (!s.phase || !s.plan().is_ring() || !s.phase->untouched()) return {};
    streams.push_back(event->stream);
  }
  return streams;
}

/// Whether each rank's ring is that of the rank that it sends to, and no message is in the way of another.
bool apart(const Run& run, const std::vector<uint32_t>& streams) {
  const net::Dimension& d = run.in.fabric.dimensions[0];
  const auto& all = run.collectives.streams;
  for (const uint32_t id : streams) {
    const Stream& s = all[id];
    const Line& line = s.plan().line;
    const uint32_t receiver = line.rank(neighbour(line.self, line.places, s.turn().clockwise));
    const Stream& next = all[streams[receiver]];
    if (!s.same_messages(all[streams[0]]) || s.id != next.id || !line.same_ranks(next.plan().line)) return false;
    if (d.kind == net::TopologyKind::ring && d.topology().hops(s.rank, receiver, d.ranks) > 1) return false;
  }
  return true;
}

}  // namespace

void join_ring(Run& run, uint32_t id) {
  auto& streams = run.collectives.streams;
  const Stream& s = streams[id];
  const Line& line = s.plan().line;
  const auto found =
      run.rings.runs.try_emplace(RingKey{s.id, line.ranks, line.base, line.stride, s.current}, UINT64_MAX).first;
  if (found->second == UINT64_MAX) {
    found->second = run.rings.pool.take_unused();
    RingRun& fresh = run.rings.pool[found->second];
    fresh.begun = 0;
    fresh.streams.assign(line.places, UINT32_MAX);
    fresh.at.resize(line.places);
  }
  RingRun& ring = run.rings.pool[found->second];
  ring.streams[line.self] = id;
  ring.at[line.self] = run.now();
  if (++ring.begun < line.places) return;
  for (const uint32_t other : ring.streams)  // ranks that disagree never find each other's messages
    if (!streams[other].same_messages(s)) return;
  const bool alike = run_ring(run, s, ring.at);
  for (uint32_t place = 0; place < line.places; ++place)
    run.clock.at(ring.at[alike ? 0 : place],
                 {.kind = Event::Kind::phase_done, .rank = line.rank(place), .stream = ring.streams[place]});
  run.rings.pool.drop(found->second);
  run.rings.runs.erase(found);
}

void count_ring(Run& run) {
  run.rings.begun = run.now() == run.rings.began_at ? run.rings.begun + 1 : 1;
  run.rings.began_at = run.now();
}

bool all_begin_rings(const Run& run) { return run.rings.begun == run.ranks.size(); }

void look_ahead(Run& run) {
  run.rings.begun = 0;
  if (!run.messages.flights.empty() || !run.messages.parties.empty()) return;
  const std::vector<uint32_t> streams = rings_of_all(run);
  if (streams.empty() || !apart(run, streams)) return;
  const net::Dimension& d = run.in.fabric.dimensions[0];
  const Stream& first = run.collectives.streams[streams[0]];
  const Plan& plan = first.plan();
  const int64_t hops = d.kind == net::TopologyKind::switch_ ? 2 : 1;
  const Picoseconds hop = ticks(d.latency_ns + static_cast<double>(message_of(plan)) / bytes_per_ns(d));
  const Picoseconds end = ring_end(run, first, run.clock.due[0][0].time, std::min(hops * hop, kLongestPs));
  for (const auto& due : run.clock.due)
    if (due.size() > 1 && due[1].time <= end) return;
  const auto turns = static_cast<uint32_t>(ring_steps(plan.type, plan.line.places) % plan.line.places);
  for (uint32_t r = 0; r < run.ranks.size(); ++r) {
    const Stream& s = run.collectives.streams[streams[r]];
    const Line& line = s.plan().line;
    const uint32_t on = s.turn().clockwise ? turns : line.places - turns;
    const uint32_t last = line.rank((line.self + on) % line.places);
    run.clock.batches[run.clock.due[r][0].batch][0] = {
        .kind = Event::Kind::ring_ahead, .rank = last, .stream = streams[last], .number = static_cast<uint64_t>(end)};
  }
}

}  // namespace chakra::astra
