// Answers without simulating: sums over the nodes of a job, and memory by formulas.
#include "chakra/gen/stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "chakra/base/real.h"
#include "chakra/gen/nodes.h"
#include "chakra/gen/plan.h"

namespace chakra::gen {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr double kTableOptimizerBytes = 4;  // of Adagrad: a number for each row of a table

/// Of a collective with `bytes` contributed: the larger of in and out, and the bytes that a rank sends with a ring.
std::pair<double, double> buffer_and_wire(CommType type, double bytes, double ranks) {
  switch (type) {
    case CommType::all_reduce: return {bytes, 2 * bytes * (ranks - 1) / ranks};
    case CommType::all_gather: return {bytes * ranks, bytes * (ranks - 1)};
    default: return {bytes, bytes * (ranks - 1) / ranks};
  }
}

}  // namespace

std::vector<Communication> communication(const Trace& t, const std::vector<Slot>& slots, double all_ranks,
                                         std::string_view others, const Moved& uneven) {
  struct Kind {
    NodeType node;
    CommType type;
    StringId group;
    bool ring;
    bool operator==(const Kind&) const = default;
  };
  struct Sum {
    Kind kind;
    Communication all;
    bool uneven;
  };
  std::vector<Sum> sums;
  for (const NodeId n : t.nodes()) {
    if (!is_comm(t.type[n])) continue;
    const trace::Comm& c = *t.comm(n);
    const int64_t stream = t.lanes[t.lane[n]].index;
    const Kind kind{t.type[n], c.type, c.group,
                    stream == StageNodes::kContextSend || stream == StageNodes::kContextReceive};
    auto sum = std::find_if(sums.begin(), sums.end(), [&](const Sum& s) { return s.kind == kind; });
    if (sum == sums.end()) sum = sums.insert(sum, {kind, {}, false});
    ++sum->all.count;
    if (c.in_split.empty()) sum->all.bytes += static_cast<double>(c.bytes);
    else sum->uneven = true;
  }
  std::vector<Communication> result;
  for (auto& [kind, sum, has_uneven] : sums) {
    if (kind.node == NodeType::coll) {
      sum.group = std::string(t.strings[kind.group]);
      const auto slot =
          std::find_if(slots.begin(), slots.end(), [&sum = sum](const Slot& s) { return s.name == sum.group; });
      const double ranks = slot == slots.end() ? all_ranks : real(slot->size);
      std::tie(sum.bytes, sum.wire_bytes) = buffer_and_wire(kind.type, sum.bytes, ranks);
      sum.bytes += has_uneven ? uneven.bytes : 0;
      sum.wire_bytes += has_uneven ? uneven.wire_bytes : 0;
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
  for (const NodeId n : t.nodes()) {
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

/// The parts of a stage, by chunk.
using Chunks = std::vector<std::vector<Part>>;
Chunks chunks_of(const Plan& plan, int64_t stage, int64_t place) {
  Chunks chunks;
  for (int64_t chunk = 0; chunk < plan.pipeline.chunks; ++chunk)
    chunks.push_back(plan.parts(plan.piece(stage, chunk), place));
  return chunks;
}

/// Of the all-to-alls with uneven parts in which the member `place` takes part.
Moved uneven(const Plan& plan, const Chunks& chunks, int64_t stage, int64_t place) {
  Moved sum;
  if (plan.places() == 1) return sum;
  for (const Task& task : plan.schedule->tasks(plan.pipeline, stage))
    for (const Part& part : chunks[static_cast<size_t>(task.chunk)])
      for (const Step& step : part.unit->program(task.pass)) {
        if (step.in_split.empty()) continue;
        const int64_t sent = std::accumulate(step.in_split.begin(), step.in_split.end(), int64_t{0}),
                      received = std::accumulate(step.out_split.begin(), step.out_split.end(), int64_t{0});
        sum.bytes += real(plan.o.bytes_per_element) * real(std::max(sent, received));
        sum.wire_bytes += real(plan.o.bytes_per_element) * real(sent - step.in_split[static_cast<size_t>(place)]);
      }
  return sum;
}

/// Bytes of a part.
struct Working {
  double kept = 0, again = 0;          ///< activations
  double gathered = 0, gradients = 0;  ///< beyond the rank's share of them
  double cast = 0;                     ///< matrices in 8 bits, where they are not kept
  double loss = 0;                     ///< copies of the logits
};

/// What lies in memory while the tasks of a stage go by.
class Activations {
 public:
  Activations(const Plan& plan, const Chunks& chunks, int64_t stage) {
    const StepOptions& o = plan.o;
    const auto beyond = [&](const Parameters& p, int64_t level) { return Plan::all(p, level) - plan.held(p, level); };
    for (const std::vector<Part>& chunk : chunks) {
      std::vector<Working>& parts = chunks_.emplace_back();
      for (const Part& part : chunk)
        parts.push_back({part.unit->kept, part.unit->computed_again,
                         real(o.bytes_per_element) * beyond(part.parameters, 3),
                         real(o.gradient_bytes) * beyond(part.parameters, 2),
                         plan.gathers(part.parameters) ? part.parameters.fp8 : 0, part.unit->of_loss});
    }
    for (const Task& task : plan.schedule->tasks(plan.pipeline, stage)) add(task);
  }
  /// The most that forward passes have left for backward passes to come; the most with what is at work.
  double most_kept() const { return most_kept_; }
  double most() const { return most_; }

 private:
  void add(const Task& task) {
    const std::vector<Working>& parts = chunks_[static_cast<size_t>(task.chunk)];
    const bool forward = task.pass == Pass::forward;
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t at = forward ? i : parts.size() - 1 - i;  // the next is gathered, the one before reduced meanwhile
      const Working& now = parts[at];
      const Working* const next = i + 1 < parts.size() ? &parts[forward ? at + 1 : at - 1] : nullptr;
      const Working* const before = i > 0 ? &parts[forward ? at - 1 : at + 1] : nullptr;
      double work = task.pass == Pass::weight_gradient ? 0 : now.loss;
      if (task.pass != Pass::weight_gradient) work += now.gathered + now.cast + (next ? next->gathered : 0);
      if (task.pass == Pass::backward || task.pass == Pass::weight_gradient)
        work += now.gradients + (before ? before->gradients : 0);
      if (forward) kept_ += now.kept;
      if (task.pass == Pass::input_gradient) again_ += now.again;  // the weights' gradients need it, too
      most_kept_ = std::max(most_kept_, kept_);
      most_ = std::max(most_, kept_ + again_ + work + (task.pass == Pass::backward ? now.again : 0));
      if (task.pass == Pass::weight_gradient) again_ -= now.again;
      if (task.pass == Pass::backward || task.pass == Pass::weight_gradient) kept_ -= now.kept;
    }
  }

  std::vector<std::vector<Working>> chunks_;
  double kept_ = 0, again_ = 0, most_kept_ = 0, most_ = 0;
};

/// Of a stage: elements of parameters, and bytes by the formulas of ZeRO (Rajbhandari et al. 2020).
void add_memory(const Plan& plan, const Chunks& chunks, int64_t stage, ClassStats& stats) {
  const StepOptions& o = plan.o;
  for (const std::vector<Part>& chunk : chunks)
    for (const Part& part : chunk) {
      const Parameters& p = part.parameters;
      stats.parameters += p.dense + p.experts + p.tables;
      // FSDP has what it trains in 32 bits alone.
      const double copy = plan.held(p, 3) - (o.framework.fsdp && plan.gathers(p) ? plan.held(p, 1) : 0);
      stats.memory.parameters += real(o.bytes_per_element) * (copy + p.tables) + (plan.gathers(p) ? 0 : 2 * p.fp8);
      stats.memory.gradients += real(o.gradient_bytes) * plan.held(p, 2);
      stats.memory.optimizer +=
          optimizer_bytes(o, p) * plan.held(p, 1) + kTableOptimizerBytes * p.tables / real(o.model.hidden);
    }
  const Activations activations(plan, chunks, stage);
  stats.memory.activations_peak = activations.most_kept();
  stats.memory.working = activations.most() - activations.most_kept();
}

/// How often a model has each of compile_parts().
std::vector<double> times_of_parts(const StepOptions& o) {
  std::vector<double> times;
  for (size_t kind = 0; kind < o.model.blocks.size(); ++kind)
    times.push_back(real(std::count(o.model.layers.begin(), o.model.layers.end(), kind)));
  for (const int64_t n : {int64_t{1}, 1 + o.model.mtp_layers, o.model.mtp_layers})
    times.push_back(o.ends ? real(n) : 0);
  return times;
}

/// What all ranks of a stage do beyond what one rank alone would: heads that are repeated, tokens that all have.
std::vector<Surplus> surplus(const Plan& plan) {
  const StepOptions& o = plan.o;
  const std::vector<double> times = times_of_parts(o);
  const auto sums = [&](const std::vector<std::shared_ptr<const Unit>>& units, double ranks) {
    std::map<std::string, double> by_name;
    for (size_t u = 0; u < units.size(); ++u)
      for (const Program* program : {&units[u]->forward, &units[u]->backward})
        for (const Step& step : *program)
          if (step.work.flops > 0) by_name[step.of] += step.work.flops * times[u] * ranks;
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

/// Elements of all parameters of the step, and of those that a token uses. Without ends the step has the layers alone.
std::pair<int64_t, int64_t> parameters_of(const StepOptions& o) {
  if (o.ends) return {parameters(o.model), active_parameters(o.model)};
  std::pair<int64_t, int64_t> sum;
  for (const uint8_t kind : o.model.layers) {
    const model::Block& block = o.model.blocks[kind];
    const model::LayerParameters layer = layer_parameters(o.model, block);
    sum.first += layer.total();
    sum.second += layer.with_experts(block.experts ? block.experts->active : 0);
  }
  return sum;
}

}  // namespace

ModelWork model_work(const Plan& plan) {
  const StepOptions& o = plan.o;
  const std::vector<double> times = times_of_parts(o);
  const std::vector<std::shared_ptr<const Unit>> alone = compile_parts(o, Mesh{});
  ModelWork sum;
  for (size_t u = 0; u < alone.size(); ++u)
    for (const Program* program : {&alone[u]->forward, &alone[u]->backward})
      for (const Step& step : *program) {
        if (step.name.ends_with(".again")) continue;
        const double operations = step.work.flops * times[u] * real(o.micro_batches);
        sum.operations += operations;
        if (step.fp8) sum.fp8_operations += operations;
      }
  return sum;
}

Result<StepStats> stats(const StepOptions& options, const trace::ClassJob& job) {
  CHAKRA_ASSIGN(const Plan plan, gen::plan(options));
  const StepOptions& o = plan.o;
  StepStats result;
  std::tie(result.parameters, result.active_parameters) = parameters_of(o);
  result.trained_parameters = adapters(o);
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
    stats.ranks = plan.mesh.ranks() / plan.pipeline.stages / plan.places();
    for (const NodeId n : ids<NodeId>(t.num_ops.size())) {
      stats.operations += static_cast<double>(t.num_ops[n]);
      if (o.fp8 && t.dtype_of(n) == trace::DType::f8) stats.fp8_operations += static_cast<double>(t.num_ops[n]);
    }
    result.operations += stats.operations * real(stats.ranks);
    result.fp8_operations += stats.fp8_operations * real(stats.ranks);
    const int64_t stage = static_cast<int64_t>(cls) / plan.places(), place = static_cast<int64_t>(cls) % plan.places();
    const Chunks chunks = chunks_of(plan, stage, place);
    add_memory(plan, chunks, stage, stats);
    stats.communication =
        communication(t, plan.slots(stage), real(plan.mesh.ranks()), "cp", uneven(plan, chunks, stage, place));
    stats.storage = storage(t);
  }
  result.surplus = surplus(plan);
  return result;
}

}  // namespace chakra::gen
