#include "chakra/astra/workload.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "chakra/astra/run.h"
#include "chakra/trace/share.h"

namespace chakra::astra {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

Resource resource_of(const Trace& t, NodeId n) {
  if (t.type[n] == NodeType::recv || t.type[n] == NodeType::metadata) return kNoResource;
  if (t.on_cpu(n)) return kCpu;
  return t.type[n] == NodeType::comp ? kCompute : kComm;
}

/// -1: the roofline needs a number of operations, and there is none.
Picoseconds compute_time(const device::System& system, const Trace& t, NodeId n) {
  if (!system.roofline || t.on_cpu(n)) return measured(t, n);
  if (t.tensor_bytes.empty() || t.tensor_bytes[n] == 0) return 0;
  if (t.num_ops.empty() || t.num_ops[n] == 0) return -1;
  const auto ops = static_cast<double>(t.num_ops[n]);
  const double intensity = ops / static_cast<double>(t.tensor_bytes[n]);
  const double rate = std::min(system.memory_bytes_per_s * intensity, system.peak_flop_per_s);
  return ticks(ops / rate * 1e9);
}

/// -1: the node has no valid type, or its time depends on others.
Picoseconds own_time(const device::System& system, const Trace& t, NodeId n) {
  switch (t.type[n]) {
    case NodeType::metadata: return 0;
    case NodeType::invalid: return -1;
    case NodeType::comp: return system.replay_only ? measured(t, n) : compute_time(system, t, n);
    default: return system.replay_only ? measured(t, n) : -1;
  }
}

struct RecipeHash {
  size_t operator()(const Recipe& r) const {
    return absl::Hash<std::tuple<uint64_t, uint64_t, StringId, int>>()(
        {r.bytes, r.involved, r.group, static_cast<int>(r.type) * 256 + r.involved_count});
  }
};
struct RecipeEqual {
  bool operator()(const Recipe& a, const Recipe& b) const { return a.same_key(b); }
};

/// Add a task for each node; identical collectives share a recipe.
void add_tasks(const device::System& system, const Trace& t, Column<Task>& column, std::vector<Recipe>& recipes) {
  absl::flat_hash_map<Recipe, uint32_t, RecipeHash, RecipeEqual> known;
  column.resize(t.size());
  const std::span<Task> tasks = column.edit();
  for (const NodeId n : t.nodes()) {
    Task& task = tasks[n];
    task.time = own_time(system, t, n);
    task.type = t.type[n];
    task.needs = resource_of(t, n);
    if (task.type != NodeType::coll || task.time >= 0) continue;
    const auto [found, added] = known.try_emplace(recipe_key(*t.comm(n)), static_cast<uint32_t>(recipes.size()));
    if (added) recipes.push_back(found->first);
    task.recipe = found->second;
  }
}

void set_ready(Rank& rank, NodeId n) { rank.ready[rank.tasks[n].needs].add({rank.trace->id[n], n}); }

Result<void> start(Run& run, uint32_t r, NodeId n) {
  const Task& task = run.ranks[r].tasks[n];
  if (task.time >= 0)
    return run.clock.after(task.time, {.kind = Event::Kind::node_done, .rank = r, .node = n}), Result<void>();
  switch (task.type) {
    case NodeType::coll: return start_collective(run, r, n);
    case NodeType::send:
    case NodeType::recv: return start_message(run, r, n);
    case NodeType::mem_load:
    case NodeType::mem_store: return start_memory(run, r, n);
    case NodeType::comp: return bad(run, r, n, "sim.compat.num_ops", "the roofline needs a number of operations");
    case NodeType::metadata:
    case NodeType::invalid: break;
  }
  return bad(run, r, n, "sim.compat.type", "it has no valid type");
}

}  // namespace

bool ReadyNodes::contains(NodeId node) const {
  return std::any_of(heap_.begin(), heap_.end(), [&](const Node& other) { return other.node == node; });
}

void ReadyNodes::add(Node node) {
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(), [](const Node& a, const Node& b) { return b < a; });
}

ReadyNodes::Node ReadyNodes::take_first() {
  std::pop_heap(heap_.begin(), heap_.end(), [](const Node& a, const Node& b) { return b < a; });
  const Node first = heap_.back();
  heap_.pop_back();
  return first;
}

Picoseconds measured(const Trace& t, NodeId n) {
  const int64_t micros = (t.dur_ps[n] / kPsPerNs + 500) / 1000;
  return micros > 0 ? micros * kPsPerUs : kTick;
}

Result<void> add_rank(Run& run, const Trace& t) {
  for (const trace::Defect& defect : t.defects)
    if (defect.kind == trace::Defect::Kind::dangling_ctrl)  // here, callers also order nodes
      return fail(Code::bad_input, "sim.trace.defect",
                  fmt::format("node {} of rank {} has the caller {}, which is not in the file", t.id[defect.node],
                              t.rank, defect.id),
                  {t.file});
  CHAKRA_TRY(feed::check_defects(t));
  Rank& rank = run.ranks.emplace_back(t, run.graphs);
  const auto r = static_cast<uint32_t>(run.ranks.size() - 1);
  const auto like = std::find_if(run.unlike.begin(), run.unlike.end(),
                                 [&](uint32_t other) { return trace::share_all(*run.ranks[other].trace, t); });
  if (like != run.unlike.end()) {
    rank.tasks = run.ranks[*like].tasks;
    run.collectives.ranks[r].recipes = run.collectives.ranks[*like].recipes;
  } else {
    add_tasks(run.in.system, t, rank.tasks, run.collectives.ranks[r].recipes);
    for (const uint32_t other : run.unlike)  // ranks of a program often differ in partners only
      if (rank.tasks == run.ranks[other].tasks) {
        rank.tasks = run.ranks[other].tasks;
        break;
      }
    run.unlike.push_back(r);
  }
  run.now_ready.clear();
  rank.feeder.start(run.now_ready);
  for (const feed::Ready& ready : run.now_ready) set_ready(rank, ready.node);
  return {};
}

void issue(Run& run, uint32_t r) {
  Rank& rank = run.ranks[r];
  std::vector<ReadyNodes::Node> begins = std::exchange(run.begins, {});  // what starts may issue others
  rank.ready[kNoResource].take_all(begins);
  for (const size_t resource : {kCpu, kCompute, kComm})
    if (!rank.busy[resource] && !rank.ready[resource].empty()) {
      begins.push_back(rank.ready[resource].take_first());
      rank.busy[resource] = true;
    }
  std::sort(begins.begin(), begins.end());
  for (const ReadyNodes::Node& next : begins)
    if (auto started = start(run, r, next.node); !started) return run.end_with(std::move(started.error()));
  begins.clear();
  run.begins = std::move(begins);
}

void node_done(Run& run, uint32_t r, NodeId n) {
  Rank& rank = run.ranks[r];
  const Task& task = rank.tasks[n];
  rank.busy[task.needs] = false;
  rank.finish = run.now();
  if (task.needs == kCompute) rank.computed += task.time;
  run.now_ready.clear();
  rank.feeder.done(n, run.now(), run.now_ready);
  for (const feed::Ready& ready : run.now_ready) set_ready(rank, ready.node);
  issue(run, r);
}

}  // namespace chakra::astra
