// Answers without simulating: sums over the nodes of a job, and memory by formulas.
#include "chakra/gen/stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "chakra/gen/nodes.h"
#include "chakra/gen/plan.h"
#include "chakra/gen/real.h"

namespace chakra::gen {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr double kOptimizerBytes = 12;      // of Adam: the parameter in 32 bits and two moments
constexpr double kTableOptimizerBytes = 4;  // of Adagrad: a number for each row of a table

/// Of a collective with `bytes` put in: the larger of in and out, and what a rank sends with a ring.
std::pair<double, double> buffer_and_wire(CommType type, double bytes, double ranks) {
  switch (type) {
    case CommType::all_reduce: return {bytes, 2 * bytes * (ranks - 1) / ranks};
    case CommType::all_gather: return {bytes * ranks, bytes * (ranks - 1)};
    default: return {bytes, bytes * (ranks - 1) / ranks};
  }
}

}  // namespace

std::vector<Communication> communication(const Trace& t, const std::vector<Slot>& slots, double all_ranks,
                                         std::string_view others) {
  struct Kind {
    NodeType node;
    CommType type;
    StringId group;
    bool ring;
    bool operator==(const Kind&) const = default;
  };
  std::vector<std::pair<Kind, Communication>> sums;
  for (NodeId n = 0; n < t.size(); ++n) {
    if (!is_comm(t.type[n])) continue;
    const trace::Comm& c = *t.comm(n);
    const int64_t stream = t.lanes[t.lane[n]].index;
    const Kind kind{t.type[n], c.type, c.group,
                    stream == StageNodes::kContextSend || stream == StageNodes::kContextReceive};
    auto sum = std::find_if(sums.begin(), sums.end(), [&](const auto& s) { return s.first == kind; });
    if (sum == sums.end()) sum = sums.insert(sum, {kind, {}});
    ++sum->second.count;
    sum->second.bytes += static_cast<double>(c.bytes);
  }
  std::vector<Communication> result;
  for (auto& [kind, sum] : sums) {
    if (kind.node == NodeType::coll) {
      sum.group = std::string(t.strings[kind.group]);
      const auto slot = std::find_if(slots.begin(), slots.end(), [&](const Slot& s) { return s.name == sum.group; });
      const double ranks = slot == slots.end() ? all_ranks : real(slot->size);
      std::tie(sum.bytes, sum.wire_bytes) = buffer_and_wire(kind.type, sum.bytes, ranks);
      sum.type = std::string(trace::name(kind.type));
      if (sum.group.empty()) sum.group = "all";
    } else {
      sum.group = kind.ring ? others : "pp";
      sum.type = kind.node == NodeType::send ? "SEND" : "RECV";
      sum.wire_bytes = kind.node == NodeType::send ? sum.bytes : 0;
    }
    result.push_back(std::move(sum));
  }
  std::sort(result.begin(), result.end(), [](const Communication& x, const Communication& y) {
    return std::tie(x.group, x.type) < std::tie(y.group, y.type);
  });
  return result;
}

std::vector<StorageSum> storage(const Trace& t) {
  const StringId tier = t.strings.find("storage_tier"), kind = t.strings.find("io_kind"),
                 bytes = t.strings.find("bytes");
  std::map<std::pair<std::string, std::string>, StorageSum> sums;
  for (NodeId n = 0; n < t.size(); ++n) {
    if (t.type[n] != NodeType::mem_load && t.type[n] != NodeType::mem_store) continue;
    StorageSum one{"", "", 1, 0};
    for (const trace::Attr& attr : t.attrs_of(n)) {
      if (attr.name == tier) one.tier = attr.text().value_or("");
      if (attr.name == kind) one.kind = attr.text().value_or("");
      if (attr.name == bytes) one.bytes = real(attr.integer().value_or(0));
    }
    StorageSum& sum = sums.try_emplace({one.tier, one.kind}, StorageSum{one.tier, one.kind}).first->second;
    sum.count += one.count;
    sum.bytes += one.bytes;
  }
  std::vector<StorageSum> result;
  for (const auto& [key, sum] : sums) result.push_back(sum);
  return result;
}

