// What collectives take by fitted parameters.
#include <algorithm>
#include <cmath>

#include "chakra/net/net.h"

namespace chakra::net {
namespace {

double once(double) { return 1; }
double none(double) { return 0; }
double round_the_ring(double n) { return n - 1; }
double twice_round(double n) { return 2 * (n - 1); }
double to_and_from(double) { return 2; }
double others_share(double n) { return (n - 1) / n; }
double others_share_twice(double n) { return 2 * (n - 1) / n; }
double own_share(double n) { return 1 / n; }

}  // namespace

// A ring copies the part of its own once; in a tree of switches that reduce, each byte goes up once and comes down
// once.
const std::array<CollectiveForm, 7> kCollectiveForms{
    {{"all_reduce", "ring", twice_round, others_share_twice, own_share},
     {"all_reduce", "nvls", to_and_from, once, none},
     {"all_gather", "ring", round_the_ring, others_share, own_share},
     {"reduce_scatter", "ring", round_the_ring, others_share, own_share},
     {"all_to_all", "direct", round_the_ring, others_share, own_share},
     {"broadcast", "ring", round_the_ring, once, none},
     {"reduce", "ring", round_the_ring, once, none}}};

const CollectiveForm* find_collective_form(std::string_view operation, std::string_view algorithm) {
  const auto row = std::find_if(kCollectiveForms.begin(), kCollectiveForms.end(), [&](const CollectiveForm& form) {
    return form.operation == operation && form.algorithm == algorithm;
  });
  return row == kCollectiveForms.end() ? nullptr : &*row;
}

double ProtocolFit::time_ns(const CollectiveForm& form, double members, double bytes) const {
  const auto moved = [](double what, double gib_per_s) {
    return gib_per_s > 0 ? what / (gib_per_s * 1073741824.0) * 1e9 : 0;
  };
  return op_ns + form.steps(members) * step_ns + moved(form.wire(members) * bytes, wire_gib_per_s) +
         moved(form.local(members) * bytes, local_gib_per_s);
}

std::optional<FittedTime> fitted_time(std::span<const CollectiveFit> fits, std::string_view operation,
                                      uint32_t dimension, int64_t members, uint64_t bytes) {
  const auto is_for = [&](const CollectiveFit& fit) {
    return fit.dimension == dimension && fit.form->operation == operation;
  };
  const auto apart = [&](int64_t n) {
    return std::abs(std::log(static_cast<double>(n) / static_cast<double>(members)));
  };
  int64_t nearest = 0;
  for (const CollectiveFit& fit : fits)
    for (const int64_t n : fit.ranks)
      if (is_for(fit) && (nearest == 0 || apart(n) < apart(nearest))) nearest = n;
  if (nearest == 0 || members < 2) return std::nullopt;

  std::optional<FittedTime> best;
  for (const CollectiveFit& fit : fits) {
    const auto at = std::find(fit.ranks.begin(), fit.ranks.end(), nearest);
    if (!is_for(fit) || at == fit.ranks.end()) continue;
    const auto i = static_cast<size_t>(at - fit.ranks.begin());
    for (const ProtocolFit& protocol : fit.protocols) {
      const uint64_t up_to = protocol.up_to_bytes.empty() ? ProtocolFit::kAnySize : protocol.up_to_bytes[i];
      if (bytes > up_to) continue;
      const double ns = protocol.time_ns(*fit.form, static_cast<double>(members), static_cast<double>(bytes));
      if (!best || ns < best->ns)
        best = {&fit, &protocol, ns, nearest != members, bytes < fit.from_bytes || bytes > fit.to_bytes};
      if (up_to != ProtocolFit::kAnySize) break;
    }
  }
  return best;
}

}  // namespace chakra::net
