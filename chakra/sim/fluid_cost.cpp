#include "chakra/sim/fluid_cost.h"

#include <algorithm>
#include <cmath>

namespace chakra::sim {
namespace {

constexpr double kNodeSeconds = 1e-6, kFlowSeconds = 1e-6;

}  // namespace

double least_fluid_seconds(const SimInput& input) {
  double nodes = 0;
  for (const trace::Trace& t : input.job.ranks) nodes += t.size();
  if (input.classes)
    for (const trace::ClassJob::Rank& rank : input.classes->ranks) nodes += input.classes->classes[rank.cls].size();
  return nodes * kNodeSeconds;
}

double fluid_seconds(const SimReport& closed) { return closed.sharing.flows * kFlowSeconds; }

}  // namespace chakra::sim
