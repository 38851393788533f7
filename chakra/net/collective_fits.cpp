// What collectives take by fitted parameters.
#include <algorithm>
#include <cmath>
#include <limits>

#include "chakra/net/net.h"

namespace chakra::net {
namespace {

double none(Members) { return 0; }
double once(Members) { return 1; }
double to_and_from(Members) { return 2; }
double own_share(Members m) { return 1 / m.count(); }

// A ring passes every member. Of its steps nodes - 1 leave a node; each device of a node has a rail that carries its
// part of what leaves.
double ring_steps(Members m) { return m.nodes * (m.per_node - 1); }
double ring_node_steps(Members m) { return m.nodes - 1; }
double ring_shares(Members m) { return (m.count() - 1) / m.count(); }
double ring_wire(Members m) { return m.per_node > 1 ? ring_shares(m) : 0; }
double ring_rail(Members m) { return m.nodes > 1 ? ring_shares(m) / m.per_node : 0; }
double twice_ring_steps(Members m) { return 2 * ring_steps(m); }
double twice_ring_node_steps(Members m) { return 2 * ring_node_steps(m); }
double twice_ring_wire(Members m) { return 2 * ring_wire(m); }
double twice_ring_rail(Members m) { return 2 * ring_rail(m); }
double chain_wire(Members m) { return m.per_node > 1 ? 1 : 0; }
double chain_rail(Members m) { return m.nodes > 1 ? 1 / m.per_node : 0; }

// Two binary trees over the nodes, half of the bytes in each: to the root and back. A node that is inside one tree is
// a leaf of the other, so it sends one half three times and the other half once; of two and three nodes less.
double tree_node_steps(Members m) { return 2 * std::floor(std::log2(m.nodes)); }
double tree_rail(Members m) { return m.nodes > 1 ? std::min(m.nodes, 4.0) / 2 / m.per_node : 0; }
double tree_steps(Members m) { return 2 * (m.per_node - 1); }
double tree_wire(Members m) { return m.per_node > 1 ? 2 : 0; }

// Each member sends to each other one. Those of a node go first to the device whose rail the bytes take.
double direct_steps(Members m) { return m.per_node - 1; }
double direct_wire(Members m) { return (m.per_node - 1) / m.count(); }
double direct_rail(Members m) { return (m.nodes - 1) / m.nodes; }

}  // namespace

// Each member of a ring copies its part once. nvls: in a tree of switches that reduce, each byte goes up once and comes
// down once, in between it takes the trees over the nodes.
const std::array<CollectiveForm, 8> kCollectiveForms{
    {{"all_reduce", "ring", twice_ring_steps, twice_ring_wire, own_share, twice_ring_node_steps, twice_ring_rail},
     {"all_reduce", "tree", tree_steps, tree_wire, none, tree_node_steps, tree_rail},
     {"all_reduce", "nvls", to_and_from, once, none, tree_node_steps, tree_rail},
     {"all_gather", "ring", ring_steps, ring_wire, own_share, ring_node_steps, ring_rail},
     {"reduce_scatter", "ring", ring_steps, ring_wire, own_share, ring_node_steps, ring_rail},
     {"all_to_all", "direct", direct_steps, direct_wire, own_share, ring_node_steps, direct_rail},
     {"broadcast", "ring", ring_steps, chain_wire, none, ring_node_steps, chain_rail},
     {"reduce", "ring", ring_steps, chain_wire, none, ring_node_steps, chain_rail}}};

const CollectiveForm* find_collective_form(std::string_view operation, std::string_view algorithm) {
  const auto row = std::find_if(kCollectiveForms.begin(), kCollectiveForms.end(), [&](const CollectiveForm& form) {
    return form.operation == operation && form.algorithm == algorithm;
  });
  return row == kCollectiveForms.end() ? nullptr : &*row;
}

double ProtocolFit::time_ns(const CollectiveForm& form, Members members, double bytes) const {
  const auto moved = [](double what, double gib_per_s) {
    return gib_per_s > 0 ? what / (gib_per_s * 1073741824.0) * 1e9 : 0;
  };
  const double peers = (members.nodes - 1) * members.per_node;
  const double rail = peer_gib_per_s > 0 && (rail_gib_per_s == 0 || peers * peer_gib_per_s < rail_gib_per_s)
                          ? peers * peer_gib_per_s
                          : rail_gib_per_s;
  return op_ns + form.steps(members) * step_ns + form.node_steps(members) * node_step_ns +
         std::max(moved(form.wire(members) * bytes, wire_gib_per_s), moved(form.rail(members) * bytes, rail)) +
         moved(form.local(members) * bytes, local_gib_per_s);
}

namespace {

/// By ratio.
double apart(int64_t a, int64_t b) { return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b))); }

