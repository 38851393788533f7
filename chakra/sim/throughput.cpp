// What ranks do per second.
#include <optional>

#include "chakra/sim/answer.h"
#include "chakra/sim/sim.h"

namespace chakra::sim {

namespace {

/// The mean peak of ranks, by what they ran and the share of their peak that this is.
struct Peak {
  double sum = 0, ranks = 0;
  void add(double of, double ops_per_s, double mfu) {
    if (!(ops_per_s > 0 && mfu > 0)) return;
    sum += of * ops_per_s / mfu;
    ranks += of;
  }
  double share(double ops_per_s) const { return sum > 0 ? ops_per_s * ranks / sum : 0; }
};

/// 8-bit types have another peak.
struct Peaks {
  Peak wide, f8, both;
};

/// Of all ranks; nothing without a peak.
std::optional<Peaks> peaks_of(const SimReport& report) {
  Peaks peaks;
  for (const ActorReport& actor : report.actors) {
    const auto all = static_cast<double>(actor.work.all_ops());
    if (all <= 0) continue;
    if (!actor.rates.mfu) return std::nullopt;
    const auto ranks = static_cast<double>(actor.ranks);
    const double f8 = static_cast<double>(actor.work.ops[static_cast<size_t>(trace::DType::f8)]) / all;
    const double ops_per_s = actor.rates.ops_per_s, mfu = *actor.rates.mfu, mfu_f8 = actor.rates.mfu_f8;
    peaks.wide.add(ranks, (1 - f8) * ops_per_s, mfu - mfu_f8);
    peaks.f8.add(ranks, f8 * ops_per_s, mfu_f8);
    peaks.both.add(ranks, ops_per_s, mfu);
  }
  return peaks;
}

}  // namespace

Throughput throughput_of(const SimReport& report, const StepWork& step) {
  Throughput of;
  if (step.tokens <= 0 || report.makespan_ps <= 0 || report.ranks.empty()) return of;
  const double seconds = static_cast<double>(report.makespan_ps) / kPsPerSecond;
  of.tokens_per_s = static_cast<double>(step.tokens) / seconds;
  of.tokens_per_s_per_rank = of.tokens_per_s / static_cast<double>(report.ranks.size());
  of.model_ops_per_s = static_cast<double>(step.model_operations) / seconds;
  const auto peaks = peaks_of(report);
  if (!peaks || !(peaks->both.sum > 0)) return of;
  const double f8_per_s = static_cast<double>(step.model_fp8_operations.value_or(0)) / seconds;
  const bool apart = peaks->wide.sum > 0 && peaks->f8.sum > 0 && step.model_fp8_operations;
  of.mfu = apart ? peaks->wide.share(of.model_ops_per_s - f8_per_s) + peaks->f8.share(f8_per_s)
                 : peaks->both.share(of.model_ops_per_s);
  return of;
}

}  // namespace chakra::sim
