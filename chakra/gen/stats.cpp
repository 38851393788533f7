// Answers without simulating: sums over the nodes of a job, and memory by formulas.
#include "chakra/gen/stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
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

struct Moved {
  double bytes = 0, wire_bytes = 0;
};
/// Of an all-to-all with parts of its own, seen by the member `place`.
Moved uneven(const trace::Comm& c, int64_t place, int64_t element) {
  std::vector<uint64_t> in, out;
  trace::parse_split(c.in_split, in);
  trace::parse_split(c.out_split, out);
  const uint64_t sent = std::accumulate(in.begin(), in.end(), uint64_t{0}),
                 received = std::accumulate(out.begin(), out.end(), uint64_t{0});
  return {real(element) * static_cast<double>(std::max(sent, received)),
          real(element) * static_cast<double>(sent - in[static_cast<size_t>(place)])};
}

}  // namespace

std::vector<Communication> communication(const Trace& t, const std::vector<Slot>& slots, double all_ranks,
                                         std::string_view others, int64_t place, int64_t element) {
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
    Moved uneven;
  };
  std::vector<Sum> sums;
  std::map<const char*, Moved> splits;  // equal ones share their text
  for (NodeId n = 0; n < t.size(); ++n) {
    if (!is_comm(t.type[n])) continue;
    const trace::Comm& c = *t.comm(n);
    const int64_t stream = t.lanes[t.lane[n]].index;
    const Kind kind{t.type[n], c.type, c.group,
                    stream == StageNodes::kContextSend || stream == StageNodes::kContextReceive};
    auto sum = std::find_if(sums.begin(), sums.end(), [&](const Sum& s) { return s.kind == kind; });
    if (sum == sums.end()) sum = sums.insert(sum, {kind, {}, {}});
    ++sum->all.count;
    if (c.in_split.empty()) {
      sum->all.bytes += static_cast<double>(c.bytes);
      continue;
    }
    const auto [split, added] = splits.try_emplace(c.in_split.data());
    if (added) split->second = uneven(c, place, element);
    sum->uneven.bytes += split->second.bytes;
    sum->uneven.wire_bytes += split->second.wire_bytes;
  }
  std::vector<Communication> result;
  for (auto& [kind, sum, uneven] : sums) {
    if (kind.node == NodeType::coll) {
      sum.group = std::string(t.strings[kind.group]);
      const auto slot = std::find_if(slots.begin(), slots.end(), [&](const Slot& s) { return s.name == sum.group; });
      const double ranks = slot == slots.end() ? all_ranks : real(slot->size);
      std::tie(sum.bytes, sum.wire_bytes) = buffer_and_wire(kind.type, sum.bytes, ranks);
      sum.bytes += uneven.bytes;
      sum.wire_bytes += uneven.wire_bytes;
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

/// Elements of a rank's share.
double share(double elements, const Slot& slot) { return std::ceil(elements / real(slot.size)); }

/// Bytes of a part.
struct Working {
  double kept = 0, again = 0;          ///< activations
  double gathered = 0, gradients = 0;  ///< beyond the rank's share of them
};

/// What lies in memory while the tasks of a stage go by.
class Activations {
 public:
  Activations(const Plan& plan, int64_t stage, int64_t place) {
    const StepOptions& o = plan.o;
    const auto beyond = [](double elements, const Slot& slot) { return elements - share(elements, slot); };
    for (int64_t chunk = 0; chunk < plan.pipeline.chunks; ++chunk) {
      std::vector<Working>& parts = chunks_.emplace_back();
      for (const Part& part : plan.parts(plan.piece(stage, chunk), place)) {
        const double others = beyond(part.parameters.dense, plan.data) + beyond(part.parameters.experts, plan.experts);
        parts.push_back({part.unit->kept, part.unit->computed_again,
                         o.zero == 3 ? real(o.bytes_per_element) * others : 0,
                         o.zero >= 2 ? real(o.gradient_bytes) * others : 0});
      }
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
      double work = 0;
      if (task.pass != Pass::weight_gradient) work += now.gathered + (next ? next->gathered : 0);
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
void add_memory(const Plan& plan, int64_t stage, int64_t place, ClassStats& stats) {
  const StepOptions& o = plan.o;
  for (int64_t chunk = 0; chunk < plan.pipeline.chunks; ++chunk)
    for (const Part& part : plan.parts(plan.piece(stage, chunk), place)) {
      const Parameters& p = part.parameters;
      const auto both = [&](int64_t level) {
        return o.zero >= level ? share(p.dense, plan.data) + share(p.experts, plan.experts) : p.dense + p.experts;
      };
      stats.parameters += p.dense + p.experts + p.tables;
      stats.memory.parameters += real(o.bytes_per_element) * (both(3) + p.tables);
      stats.memory.gradients += real(o.gradient_bytes) * both(2);
      stats.memory.optimizer += kOptimizerBytes * both(1) + kTableOptimizerBytes * p.tables / real(o.model.hidden);
    }
  const Activations activations(plan, stage, place);
  stats.memory.activations_peak = activations.most_kept();
  stats.memory.working = activations.most() - activations.most_kept();
}

/// What all ranks of a stage do beyond what one rank alone would: heads that are repeated, tokens that all have.
std::vector<Surplus> surplus(const Plan& plan) {
  StepOptions o = plan.o;
  const auto sums = [&](const std::vector<std::shared_ptr<const Unit>>& units, double ranks) {
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
    stats.ranks = plan.mesh.ranks() / plan.pipeline.stages / plan.places();
    for (const uint64_t ops : t.num_ops) stats.operations += static_cast<double>(ops);
    result.operations += stats.operations * real(stats.ranks);
    const int64_t stage = static_cast<int64_t>(cls) / plan.places(), place = static_cast<int64_t>(cls) % plan.places();
    add_memory(plan, stage, place, stats);
    stats.communication =
        communication(t, plan.slots(stage), real(plan.mesh.ranks()), "cp", place, o.bytes_per_element);
    stats.storage = storage(t);
  }
  result.surplus = surplus(plan);
  return result;
}

}  // namespace chakra::gen
