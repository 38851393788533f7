#include "chakra/astra/memory.h"

#include "chakra/astra/run.h"

namespace chakra::astra {
namespace {

using device::MemoryKind;
using trace::NodeId;

uint32_t memory_of(const Run& run, uint32_t r) {
  const device::System& system = run.in.system;
  return system.memory == MemoryKind::pool ? 0 : r / static_cast<uint32_t>(system.remote_memory_ranks_per_node);
}

Picoseconds memory_time(const Run& run, uint32_t r, NodeId n) {
  const trace::Trace& t = *run.ranks[r].trace;
  const double bytes = t.tensor_bytes.empty() ? 0 : static_cast<double>(t.tensor_bytes[n]);
  return add_saturated(ticks(run.in.system.remote_memory_latency_ns),
                       ticks(bytes / run.in.system.remote_memory_bytes_per_ns));
}

void serve(Run& run, SharedMemory& memory) {
  if (memory.busy || memory.waiting.empty()) return;
  memory.busy = true;
  const auto [r, n] = memory.waiting.front();
  run.clock.after(memory_time(run, r, n), {.kind = Event::Kind::memory_done, .rank = r, .node = n});
}

}  // namespace

Result<void> start_memory(Run& run, uint32_t r, NodeId n) {
  if (run.in.system.memory == MemoryKind::none)
    return bad(run, r, n, "sim.compat.memory",
               "the node uses remote memory, but the memory file defines no remote memory");
  if (run.in.system.memory == MemoryKind::per_rank) {
    run.clock.after(memory_time(run, r, n), {.kind = Event::Kind::node_done, .rank = r, .node = n});
    return {};
  }
  SharedMemory& memory = run.memories[memory_of(run, r)];
  memory.waiting.emplace_back(r, n);
  serve(run, memory);
  return {};
}

void memory_done(Run& run, uint32_t r, NodeId n) {
  SharedMemory& memory = run.memories[memory_of(run, r)];
  memory.busy = false;
  memory.waiting.pop_front();
  serve(run, memory);
  node_done(run, r, n);
}

}  // namespace chakra::astra
