// The events of a run. Events of one rank at one time are a batch: they happen
// together, at the position of the first planned event (docs/reference/compat.md, 1).
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/base/pool.h"
#include "chakra/des/des.h"
#include "chakra/trace/trace.h"

namespace chakra::astra {

constexpr Picoseconds kTick = kPsPerNs;  ///< times in ASTRA-sim are whole nanoseconds

struct Event {
  enum class Kind : uint8_t {
    node_done,    ///< rank, node
    memory_done,  ///< rank, node
    bundle_done,  ///< stream: the delay before a send, or after the last receive, is over
    reduction,    ///< rank, stream, number: the endpoint delay is over, and `number` bytes are reduced
    received,     ///< number, a party: its requested message had arrived before
    phase_done,   ///< stream
    custom_done,  ///< stream, node
    arrival,      ///< number, a flight
    hop_done,     ///< number, a flight: it has crossed a link
    link_free,    ///< number, a link
    batch,        ///< rank, number: all events of the rank at this time
    ring_ahead,   ///< rank, stream, number: computed end of the rank's ring
  } kind = Kind::node_done;
  uint32_t rank = 0;
  trace::NodeId node{0};
  uint32_t stream = 0;
  uint64_t number = 0;
};

struct Due {
  Picoseconds time;
  uint64_t batch;
};

struct Clock {
  des::EventQueue<Event> queue;
  Pool<absl::InlinedVector<Event, 1>> batches;
  std::vector<absl::InlinedVector<Due, 4>> due;  ///< per rank, by time, future only

  Picoseconds now() const { return queue.now(); }

  /// Add the event to its rank's batch of that time.
  void at(Picoseconds time, const Event& event) {
    auto& of_rank = due[event.rank];
    auto next = of_rank.end();  // usually none is later
    while (next != of_rank.begin() && std::prev(next)->time > time) --next;
    if (next != of_rank.begin() && std::prev(next)->time == time)
      return batches[std::prev(next)->batch].push_back(event);
    const uint64_t number = batches.take_unused();
    batches[number].assign(1, event);
    of_rank.insert(next, {time, number});
    queue.push(time, {.kind = Event::Kind::batch, .rank = event.rank, .number = number});
  }
  void after(Picoseconds delay, const Event& event) { at(add_saturated(now(), delay), event); }
};

}  // namespace chakra::astra
