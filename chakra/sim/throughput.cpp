// What ranks do per second.
#include "chakra/sim/answer.h"
#include "chakra/sim/sim.h"

namespace chakra::sim {

Throughput throughput_of(const SimReport& report, const StepWork& step) {
  Throughput of;
  if (step.tokens <= 0 || report.makespan_ps <= 0 || report.ranks.empty()) return of;
  const double seconds = static_cast<double>(report.makespan_ps) / kPsPerSecond;
  of.tokens_per_s = static_cast<double>(step.tokens) / seconds;
  of.tokens_per_s_per_rank = of.tokens_per_s / static_cast<double>(report.ranks.size());
  of.model_ops_per_s = static_cast<double>(step.model_operations) / seconds;
  double ops = 0, used = 0;  // of all ranks: operations, and peaks used for them, in ranks
  for (const ActorReport& actor : report.actors) {
    const auto ranks = static_cast<double>(actor.ranks);
    ops += ranks * actor.rates.ops_per_s;
    if (actor.work.all_ops() > 0 && !actor.rates.mfu) return of;
    used += ranks * actor.rates.mfu.value_or(0);
  }
  if (ops > 0) of.mfu = used / ops * of.model_ops_per_s;
  return of;
}

}  // namespace chakra::sim
