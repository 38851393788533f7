#include "chakra/astra/collectives.h"

#include <algorithm>
#include <utility>

#include "chakra/astra/phases.h"
#include "chakra/astra/run.h"

namespace chakra::astra {
namespace {

using trace::CommType;
using trace::NodeId;

/// The queue whose turn it is: of all, of the first half or of the second.
Turn take_turn(RankQueues& rank, CommType type, const Plan& p, size_t queues) {
  const size_t middle = queues / 2;
  RankQueues::QueueTurn& next = rank.turns[p.dim];
  Turn turn;
  size_t queue = 0;
  if (p.half == Plan::Half::all) {
    queue = next.all++ % queues;
    turn.clockwise = queues == 1 || queue < middle;
  } else if (p.half == Plan::Half::first) {
    queue = queues == 1 ? 0 : next.first++ % middle;
  } else {
    queue = queues == 1 ? 0 : middle + next.second++ % (queues - middle);
    turn.clockwise = false;
  }
  turn.queue = static_cast<uint32_t>(p.dim * queues + queue);
  if (p.algorithm.kind == AlgorithmKind::tree) {
    bool& max_root = rank.max_root.try_emplace({type, p.dim}, true).first->second;
    turn.max_root = std::exchange(max_root, !max_root);
  }
  return turn;
}

int64_t next_priority(const Run& run, RankQueues& rank, const trace::Comm& comm) {
  const std::string& policy = run.in.system.scheduling;
  return policy == "LIFO" ? rank.next_priority++ : policy == "FIFO" ? rank.next_priority-- : comm.priority;
}

void enqueue(Run& run, uint32_t id) {
  const Stream& s = run.collectives.streams[id];
  auto& waiting = run.collectives.ranks[s.rank].queues[s.turn().queue].waiting;
  waiting.push_back({s.priority, run.collectives.next_order++, id});
  std::push_heap(waiting.begin(), waiting.end());
}

void run_queue(Run& run, uint32_t r, size_t number) {
  PhaseQueue& queue = run.collectives.ranks[r].queues[number];
  while (!queue.waiting.empty() && queue.running < run.collectives.most_running) {
    const uint32_t id = queue.waiting.front().stream;
    std::pop_heap(queue.waiting.begin(), queue.waiting.end());
    queue.waiting.pop_back();
    ++queue.running;
    begin_phase(run, id);
  }
}

/// A chunk of a call, which waits in its first queue.
void start_chunk(Run& run, const Call& call, uint32_t number, const Recipe& recipe, int64_t stream, int64_t priority) {
  Collectives& all = run.collectives;
  const uint32_t id = all.streams.take_unused();
  Stream& s = all.streams[id];
  s.rank = call.rank;
  s.call = number;
  s.id = stream;
  s.priority = priority;
  s.recipe = &recipe;
  s.current = 0;
  s.turns.clear();
  const auto custom = run.in.custom.find(recipe.type);
  if (custom != run.in.custom.end()) {
    s.custom = std::make_unique<Custom>(*custom->second.find(call.rank));
    s.turns.emplace_back();
  } else {
    for (const Plan& p : recipe.plans)
      s.turns.push_back(take_turn(all.ranks[call.rank], recipe.type, p, all.queues_per_dim));
  }
  enqueue(run, id);
  run_queue(run, call.rank, s.turns[0].queue);
}

}  // namespace

void prepare_collectives(Run& run, uint32_t ranks) {
  Collectives& all = run.collectives;
  const auto queues = run.in.options.queues_per_dimension;
  all.queues_per_dim = static_cast<size_t>(queues);
  all.most_running = (run.in.system.active_chunks + queues - 1) / queues;
  all.endpoint_delay =
      ticks(std::trunc(static_cast<double>(run.in.system.endpoint_delay_ns) * run.in.options.injection_scale));
  all.everyone.everyone = true;
  for (uint32_t r = 0; r < ranks; ++r) all.everyone.ranks.push_back(r);
  all.ranks.resize(ranks);
  for (RankQueues& rank : all.ranks) {
    rank.queues.resize(run.dims() * all.queues_per_dim);
    rank.turns.resize(run.dims());
  }
}

Result<void> start_collective(Run& run, uint32_t r, NodeId n) {
  const trace::Trace& t = *run.ranks[r].trace;
  RankQueues& rank = run.collectives.ranks[r];
  Recipe& recipe = rank.recipes[run.ranks[r].tasks[n].recipe];
  if (recipe.type == CommType::broadcast) {
    run.note(Quirk::broadcast);
    return run.clock.after(measured(t, n), {.kind = Event::Kind::node_done, .rank = r, .node = n}), Result<void>();
  }
  if (recipe.chunks == 0) CHAKRA_TRY(find_recipe(run, r, n, recipe));
  int64_t& next_stream = recipe.named
                             ? rank.next_group_stream.try_emplace(recipe.group, recipe.first_stream).first->second
                             : rank.next_stream;
  const int64_t priority = next_priority(run, rank, *t.comm(n));
  const Call call{r, n, recipe.chunks};
  const uint32_t number = run.collectives.calls.put(call);
  for (uint64_t c = 0; c < recipe.chunks; ++c) start_chunk(run, call, number, recipe, next_stream++, priority);
  return {};
}

void end_phase(Run& run, uint32_t id) {
  Collectives& all = run.collectives;
  Stream& s = all.streams[id];
  const uint32_t r = s.rank;
  const size_t left = s.turn().queue;
  s.phase.reset();
  if (++s.current < s.turns.size()) {
    const size_t entered = s.turn().queue;
    --all.ranks[r].queues[left].running;
    enqueue(run, id);
    run_queue(run, r, left);
    run_queue(run, r, entered);
    return;
  }
  s.custom.reset();
  const uint32_t number = s.call;
  all.streams.drop(id);
  Call& call = all.calls[number];
  if (--call.chunks_left == 0) {  // what waits for the collective goes on before its queue is free
    const NodeId n = call.node;
    all.calls.drop(number);
    node_done(run, r, n);
  }
  --all.ranks[r].queues[left].running;
  run_queue(run, r, left);
}

}  // namespace chakra::astra
