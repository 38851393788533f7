// The rules by which a job becomes another one, in the order in which they are applied.
#include <fmt/core.h>

#include <cmath>

#include "chakra/whatif/rules.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

constexpr ChangeRow kChangeRows[] = {
    {"tp", "N", "N tensor-parallel ranks; generated jobs only",
     "Regenerates the job with N and otherwise the same options; the number of ranks changes. Expert-tensor "
     "parallelism follows --tp unless the job was generated with --etp.",
     "", change_tp, true, generate_tp, device::StepOption::tp},
    {"pp", "N", "N pipeline stages; generated jobs only",
     "Regenerates the job with N and otherwise the same options; the number of ranks and the layers per stage change.",
     "", change_pp, true, generate_pp, device::StepOption::pp},
    {"dp", "N[:PATTERN]", "N data-parallel replicas; PATTERN names the groups (default: role dp)",
     "Regenerates the job with N: each replica keeps its batch; placement and optimizer shards change.",
     "Each replica keeps its batch, and each rank its work, even with a sharded optimizer; the total size of gathered "
     "and scattered data stays; uneven all-to-alls become even; recorded transfers of these groups scale with (n-1)/n "
     "for n members.",
     change_dp, true, generate_dp, device::StepOption::dp},
    {"micro-batches", "N", "N micro-batches of unchanged size per step; generated jobs only",
     "Regenerates the job with N. The number of samples grows with N; to split the samples of M micro-batches into N, "
     "add --batch M/N as a number.",
     "Passes follow the job's schedule. An additional micro-batch takes as long as one in the middle. Work done once "
     "per step (gradient reductions, optimizer) stays. The number of samples grows with N.",
     change_micro_batches, true, generate_micro_batches, device::StepOption::batch},
    {"batch", "X[:PATTERN]", "Multiply the batch by X; PATTERN names groups that move parameters",
     "Regenerates the job with X times its micro-batch size (gen step) or batch (gen serve), where that is a whole "
     "number and no PATTERN is given.",
     "Without PATTERN, the roles of groups decide. Computation, copies, messages, all-to-alls, and collectives of "
     "groups that exchange activations scale with X. The optimizer (recognized by its name or its callers), other "
     "collectives and host time stay. In generated jobs, the bytes of weight matrices stay.",
     change_batch, false, generate_batch, device::StepOption::batch},
    {"slow-link", "A-B=X", "Multiply the rate of the link between A and B by X, in both directions", "",
     "Collective algorithms are selected for the network with the slow link.", change_slow_link},
    {"fail-link", "A-B", "Remove the link between A and B, in both directions", "",
     "Messages take the shortest remaining routes, without a delay for rerouting.", change_fail_link},
    {"overlap", "on|off", "Allow or forbid communication during computation of a rank",
     "Regenerates the job with that value of --overlap, which is for collectives.",
     "off: computation that starts before all members arrive finishes before the transfer; other computation starts "
     "after the transfer. on: nodes that follow communication only by the order of a stream or thread do not wait for "
     "its result; the predicted time is a lower bound.",
     change_overlap, true, generate_overlap},
    {"scale", "KIND=X", "Multiply the time of nodes of a kind by X", "",
     "Only durations of this kind change: host time and launches stay, and waiting times follow.", change_scale},
    {"scale-node", "PATTERN=X", "Multiply the time of nodes whose name matches PATTERN by X", "",
     "In PATTERN, * stands for any text and ? for any character. Otherwise as --scale. For an operation of the CPU, "
     "only self time scales, without the operations that it calls.",
     change_scale_node},
    {"remove", "KIND", "Remove nodes of a kind, and the waits between ranks there", "",
     "Dependents of a removed node wait for its dependencies instead. The calls that launched the node stay.",
     change_remove},
    {"speed", "RANK=X", "Compute X times as fast on this rank (0.5: half as fast)", "",
     "Applies to computation only. Lags, communication and, on a rank with a device, host time stay.", change_speed},
};

}  // namespace

constinit const std::span<const ChangeRow> kChanges = kChangeRows;

std::string ChangeRow::assumptions() const {
  if (again.empty() || assumes.empty()) return std::string(again.empty() ? assumes : again);
  return fmt::format("Unedited generated jobs: {} Other jobs: {}", again, assumes);
}

// `whatif.rule.form` (2): the value of a change does not have the form that `--help` shows
Result<Scaled> parse_scaled(std::string_view text, std::string_view form, double least, double most) {
  const size_t equals = text.rfind('=');
  double factor = 0;
  if (equals == std::string_view::npos || equals == 0 || !parse_decimal(text.substr(equals + 1), factor) ||
      !(factor >= least && factor <= most))
    return fail(
        Code::usage, "whatif.rule.form",
        fmt::format("{} does not have the form {}, with a number X from {:g} to {:g}", quote(text), form, least, most));
  return Scaled{text.substr(0, equals), factor};
}

// `whatif.rule.nothing` (1): the change does not apply to any part of the job
Result<Reached> reached_something(Reached reached, std::string_view option, std::string_view value,
                                  const std::string& why) {
  if (reached.nodes > 0) return reached;
  return fail(Code::bad_input, "whatif.rule.nothing", fmt::format("--{} {} has no effect: {}", option, value, why));
}

Result<Reached> change_scale(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const Scaled scaled, parse_scaled(value, "KIND=X", 0, kMostFactor));
  CHAKRA_ASSIGN(const Selector selector, parse_selector(scaled.what));
  if ((selector.kinds & bit(Kind::storage)) && scaled.factor == 0)
    return fail(Code::usage, "whatif.rule.form", "storage cannot take 0 of its time; --remove storage leaves it out");
  return reached_something(scale(input, selector, scaled.factor), "scale", value, "the job has no time of that kind");
}

Result<Reached> change_scale_node(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const Scaled scaled, parse_scaled(value, "PATTERN=X", 0, kMostFactor));
  return reached_something(scale_named(input, scaled.what, scaled.factor), "scale-node", value,
                           "no node of the job has such a name");
}

Result<Reached> change_remove(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const Selector selector, parse_selector(value));
  return reached_something(remove(input, selector), "remove", value, "the job has no time of that kind");
}

Result<Reached> change_speed(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const Scaled scaled, parse_scaled(value, "RANK=X", 1 / kMostFactor, kMostFactor));
  int64_t rank = 0;
  if (!parse_decimal(scaled.what, rank))
    return fail(Code::usage, "whatif.rule.form", fmt::format("{} is not a rank", quote(scaled.what)));
  const trace::Trace* const t = input.job.find(rank);
  if (!t)
    return fail(Code::bad_input, "whatif.rule.nothing",
                fmt::format("--speed {} has no effect: the job has no rank {}", value, rank));
  device::RankTraits traits = input.system.traits(rank);
  traits.speed *= scaled.factor;
  input.system.unlike[rank] = traits;
  Reached reached;
  bool has_device = false;  // then its host keeps its time, as in the simulation
  for (const trace::NodeId n : t->nodes()) has_device |= t->type[n] == trace::NodeType::comp && t->on_device(n);
  for (const trace::NodeId n : t->nodes())
    if (t->type[n] == trace::NodeType::comp && !(has_device && t->on_cpu(n)) &&
        !(input.system.keep_unrecorded && t->name_of(n) == trace::kUnrecorded)) {
      ++reached.nodes;
      reached.time_ps = add_saturated(reached.time_ps, t->dur_ps[n]);
    }
  return reached_something(reached, "speed", value, fmt::format("rank {} has no computation", rank));
}

}  // namespace chakra::whatif
