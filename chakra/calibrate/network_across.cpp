// Collectives across nodes: those that were measured, and the others put together from parts, as NCCL's own model does
// it: a time per step inside and between nodes, and the rate of what carries the bytes: the links of a node, or the
// rails between nodes, a network card for each device.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "chakra/base/quantile.h"
#include "chakra/calibrate/network_fit.h"

namespace chakra::calibrate {
namespace {

using net::CollectiveFit;
using net::Members;
using net::ProtocolFit;

/// Below this share of the least measured time, a fixed part cannot be distinguished from the rate.
constexpr double kTellsTheFixedPart = 0.05;

/// What NCCL takes for the steps of an algorithm's protocol, in ns, and what of the links' rate the protocol leaves:
/// the default constants of version 2.28.3 (src/graph/tuning.cc: latencies of NVLink and of the network; nvls: those of
/// its tree over nodes), checked against that source. No measurement that we have tells them: sizes across nodes begin
/// at 32 MiB (cluster00), where a step of 14 us is 1 % of the time, or at 4 GiB (cluster01). Left out of its model:
/// ring all-reduce of Simple over nodes has 1.4 times its latency, one rank a node has the tree's, LL has an upper
/// limit.
struct Steps {
  std::string_view algorithm, protocol;
  double inside_ns, between_ns, share;
};
constexpr Steps kSteps[] = {{"ring", "LL", 600, 2700, 0.5},           {"ring", "LL128", 1900, 4000, 0.92},
                            {"ring", "Simple", 3400, kNodeStepNs, 1}, {"tree", "LL", 600, 5000, 0.92 / 3.8},
                            {"tree", "LL128", 1250, 8500, 0.86},      {"tree", "Simple", 4000, kNodeStepNs, 0.92},
                            {"nvls", "Simple", 0, kNodeStepNs, 1},    {"direct", "Simple", 3400, kNodeStepNs, 1}};
const Steps& steps_of(std::string_view algorithm, std::string_view protocol) {
  return *std::find_if(std::begin(kSteps), std::end(kSteps),
                       [&](const Steps& s) { return s.algorithm == algorithm && s.protocol == protocol; });
}

// ---- what carries the bytes between nodes --------------------------------------------------------------------

double median(std::vector<double> values) { return quantile_of(std::move(values), 0.5); }

using ByMembers = std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<const CollectiveSample*>>;

/// By operation, nodes and ranks of a node, ascending by size.
ByMembers by_members(const std::vector<CollectiveSample>& samples) {
  ByMembers all;
  for (const CollectiveSample& s : samples)
    if (s.nodes > 1) all[{s.operation, s.nodes, s.ranks / s.nodes}].push_back(&s);
  for (auto& [key, list] : all)
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  return all;
}

/// What one connection carries: of messages each rank sends S to the next one, so between nodes one of a node does.
double message_rate(const ByMembers& all) {
  std::vector<double> rates;
  for (const auto& [key, list] : all)
    if (std::get<0>(key) == "send_recv") {
      Gram gram;
      for (const CollectiveSample* s : list) gram.add({1, 0, static_cast<double>(s->bytes), 0}, s->ns);
      rates.push_back(gib_per_s(least_squares(gram).value[2]));
    }
  return median(rates);
}

// ---- operations that were measured across nodes ----------------------------------------------------------------

/// A fixed part that the sizes do not tell is that of one node; the rate is then fitted with it.
void set_fixed_part(FittedOperation& o, const SizedTimes& sizes, const std::vector<FittedOperation>& one_node) {
  CollectiveFit& fit = o.fit;
  const double between = steps_of(fit.form->algorithm, "Simple").between_ns,
               steps = fit.form->node_steps(sizes.members);
  if (fit.protocols.size() > 1 || fit.protocols[0].op_ns >= kTellsTheFixedPart * sizes.ns.front()) {
    for (ProtocolFit& p : fit.protocols) {
      p.node_step_ns = std::min(between, p.op_ns / steps);
      p.op_ns -= steps * p.node_step_ns;
    }
    return;
  }
  ProtocolFit& p = fit.protocols[0];
  const auto known = std::find_if(one_node.begin(), one_node.end(), [&](const FittedOperation& one) {
    return one.fit.form->operation == fit.form->operation;
  });
  p.op_ns = known == one_node.end() ? 0 : known->fit.protocols.front().op_ns;
  p.node_step_ns = between;
  o.parameters[0].op_ns = {p.op_ns, 0, false};
  o.parameters[0].step_ns = {between, 0, false};
  Gram gram;
  for (size_t i = 0; i < sizes.count(); ++i)
    gram.add({0, 0, fit.form->rail(sizes.members) * sizes.bytes[i], 0},
             std::max(sizes.ns[i] - p.op_ns - steps * between, sizes.ns[i] / 2));
  p.rail_gib_per_s = gib_per_s(least_squares(gram).value[2]);
  p.local_gib_per_s = 0;
  set_corrections({sizes}, fit);
}

std::vector<FittedOperation> fit_measured(const ByMembers& all, const std::vector<FittedOperation>& one_node) {
  std::vector<FittedOperation> operations;
  for (const net::CollectiveForm& form : net::kCollectiveForms) {
    if (form.algorithm == "tree" || form.algorithm == "nvls") continue;  // times do not tell them from a ring
    for (const auto& [key, list] : all) {
      if (std::get<0>(key) != form.operation) continue;
      const SizedTimes sizes =
          sizes_of({static_cast<double>(std::get<2>(key)), static_cast<double>(std::get<1>(key))}, true, list);
      operations.push_back(fit_operation({sizes}, form));
      set_fixed_part(operations.back(), sizes, one_node);
    }
  }
  return operations;
}

bool has_one_peer(const CollectiveFit& fit) { return fit.nodes == std::vector<int64_t>{2} && fit.ranks[0] == 1; }

/// What a rail reached: where a member has several peers, else with one. Its rate is that for large sizes.
void set_rail(FittedAcross& across) {
  std::vector<double> several, one;
  for (const FittedOperation& o : across.operations)
    if (const double rate = o.fit.protocols.back().rail_gib_per_s; o.fit.form->algorithm == "direct" && rate > 0)
      (has_one_peer(o.fit) ? one : several).push_back(rate);
  across.several_peers = !several.empty();
  if (across.message_gib_per_s == 0) across.message_gib_per_s = median(one);
  across.rail_gib_per_s = across.several_peers ? median(several) : std::max(median(one), across.message_gib_per_s);
  if (across.rail_gib_per_s > 0) return;
  for (const FittedOperation& o : across.operations)  // rings
    across.rail_gib_per_s = std::max(across.rail_gib_per_s, o.fit.protocols.back().rail_gib_per_s);
}

// ---- operations from parts ---------------------------------------------------------------------------------------

/// What the rails between nodes do to operations from parts.
struct Between {
  double rail_gib_per_s = 0;
  double more_ns = 0;  ///< a step took so much more than NCCL's own with LL, the protocol of small sizes
};

/// What a step between nodes took more than NCCL's, by the all-to-alls across nodes that tell their fixed part: the
/// rest of it, without what the same operation takes inside of a node.
double more_per_step(const FittedAcross& across, const std::vector<FittedOperation>& one_node) {
  std::vector<double> more;
  for (const FittedOperation& o : across.operations) {
    const CollectiveFit& fit = o.fit;
    const auto one = std::find_if(one_node.begin(), one_node.end(), [&](const FittedOperation& of) {
      return of.fit.form->operation == fit.form->operation;
    });
    if (fit.form->algorithm != "direct" || !o.parameters[0].op_ns.determined || one == one_node.end()) continue;
    const Members m{static_cast<double>(fit.ranks[0]), static_cast<double>(fit.nodes[0])};
    const ProtocolFit &there = fit.protocols[0], &inside = one->fit.protocols[0];
    const double steps = fit.form->node_steps(m);
    const double between_ns =
        there.op_ns + steps * there.node_step_ns - inside.op_ns - fit.form->steps(m) * inside.step_ns;
    more.push_back(between_ns / steps - steps_of("ring", "LL").between_ns);
  }
  return more.empty() ? 0 : std::max(0.0, median(more));
}

/// One protocol of one node with the steps of NCCL's, between nodes at the rail's rate. Inside a node the fixed part
/// and the steps take what was measured: those of the protocol that NCCL took there, which is not slower than any.
ProtocolFit from_parts(const FittedOperation& one, size_t k, const Steps& steps, const Between& between) {
  const CollectiveFit& fit = one.fit;
  ProtocolFit p = fit.protocols[k];
  p.up_to_bytes.clear();
  p.name = std::string(steps.protocol) + (k > 0 ? " " + p.name : "");
  if (!one.parameters[k].step_ns.determined) {
    // The fixed part of one node has its steps in it; together they take what was measured.
    const double count = fit.form->steps({static_cast<double>(fit.ranks.back())});
    const double fixed_ns = p.op_ns + count * p.step_ns;
    p.step_ns = count > 0 ? std::min(steps.inside_ns, fixed_ns / count) : 0;
    p.op_ns = fixed_ns - count * p.step_ns;
  }
  p.node_step_ns = std::max(p.step_ns, steps.between_ns + between.more_ns);
  p.wire_gib_per_s *= steps.share;
  p.rail_gib_per_s = between.rail_gib_per_s * steps.share;
  return p;
}

/// With `algorithm`'s steps: the protocols of one node, the smallest of them also as LL and LL128.
FittedOperation across_of(const FittedOperation& one, const net::CollectiveForm& form, const Between& between) {
  FittedOperation o;
  o.fit = one.fit;
  o.fit.form = &form;
  o.fit.across = true;
  o.fit.error_percent = o.fit.worst_percent = -1;
  o.fit.protocols.clear();
  o.fit.corrections.clear();
  for (size_t k = 0; k < one.fit.protocols.size(); ++k)
    for (const Steps& steps : kSteps)
      if (steps.algorithm == form.algorithm && (k == 0 || steps.protocol == "Simple"))
        o.fit.protocols.push_back(from_parts(one, k, steps, between));
  return o;
}

void add_from_parts(const std::vector<FittedOperation>& one_node, FittedAcross& across) {
  const auto is_measured = [&](std::string_view operation) {
    return std::any_of(across.operations.begin(), across.operations.end(), [&](const FittedOperation& o) {
      return !o.fit.nodes.empty() && o.fit.form->operation == operation;
    });
  };
  const Between between{across.rail_gib_per_s, more_per_step(across, one_node)};
  std::vector<FittedOperation> made;
  for (const FittedOperation& one : one_node) {
    const net::CollectiveForm& form = *one.fit.form;
    if (is_measured(form.operation)) continue;
    made.push_back(across_of(one, form, between));
    if (form.algorithm == "ring" && form.operation == "all_reduce")
      made.push_back(across_of(one, *net::find_collective_form("all_reduce", "tree"), between));
    if (form.algorithm == "direct")
      for (ProtocolFit& p : made.back().fit.protocols) p.peer_gib_per_s = across.message_gib_per_s;
  }
  for (FittedOperation& o : made) across.operations.push_back(std::move(o));
}

}  // namespace

FittedAcross fit_across(const std::vector<CollectiveSample>& samples, const std::vector<FittedOperation>& one_node) {
  FittedAcross across;
  const ByMembers all = by_members(samples);
  if (all.empty()) return across;
  across.message_gib_per_s = message_rate(all);
  across.operations = fit_measured(all, one_node);
  set_rail(across);
  // A rate that was reached with one peer is the connection's: several reach the rail's.
  for (FittedOperation& o : across.operations)
    if (o.fit.form->algorithm == "direct" && has_one_peer(o.fit))
      for (ProtocolFit& p : o.fit.protocols) {
        p.peer_gib_per_s = p.rail_gib_per_s;
        p.rail_gib_per_s = std::max(p.rail_gib_per_s, across.rail_gib_per_s);
      }
  if (across.rail_gib_per_s > 0) add_from_parts(one_node, across);
  return across;
}

FitError judge_scale(const std::vector<CollectiveSample>& samples, const std::vector<FittedOperation>& one_node) {
  int64_t fewest = INT64_MAX;
  for (const CollectiveSample& s : samples)
    if (s.nodes > 1) fewest = std::min(fewest, s.ranks / s.nodes);
  std::vector<CollectiveSample> learn, test;
  for (const CollectiveSample& s : samples)
    if (s.nodes > 1) (s.ranks / s.nodes == fewest ? learn : test).push_back(s);
  const FittedAcross across = fit_across(learn, one_node);
  std::vector<CollectiveFit> fits;
  for (const FittedOperation& o : across.operations) fits.push_back(o.fit);
  FitError error = judge(fits, test);
  if (!(across.message_gib_per_s > 0)) return error;
  for (const CollectiveSample& s : test)
    if (s.operation == "send_recv") {
      const double off =
          std::abs(std::log(static_cast<double>(s.bytes) / (across.message_gib_per_s * 1.073741824) / s.ns));
      error = together(error, {std::expm1(off), std::expm1(off), 1});
    }
  return error;
}

}  // namespace chakra::calibrate
