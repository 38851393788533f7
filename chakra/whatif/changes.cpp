// The rules by which a job becomes another one, in the order in which they are applied.
#include <fmt/core.h>

#include <cmath>

#include "chakra/whatif/rules.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

constexpr ChangeRow kChangeRows[] = {
    {"tp", "N", "N tensor-parallel ranks; only of generated jobs",
     "The job becomes the one that is generated with N, all other options as they were: it has more or fewer ranks. "
     "Expert-tensor parallelism follows where it was not given.",
     change_tp, true},
    {"pp", "N", "N pipeline stages; only of generated jobs",
     "The job becomes the one that is generated with N, all other options as they were: it has more or fewer ranks, "
     "and "
     "each stage fewer or more layers.",
     change_pp, true},
    {"dp", "N[:PATTERN]", "N data-parallel replicas; PATTERN names their groups (default: those of role dp)",
     "Each replica keeps its batch. A generated job becomes the one that is generated with N: its placement, and what "
     "each rank has of the optimizer. In other jobs each rank keeps its work, also that of a sharded optimizer; what "
     "all gather together stays as large; recorded transfers of these groups take time in proportion to (n-1)/n of n "
     "members.",
     change_dp, true},
    {"micro-batches", "N", "A step of N micro-batches, each as large as before; only of generated jobs",
     "Passes follow the job's schedule. A further micro-batch takes what those take that are neither first nor last; "
     "what is done once a step (sums of gradients, the optimizer) stays. The step has N micro-batches' samples: for "
     "the "
     "samples of M in N parts add --batch M/N as a number.",
     change_micro_batches, true},
    {"batch", "X[:PATTERN]", "Each replica has X times its batch; PATTERN names groups that move parameters",
     "Without PATTERN, the roles of groups decide. Computation and copies take time in proportion to it, but those of "
     "the optimizer (by its name, or its callers'); "
     "so do messages, and collectives of groups whose role is to share activations. Collectives of other roles move "
     "parameters and stay. In generated jobs what reads matrices reads them once. Host time stays.",
     change_batch},
    {"slow-link", "A-B=X", "The link between two devices of the network has X of its rate, both ways",
     "Collectives choose their algorithm for the network with the slow link.", change_slow_link},
    {"fail-link", "A-B", "The link between two devices of the network is gone, both ways",
     "Messages take the shortest routes that are left; no time goes by until they are found.", change_fail_link},
    {"overlap", "on|off", "Whether communication runs beside the computation of a rank",
     "off: what a rank computed before all who take part had come is done before the transfer, the rest after it. on: "
     "what waits for communication by the order of a stream or thread alone does not need its result: a lower bound.",
     change_overlap, true},
    {"scale", "KIND=X", "Nodes of a kind take X of their time",
     "The nodes stay what they are. Host time and launches are not scaled along; waiting follows.", change_scale},
    {"scale-node", "PATTERN=X", "Nodes whose name matches PATTERN take X of their time",
     "In PATTERN, * stands for any text and ? for any character. As scale. Of an operation of the CPU its own time "
     "counts, not that of what it calls.",
     change_scale_node},
    {"remove", "KIND", "Nodes of a kind take no time, and no rank waits for another at them",
     "What waited for such a node waits for what it waited for. The calls that launched it stay.", change_remove},
    {"speed", "RANK=X", "The rank computes X times as fast (0.5: half as fast)",
     "Computation alone: host time on a rank that has a device, lags and communication stay.", change_speed},
};

}  // namespace

constinit const std::span<const ChangeRow> kChanges = kChangeRows;

// `whatif.rule.form` (2): the value of a change does not have the form that `--help` shows
Result<Scaled> parse_scaled(std::string_view text, std::string_view form, double least, double most) {
  const size_t equals = text.rfind('=');
  double factor = 0;
  if (equals == std::string_view::npos || equals == 0 || !parse_decimal(text.substr(equals + 1), factor) ||
      !(factor >= least && factor <= most))
    return fail(Code::usage, "whatif.rule.form",
                fmt::format("{} is not of the form {}, X a number from {:g} to {:g}", quote(text), form, least, most));
  return Scaled{text.substr(0, equals), factor};
}

// `whatif.rule.nothing` (1): the job has nothing that the change is for
Result<Reached> reached_something(Reached reached, std::string_view option, std::string_view value,
                                  const std::string& why) {
  if (reached.nodes > 0) return reached;
  return fail(Code::bad_input, "whatif.rule.nothing", fmt::format("--{} {} changes nothing: {}", option, value, why));
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
                fmt::format("--speed {} changes nothing: the job has no rank {}", value, rank));
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
  return reached_something(reached, "speed", value, fmt::format("rank {} computes nothing", rank));
}

}  // namespace chakra::whatif
