#include "chakra/sim/fluid_cost.h"

#include <cmath>

namespace chakra::sim {
namespace {

// Compared with 14 runs of generated steps (llama3-8b, llama3-70b, mixtral-8x7b; 64 to 2,048 ranks; leaf-spine networks
// 1:1 and 4:1; 0.2 to 37 s), one core of a cloud machine of 2026: 0.4 to 1.5 times as long as measured. Where more
// ranks run at a time, a flow that begins or ends changes the rates of more others. kRateSeconds: messages between all
// pairs of 64 to 128 ranks, all of different sizes (0.5 to 8 s): 1.3 times as long as measured.
constexpr double kNodeSeconds = 0.06e-6;  ///< of a node, times the root of the number of ranks
constexpr double kFlowSeconds = 0.6e-6, kRateSeconds = 0.08e-6;

}  // namespace

double least_fluid_seconds(const SimInput& input) {
  double nodes = 0, ranks = 0;
  for (const trace::Trace& t : input.job.ranks) nodes += t.size();
  ranks += static_cast<double>(input.job.ranks.size());
  if (input.classes) {
    for (const trace::ClassJob::Rank& rank : input.classes->ranks) nodes += input.classes->classes[rank.cls].size();
    ranks += static_cast<double>(input.classes->ranks.size());
  }
  return nodes * std::sqrt(ranks) * kNodeSeconds;
}

double fluid_seconds(const SimReport& closed) {
  return closed.sharing.flows * kFlowSeconds + closed.sharing.rate_changes * kRateSeconds;
}

}  // namespace chakra::sim
