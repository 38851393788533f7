// What ranks do per second.
#include <array>
#include <optional>

#include "chakra/sim/answer.h"
#include "chakra/sim/sim.h"

namespace chakra::sim {

namespace {

/// FLOP/s that ranks ran, and the shares of a peak that they are.
struct Ran {
  double ops_per_s = 0, mfu = 0;
  double mfu_of(double ops) const { return ops_per_s > 0 ? mfu / ops_per_s * ops : 0; }
};

/// Of all ranks, 8-bit types apart: of these a device has another peak. Nothing without a peak.
std::optional<std::array<Ran, 2>> ran(const SimReport& report) {
  std::array<Ran, 2> sums;
  for (const ActorReport& actor : report.actors) {
    const auto all = static_cast<double>(actor.work.all_ops());
    if (all <= 0) continue;
    if (!actor.rates.mfu) return std::nullopt;
    const auto ranks = static_cast<double>(actor.ranks);
    const double f8 = static_cast<double>(actor.work.ops[static_cast<size_t>(trace::DType::f8)]) / all;
    const std::array<Ran, 2> own{{{(1 - f8) * actor.rates.ops_per_s, *actor.rates.mfu - actor.rates.mfu_f8},
                                  {f8 * actor.rates.ops_per_s, actor.rates.mfu_f8}}};
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i].ops_per_s += ranks * own[i].ops_per_s;
      sums[i].mfu += ranks * own[i].mfu;
    }
  }
  return sums;
}

}  // namespace

Throughput throughput_of(const SimReport& report, const StepWork& step) {
  Throughput of;
  if (step.tokens <= 0 || report.makespan_ps <= 0 || report.ranks.empty()) return of;
  const double seconds = static_cast<double>(report.makespan_ps) / kPsPerSecond;
  of.tokens_per_s = static_cast<double>(step.tokens) / seconds;
  of.tokens_per_s_per_rank = of.tokens_per_s / static_cast<double>(report.ranks.size());
  of.model_ops_per_s = static_cast<double>(step.model_operations) / seconds;
  const auto sums = ran(report);
  if (!sums) return of;
  const auto& [wide, f8] = *sums;
  if (!(wide.ops_per_s + f8.ops_per_s > 0)) return of;
  const double f8_per_s = static_cast<double>(step.model_fp8_operations.value_or(0)) / seconds;
  const bool apart = wide.ops_per_s > 0 && f8.ops_per_s > 0 && step.model_fp8_operations;
  of.mfu = apart ? wide.mfu_of(of.model_ops_per_s - f8_per_s) + f8.mfu_of(f8_per_s)
                 : Ran{wide.ops_per_s + f8.ops_per_s, wide.mfu + f8.mfu}.mfu_of(of.model_ops_per_s);
  return of;
}

}  // namespace chakra::sim
