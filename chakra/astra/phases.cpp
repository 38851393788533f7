#include "chakra/astra/phases.h"

#include <cmath>
#include <vector>

#include "chakra/astra/run.h"

namespace chakra::astra {
namespace {

using trace::NodeId;
using trace::NodeType;

constexpr Picoseconds kGroupDelay = 10 * kTick;  // a strict subset of the ranks ignores endpoint-delay [3]

void act(Run& run, uint32_t id, const Actions& actions) {
  for (const Action& action : actions) {
    const Stream& s = run.collectives.streams[id];
    const Line& line = s.plan().line;
    const int64_t tag = s.id % kMessageTags;  // those of group 500 are those of all ranks again [5]
    switch (action.kind) {
      case Action::Kind::bundle:
        run.clock.after(endpoint_delay(run, s),
                        {.kind = action.reduces ? Event::Kind::reduction : Event::Kind::bundle_done,
                         .rank = s.rank,
                         .stream = id,
                         .number = action.bytes});
        break;
      case Action::Kind::send: send(run, {tag, s.rank, line.rank(action.peer), action.bytes}, {}); break;
      case Action::Kind::receive:
        receive(run, {tag, line.rank(action.peer), s.rank, action.bytes},
                {.kind = Party::Kind::phase, .rank = s.rank, .stream = id});
        break;
      case Action::Kind::end: return end_phase(run, id);
    }
  }
}

/// Above the tags of all other messages, and different for each chunk. Errors: sim.compat.group.
Result<int64_t> custom_tag(const Run& run, const Stream& s, int64_t tag) {
  constexpr int64_t kLastStream = INT64_MAX / kMessageTags - 2;
  if (s.id > kLastStream)
    return bad(run, s.rank, run.collectives.calls[s.call].node, "sim.compat.group",
               "the number of the group is too high for a custom collective; use numbers up to 18,000");
  return (s.id + 1) * kMessageTags + std::max<int64_t>(0, tag) % kMessageTags;
}

/// All that is ready starts at once: nothing is in short supply there.
void run_custom(Run& run, uint32_t id, const std::vector<feed::Ready>& ready) {
  const Stream& s = run.collectives.streams[id];
  const trace::Trace& t = s.custom->trace;
  for (const feed::Ready& next : ready) {
    const NodeType type = t.type[next.node];
    if (type != NodeType::send && type != NodeType::recv) {
      run.clock.after(measured(t, next.node),
                      {.kind = Event::Kind::custom_done, .rank = s.rank, .node = next.node, .stream = id});
      continue;
    }
    const Party party{.kind = Party::Kind::custom, .rank = s.rank, .node = next.node, .stream = id};
    const auto tag = custom_tag(run, s, t.comm(next.node)->tag);
    if (!tag) return run.end_with(tag.error());
    if (auto begun = start_peer_to_peer(run, t, next.node, s.rank, *tag, party); !begun)
      return run.end_with(std::move(begun.error()));
  }
}

}  // namespace

Picoseconds endpoint_delay(const Run& run, const Stream& s) {
  return s.recipe->everyone ? run.collectives.endpoint_delay : kGroupDelay;
}

Picoseconds reduction(const Run& run, uint64_t bytes) {
  const double rate = run.in.system.memory_bytes_per_s;
  return rate == 0 ? 0 : ticks(3 * std::floor(static_cast<double>(bytes) / rate * 1e9));
}

void begin_phase(Run& run, uint32_t id) {
  Stream& s = run.collectives.streams[id];
  if (s.custom) {
    std::vector<feed::Ready> ready;
    s.custom->feeder.start(ready);
    return run_custom(run, id, ready);
  }
  const Plan& p = s.plan();
  const Options& options = run.in.options;
  if (p.is_ring() && !options.rendezvous && !options.every_message) {
    if (options.congestion_aware) {
      count_ring(run);
    } else if (run.collectives.queues_per_dim == 1) {
      // With several queues rings go both ways, and those that end at one time do so in an order that only their
      // messages tell.
      return join_ring(run, id);
    }
  }
  s.phase = std::make_unique<Phase>(p.algorithm, p.type, p.line.self, p.line.places, p.bytes, s.turn().clockwise,
                                    s.recipe->everyone, s.turn().max_root);
  Actions actions;
  s.phase->start(actions);
  act(run, id, actions);
}

void reduce(Run& run, const Event& event) {
  run.clock.after(reduction(run, event.number),
                  {.kind = Event::Kind::bundle_done, .rank = event.rank, .stream = event.stream});
}

void bundle_done(Run& run, uint32_t id) {
  Actions actions;
  run.collectives.streams[id].phase->bundle_done(actions);
  act(run, id, actions);
}

void phase_received(Run& run, uint32_t id) {
  Actions actions;
  run.collectives.streams[id].phase->received(actions);
  act(run, id, actions);
}

void custom_done(Run& run, uint32_t id, NodeId n) {
  std::vector<feed::Ready> ready;
  run.collectives.streams[id].custom->feeder.done(n, run.now(), ready);
  run_custom(run, id, ready);
  if (run.collectives.streams[id].custom->feeder.remaining() == 0) end_phase(run, id);
}

}  // namespace chakra::astra