/// How far off the fit's k-th number of members is from what is asked for. Fits that say no numbers of nodes are laws
/// for any.
double distance(const CollectiveFit& fit, size_t k, const FitQuery& query) {
  double nodes = fit.nodes.empty() ? 0 : apart(fit.nodes[0], query.nodes);
  for (const int64_t n : fit.nodes) nodes = std::min(nodes, apart(n, query.nodes));
  return apart(fit.ranks[k], query.per_node) + nodes;
}

struct Least {
  double ns = 0;
  const ProtocolFit* protocol = nullptr;
};
/// By the protocols alone, with the limits of the fit's k-th number of members.
Least least(const CollectiveFit& fit, size_t k, Members members, uint64_t bytes) {
  Least best;
  for (const ProtocolFit& protocol : fit.protocols) {
    const uint64_t up_to = protocol.up_to_bytes.empty() ? ProtocolFit::kAnySize : protocol.up_to_bytes[k];
    if (bytes > up_to) continue;
    const double ns = protocol.time_ns(*fit.form, members, static_cast<double>(bytes));
    if (!best.protocol || ns < best.ns) best = {ns, &protocol};
    if (up_to != ProtocolFit::kAnySize) break;
  }
  return best;
}

/// A straight line between the corrected times of the sizes next to it.
double corrected(const CollectiveFit& fit, size_t k, Members members, uint64_t bytes) {
  const Correction& c = fit.corrections[k];
  const auto at = [&](size_t i, uint64_t size) { return c.factors[i] * least(fit, k, members, size).ns; };
  if (c.bytes.empty()) return least(fit, k, members, bytes).ns;
  if (bytes <= c.bytes.front()) return at(0, bytes);
  if (bytes >= c.bytes.back()) return at(c.bytes.size() - 1, bytes);
  const auto i = static_cast<size_t>(std::upper_bound(c.bytes.begin(), c.bytes.end(), bytes) - c.bytes.begin());
  const double below = static_cast<double>(c.bytes[i - 1]), above = static_cast<double>(c.bytes[i]);
  const double share = (static_cast<double>(bytes) - below) / (above - below);
  return (1 - share) * at(i - 1, c.bytes[i - 1]) + share * at(i, c.bytes[i]);
}

}  // namespace

std::optional<FittedTime> fitted_time(std::span<const CollectiveFit> fits, std::string_view operation,
                                      const FitQuery& query, uint64_t bytes) {
  const auto is_for = [&](const CollectiveFit& fit) {
    return fit.across == query.across && (fit.across || fit.dimension == query.dimension) &&
           fit.form->operation == operation;
  };
  double nearest = std::numeric_limits<double>::infinity();
  for (const CollectiveFit& fit : fits)
    for (size_t k = 0; is_for(fit) && k < fit.ranks.size(); ++k) nearest = std::min(nearest, distance(fit, k, query));
  if (query.per_node * query.nodes < 2) return std::nullopt;

  const Members members{static_cast<double>(query.per_node), static_cast<double>(query.nodes)};
  std::optional<FittedTime> best;
  for (const CollectiveFit& fit : fits)
    for (size_t k = 0; is_for(fit) && k < fit.ranks.size(); ++k) {
      if (distance(fit, k, query) != nearest) continue;
      const bool other = fit.ranks[k] != query.per_node ||
                         (fit.across && std::find(fit.nodes.begin(), fit.nodes.end(), query.nodes) == fit.nodes.end());
      auto [ns, protocol] = least(fit, k, members, bytes);
      if (!other && !fit.corrections.empty()) ns = corrected(fit, k, members, bytes);
      if (protocol && (!best || ns < best->ns))
        best = {&fit, protocol, ns, other, bytes < fit.from_bytes || bytes > fit.to_bytes};
    }
  if (best && best->fit->across && best->fit->nodes.empty()) {  // from parts: not faster than measured on one node
    const auto one = fitted_time(fits, operation, {0, query.per_node * query.nodes}, bytes);
    if (one && !one->other_ranks && !one->other_bytes) best->ns = std::max(best->ns, one->ns);
  }
  return best;
}

}  // namespace chakra::net
