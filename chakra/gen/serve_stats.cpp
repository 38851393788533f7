// Answers about serving without simulating: sums over nodes and programs, and memory by formulas.
#include <algorithm>

#include "chakra/base/real.h"
#include "chakra/gen/serve_plan.h"
#include "chakra/gen/stats.h"

namespace chakra::gen {
namespace {

/// What one rank does and reads in a pass for layers of a stage, and its ends.
struct Sum {
  double operations = 0, parameter_bytes = 0, cache_bytes = 0, parameters = 0, fp8 = 0, activations = 0;
  void add(const Unit& unit, double times) {
    for (const Step& step : unit.forward) operations += times * step.work.flops;
    parameter_bytes += times * unit.reads.parameters;
    cache_bytes += times * unit.reads.cache;
    parameters += times * (unit.parameters.dense + unit.parameters.experts);
    fp8 += times * unit.parameters.fp8;
    if (times > 0) activations = std::max(activations, unit.largest);
  }
};

class Counter {
 public:
  explicit Counter(const ServePlan& plan) : p_(plan) {}

  /// `first`, `end`: layers; with embedding and head where these are the model's first and last.
  Sum sum(const std::vector<Unit>& units, int64_t first, int64_t end) const {
    Sum result;
    const Model& m = p_.o.model;
    const auto layers = static_cast<int64_t>(m.layers.size());
    for (size_t kind = 0; kind < m.blocks.size(); ++kind)
      result.add(units[kind], real(std::count(m.layers.begin() + first, m.layers.begin() + end, kind)));
    if (first == 0) result.add(units[m.blocks.size()], 1);
    if (end == layers) result.add(units.back(), 1);
    return result;
  }

  void phases(ServeStats& stats) const {
    const auto layers = static_cast<int64_t>(p_.o.model.layers.size());
    for (const Side& side : p_.sides) {
      const double replicas = real(side.mesh.of(Axis::dp)), alike = real(side.mesh.of(Axis::tp)) * replicas;
      for (const ServePass& pass : side.passes) {
        PhaseStats& phase = pass.decode ? stats.decode : stats.prefill;
        const Sum each = sum(p_.units(side.mesh, pass), 0, layers);
        const Sum alone = sum(p_.units(Mesh{}, pass), 0, layers);
        phase.tokens += pass.tokens * replicas;
        phase.operations += each.operations * alike;
        phase.surplus += each.operations * alike - alone.operations * replicas;
        phase.parameter_bytes += each.parameter_bytes * alike;
        phase.cache_bytes += each.cache_bytes * alike;
      }
    }
  }

  void rank(const Side& side, int64_t stage, ServeClassStats& stats) const {
    const auto at = [](int64_t n) { return static_cast<size_t>(n); };
    const int64_t first = side.first_layers[at(stage)], end = side.first_layers[at(stage) + 1];
    Sum whole = sum(p_.units(side.mesh, ServePlan::whole_pass()), first, end);
    const Model& m = p_.o.model;
    if (m.tied && side.stages() == 1)
      whole.parameters -= p_.units(side.mesh, ServePlan::whole_pass()).back().parameters.largest;
    stats.parameters = whole.parameters;
    stats.memory.parameters = whole.parameters * p_.element() - whole.fp8 * (p_.element() - 1);
    int64_t chunks = 0;
    double prompts = 0;
    for (const ServePass& pass : side.passes) {
      const Sum each = sum(p_.units(side.mesh, pass), first, end);
      stats.parameter_bytes += each.parameter_bytes;
      stats.cache_bytes += each.cache_bytes;
      stats.memory.activations = std::max(stats.memory.activations, each.activations);
      (pass.decode ? stats.decode : stats.prefill) = true;
      chunks += !pass.decode;
      prompts += pass.decode ? 0 : pass.tokens;
    }
    for (int64_t layer = first; layer < end; ++layer) {
      const Attention& a = p_.attention(layer);
      const double width = p_.cache_width(a, side.mesh);
      stats.memory.cache += (1 - p_.o.kv_tier_share) * side.held_tokens(a) * width * p_.cache_element();
      if (a.kv_rank == 0 || !p_.o.absorbed || chunks < 2) continue;
      const Extent heads = cache_extent(a, false);
      stats.memory.expanded += prompts * heads.count / real(side.mesh.of(Axis::tp)) * heads.unit * p_.element();
    }
  }

 private:
  const ServePlan& p_;
};

}  // namespace

Result<ServeStats> serve_stats(const ServeOptions& options, const trace::ClassJob& job) {
  CHAKRA_ASSIGN(const ServePlan plan, serve_plan(options));
  ServeStats result;
  result.parameters = parameters(plan.o.model);
  result.active_parameters = active_parameters(plan.o.model);
  for (size_t layer = 0; layer < plan.o.model.layers.size(); ++layer) {
    const Extent all = plan.cache(plan.o.model.block(layer).attention);
    result.kv_bytes_per_token += static_cast<int64_t>(all.count * all.unit) * plan.o.kv_bytes_per_element;
  }
  const Counter counter(plan);
  counter.phases(result);
  std::vector<int64_t> ranks(job.classes.size());
  for (const trace::ClassJob::Rank& rank : job.ranks) ++ranks[rank.cls];
  for (size_t cls = 0; cls < job.classes.size(); ++cls) {
    const trace::Trace& t = job.classes[cls];
    const Side& side = plan.side_of(t.rank);
    ServeClassStats& stats = result.classes.emplace_back();
    stats.first_rank = t.rank;
    stats.ranks = ranks[cls];
    for (const uint64_t ops : t.num_ops) stats.operations += static_cast<double>(ops);
    counter.rank(side, side.mesh.place(t.rank - side.first_rank, Axis::pp), stats);
    stats.communication = communication(t, side.slots(plan.experts), real(side.mesh.ranks()), "kv");
    stats.storage = storage(t);
    for (const Communication& c : stats.communication)
      if (c.group == "kv") result.transfer_bytes += c.wire_bytes * real(stats.ranks);
  }
  return result;
}

}  // namespace chakra::gen
