#include "chakra/synth/communication.h"

#include <limits>
#include <numeric>

namespace chakra::synth {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Role;
using trace::Trace;

uint8_t kind_of(const Trace& t, NodeId n) {
  if (t.type[n] != NodeType::coll) return kCommKinds.size() - 1;
  switch (t.comm(n) ? t.comm(n)->type : CommType::unknown) {
    case CommType::all_reduce: return 0;
    case CommType::reduce: return 1;
    case CommType::all_gather: return 2;
    case CommType::gather: return 3;
    case CommType::scatter: return 4;
    case CommType::broadcast: return 5;
    case CommType::all_to_all: return 6;
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block: return 7;
    case CommType::barrier: return 8;
    case CommType::unknown: return 9;
  }
  return 9;
}

}  // namespace

std::vector<Communication> communications(const Trace& t, const trace::RolesByName& roles) {
  const trace::RolesOfTrace role_of(t, roles);
  std::vector<Communication> all;
  for (const NodeId n : t.nodes()) {
    if (t.type[n] != NodeType::coll && t.type[n] != NodeType::send) continue;
    const trace::Comm* const c = t.comm(n);
    all.push_back({n, kind_of(t, n), c ? role_of.of(*c) : Role::unknown, c ? c->bytes : 0});
  }
  return all;
}

std::vector<double> autocorrelations(std::vector<double> values, size_t lags) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double spread = 0;
  for (double& value : values) {
    value -= mean;
    spread += value * value;
  }
  constexpr double kRounding = 1e-9;
  std::vector<double> found(lags, std::numeric_limits<double>::quiet_NaN());
  for (size_t lag = 1; lag <= lags && lag < values.size(); ++lag) {
    double together = 0;
    for (size_t i = lag; i < values.size(); ++i) together += values[i] * values[i - lag];
    found[lag - 1] = spread > kRounding * static_cast<double>(values.size()) ? together / spread : 1;
  }
  return found;
}

}  // namespace chakra::synth