namespace {

/// The most that forward passes have left for backward passes to come.
double most_kept(const Plan& plan, int64_t stage) {
  std::vector<double> kept;
  for (int64_t chunk = 0; chunk < plan.pipeline.chunks; ++chunk) {
    kept.push_back(0);
    for (const Part& part : plan.parts(plan.piece(stage, chunk))) kept.back() += part.unit->kept;
  }
  double now = 0, most = 0;
  for (const Task& task : plan.schedule->tasks(plan.pipeline, stage)) {
    const double bytes = kept[static_cast<size_t>(task.chunk)];
    if (task.pass == Pass::forward) now += bytes;
    most = std::max(most, now);
    if (task.pass == Pass::backward || task.pass == Pass::weight_gradient) now -= bytes;
  }
  return most;
}

/// Of a stage: elements of parameters, and bytes by the formulas of ZeRO (Rajbhandari et al. 2020).
void add_memory(const Plan& plan, int64_t stage, ClassStats& stats) {
  const StepOptions& o = plan.o;
  const auto share = [](double elements, const Slot& slot, bool shared) {
    return shared ? std::ceil(elements / real(slot.size)) : elements;
  };
  for (int64_t chunk = 0; chunk < plan.pipeline.chunks; ++chunk)
    for (const Part& part : plan.parts(plan.piece(stage, chunk))) {
      const Parameters& p = part.parameters;
      const auto both = [&](int64_t level) {
        return share(p.dense, plan.data, o.zero >= level) + share(p.experts, plan.experts, o.zero >= level);
      };
      stats.parameters += p.dense + p.experts + p.tables;
      stats.memory.parameters += real(o.bytes_per_element) * (both(3) + p.tables);
      stats.memory.gradients += real(o.gradient_bytes) * both(2);
      stats.memory.optimizer += kOptimizerBytes * both(1) + kTableOptimizerBytes * p.tables / real(o.model.hidden);
    }
  stats.memory.activations_peak = most_kept(plan, stage);
}

/// What all ranks of a stage do beyond what one rank alone would: heads that are repeated, tokens that all have.
std::vector<Surplus> surplus(const Plan& plan) {
  StepOptions o = plan.o;
  const auto sums = [&](const std::vector<std::unique_ptr<Unit>>& units, double ranks) {
    std::map<std::string, double> by_name;
    std::vector<double> times;
    for (size_t kind = 0; kind < o.model.blocks.size(); ++kind)
      times.push_back(real(std::count(o.model.layers.begin(), o.model.layers.end(), kind)));
    for (const int64_t n : {int64_t{1}, 1 + o.model.mtp_layers, o.model.mtp_layers})
      times.push_back(o.ends ? real(n) : 0);
    for (size_t u = 0; u < units.size(); ++u)
      for (const Program* program : {&units[u]->forward, &units[u]->backward})
        for (const Step& step : *program)
          if (step.work.flops > 0)
            by_name[step.name.substr(0, std::min(step.name.rfind(".dgrad"), step.name.rfind(".wgrad")))] +=
                step.work.flops * times[u] * ranks;
    return by_name;
  };
  const double stage_ranks = real(o.tp * o.cp * o.dp);
  const auto alone = sums(compile_parts(o, Mesh{}), 1), here = sums(plan.kinds, stage_ranks);
  std::vector<Surplus> result;
  for (const auto& [name, flops] : here) {
    const auto found = alone.find(name);
    const double more = flops - (found == alone.end() ? 0 : found->second);
    if (more > 1e-9 * flops) result.push_back({name, more * real(o.micro_batches)});
  }
  return result;
}

}  // namespace

Result<StepStats> stats(const StepOptions& options, const trace::ClassJob& job) {
  CHAKRA_ASSIGN(const Plan plan, gen::plan(options));
  const StepOptions& o = plan.o;
  StepStats result;
  result.parameters = parameters(o.model);
  result.active_parameters = active_parameters(o.model);
  result.tokens = real(o.sequence) * real(o.micro_batch_size) * real(o.micro_batches) * real(o.dp);
  const double work = 3.0 * real(o.micro_batches) * real(plan.pipeline.chunks) / real(plan.schedule->copies);
  const auto share = [&](const PassTimes& times) {
    return plan.schedule->ideal_idle(plan.pipeline, times) /
           (times.forward + times.input_gradient + times.weight_gradient);
  };
  result.bubble = 3 * share({1, 1, 1, 3}) / work;
  result.bubble_depends = std::abs(share({1, 1, 1, 3}) - share({1, 2, 1, 4})) > 1e-9;
  for (size_t cls = 0; cls < job.classes.size(); ++cls) {
    const Trace& t = job.classes[cls];
    ClassStats& stats = result.classes.emplace_back();
    stats.first_rank = t.rank;
    stats.ranks = plan.mesh.ranks() / plan.pipeline.stages;
    for (const uint64_t ops : t.num_ops) stats.operations += static_cast<double>(ops);
    result.operations += stats.operations * real(stats.ranks);
    const auto stage = static_cast<int64_t>(cls);
    add_memory(plan, stage, stats);
    stats.communication = communication(t, plan.slots(stage), real(plan.mesh.ranks()), "cp");
    stats.storage = storage(t);
  }
  result.surplus = surplus(plan);
  return result;
}

}  // namespace chakra::gen
