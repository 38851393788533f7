// chakra calibrate network: the file and the report of what was fitted.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/calibrate/network_fit.h"

namespace chakra::calibrate {
namespace {

using result::Table;

/// With three digits, but no exponent.
std::string digits(double value) { return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value); }

/// "8.1 +- 0.2 us", or that the measurements do not tell it.
std::string show(double value, double error, const Parameter& p, std::string_view unit) {
  if (p.value <= 0) return "not needed";
  if (!p.determined) return fmt::format("{} {}, not determined", digits(value), unit);
  return fmt::format("{} +- {:.{}f} {}", digits(value), error, error < 0.095 ? 2 : error < 9.5 ? 1 : 0, unit);
}
std::string show_us(const Parameter& p) { return show(p.value * 1e-3, p.error * 1e-3, p, "us"); }
/// The rate of what is a time per byte.
std::string show_rate_of(const Parameter& p) { return show(1 / p.value, p.error / (p.value * p.value), p, "GB/s"); }

/// "4, 8", across nodes "4 x 2": of each of two nodes.
std::string show_ranks(const net::CollectiveFit& fit) {
  std::string text = join(fit.ranks, ", ");
  if (fit.across) text += fit.nodes.empty() ? " x any" : fmt::format(" x {}", join(fit.nodes, ", "));
  return text;
}

Table parameter_table(const std::vector<FittedOperation>& operations) {
  Table table{"",
              {{"operation", Table::Kind::text, "operation", "the operation"},
               {"algorithm", Table::Kind::text, "algorithm", "the algorithm"},
               {"protocol", Table::Kind::text, "protocol", "for which sizes: small, middle or large"},
               {"ranks", Table::Kind::text, "ranks", "numbers of ranks that were measured"},
               {"per operation", Table::Kind::text, "per_operation", "time per operation"},
               {"per step", Table::Kind::text, "per_step", "time per step"},
               {"wire", Table::Kind::text, "wire", "the rate of the wire"},
               {"local", Table::Kind::text, "local", "the rate within a rank"}},
              {}};
  for (const FittedOperation& o : operations)
    for (size_t k = 0; k < o.parameters.size(); ++k) {
      const ProtocolParameters& p = o.parameters[k];
      table.rows.push_back({std::string(o.fit.form->operation), std::string(o.fit.form->algorithm),
                            o.fit.protocols[k].name, show_ranks(o.fit), show_us(p.op_ns), show_us(p.step_ns),
                            show_rate_of(p.wire_ns_per_byte), show_rate_of(p.local_ns_per_byte)});
    }
  return table;
}

/// Not put together from parts.
bool is_measured(const FittedOperation& o) { return !o.fit.across || !o.fit.nodes.empty(); }

/// The largest rate that any protocol reached on a wire; 0 where none has one.
double best_rate(const std::vector<FittedOperation>& operations) {
  double best = 0;
  for (const FittedOperation& o : operations)
    if (!o.fit.across && o.fit.form->algorithm != "nvls") best = std::max(best, o.fit.protocols.back().wire_gib_per_s);
  return best;
}
/// The least time of a step that was determined, or that of one operation.
double least_step_ns(const std::vector<FittedOperation>& operations) {
  double least = 0;
  for (const FittedOperation& o : operations)
    for (const ProtocolParameters& p : o.parameters)
      if (p.step_ns.determined && (least == 0 || p.step_ns.value < least)) least = p.step_ns.value;
  return least;
}

std::string protocol_text(const net::ProtocolFit& p) {
  std::string text =
      fmt::format("      - {{ protocol: \"{}\", op_ns: {:.6g}, step_ns: {:.6g}", p.name, p.op_ns, p.step_ns);
  if (p.wire_gib_per_s > 0) text += fmt::format(", wire_bandwidth: {:.6g}", p.wire_gib_per_s);
  if (p.node_step_ns > 0) text += fmt::format(", node_step_ns: {:.6g}", p.node_step_ns);
  if (p.rail_gib_per_s > 0) text += fmt::format(", rail_bandwidth: {:.6g}", p.rail_gib_per_s);
  if (p.peer_gib_per_s > 0) text += fmt::format(", peer_bandwidth: {:.6g}", p.peer_gib_per_s);
  if (p.local_gib_per_s > 0) text += fmt::format(", local_bandwidth: {:.6g}", p.local_gib_per_s);
  if (p.up_to_bytes.empty()) return text + " }\n";
  text += ", up_to_bytes: [";
  for (size_t i = 0; i < p.up_to_bytes.size(); ++i)
    text +=
        (i ? ", " : " ") + (p.up_to_bytes[i] == net::ProtocolFit::kAnySize ? "any" : std::to_string(p.up_to_bytes[i]));
  return text + " ] }\n";
}

std::string fit_text(const net::CollectiveFit& fit) {
  std::string text = fmt::format("  - operation: {}\n    algorithm: {}\n    ranks: [ {} ]\n", fit.form->operation,
                                 fit.form->algorithm, join(fit.ranks, ", "));
  if (fit.across)
    text += fit.nodes.empty() ? "    nodes: any   # from parts, not measured\n"
                              : fmt::format("    nodes: [ {} ]\n", join(fit.nodes, ", "));
  text += fmt::format("    bytes: [ {}, {} ]\n", fit.from_bytes, fit.to_bytes);
  if (fit.error_percent >= 0)
    text += fmt::format("    error_percent: {:.2f}\n    worst_percent: {:.2f}\n", fit.error_percent, fit.worst_percent);
  text += "    protocols:\n";
  for (const net::ProtocolFit& protocol : fit.protocols) text += protocol_text(protocol);
  if (!fit.corrections.empty()) text += "    corrections:   # measured / predicted\n";
  for (size_t k = 0; k < fit.corrections.size(); ++k) {
    std::vector<std::string> factors;
    for (const double factor : fit.corrections[k].factors) factors.push_back(fmt::format("{:.4g}", factor));
    text += fmt::format("      - {{ ranks: {}, bytes: [ {} ], factors: [ {} ] }}\n", fit.ranks[k],
                        join(fit.corrections[k].bytes, ", "), join(factors, ", "));
  }
  return text;
}

/// What messages take: from a rank of a node to another one, and from node to node.
struct Messages {
  double inside_gib_per_s = 1, inside_ns = 0, between_gib_per_s = 0, between_ns = 0;
  bool rate_known = false;  ///< inside_gib_per_s was determined
};

std::string file_text(const FittedNetwork& fitted, const std::vector<int64_t>& npus, const Messages& messages) {
  std::string text = "# Written by 'chakra calibrate network'. GB/s of 2^30 bytes, ns, bytes of a whole buffer.\n";
  text += fitted.held_out.points > 0
              ? fmt::format("# On held-out measurements the error is {:.1f} %, {:.1f} % at worst.\n",
                            100 * fitted.held_out.mean, 100 * fitted.held_out.worst)
              : "# Too few sizes were measured to hold any out: the error is unknown.\n";
  if (npus.size() > 1 && fitted.scale.points > 0)
    text += fmt::format(
        "# Several nodes, predicted from fewer ranks a node and from one node: {:.1f} % off, {:.1f} % at worst.\n",
        100 * fitted.scale.mean, 100 * fitted.scale.worst);
  text += "# 'bandwidth' and 'latency' are for messages and for operations that are not below.\n";
  if (npus.size() > 1)
    text += fmt::format(
        "topology: [ Switch, Switch ]\nnpus_count: [ {} ]\nbandwidth: [ {:.6g}, {:.6g} ]\n"
        "latency: [ {:.6g}, {:.6g} ]   # between nodes: NCCL's own, not determined\ncollectives:\n",
        join(npus, ", "), messages.inside_gib_per_s, messages.between_gib_per_s, messages.inside_ns / 2,
        messages.between_ns / 2);
  else
    text += fmt::format(
        "topology: [ Switch ]\nnpus_count: [ {} ]\nbandwidth: [ {:.6g} ]{}\nlatency: [ {:.6g} ]{}\n"
        "collectives:\n",
        npus[0], messages.inside_gib_per_s, messages.rate_known ? "" : "   # not determined", messages.inside_ns / 2,
        messages.inside_ns > 0 ? "" : "   # not determined");
  for (const FittedOperation& o : fitted.operations)
    if (npus.size() > 1 || !o.fit.across) text += fit_text(o.fit);
  return text;
}

/// Operations that were not measured across nodes.
void note_parts(FittedNetwork& fitted) {
  for (const FittedOperation& o : fitted.operations) {
    if (is_measured(o)) continue;
    for (const net::ProtocolFit& p : o.fit.protocols) {
      fitted.node_step_ns = std::max(fitted.node_step_ns, p.node_step_ns);
      fitted.rail_bytes_per_s = std::max(fitted.rail_bytes_per_s, p.rail_gib_per_s * 1073741824);
    }
  }
}

/// The largest numbers that were measured: ranks, or ranks of a node and nodes.
std::vector<int64_t> measured_npus(const std::vector<CollectiveSample>& samples) {
  int64_t per_node = 1, nodes = 1;
  for (const CollectiveSample& s : samples) {
    per_node = std::max(per_node, s.ranks / s.nodes);
    nodes = std::max(nodes, s.nodes);
  }
  return nodes > 1 ? std::vector<int64_t>{per_node, nodes} : std::vector<int64_t>{per_node};
}

/// At the largest sizes on one node, messages from each rank to the next one.
double message_rate(const std::vector<CollectiveSample>& samples) {
  const CollectiveSample* largest = nullptr;
  for (const CollectiveSample& s : samples)
    if (s.operation == "send_recv" && s.nodes == 1 && (!largest || s.bytes > largest->bytes)) largest = &s;
  return largest ? gib_per_s(largest->ns / static_cast<double>(largest->bytes)) : 0;
}

Messages messages_of(const std::vector<CollectiveSample>& samples, const std::vector<FittedOperation>& one_node,
                     const FittedAcross& across) {
  Messages m;
  const double rate = std::max(message_rate(samples), best_rate(one_node));
  if (rate > 0) m.inside_gib_per_s = rate, m.rate_known = true;
  m.inside_ns = least_step_ns(one_node);
  m.between_gib_per_s = across.message_gib_per_s > 0 ? across.message_gib_per_s : across.rail_gib_per_s;
  m.between_ns = kNodeStepNs;
  return m;
}

// `calibrate.network.above` (warning): measurements that are faster than any network: above 10 TB/s a rank, or below
// 0.2 us
void note_above(const std::vector<CollectiveSample>& samples, Findings& findings) {
  constexpr double kMostBytesPerNs = 10000, kLeastNs = 200;
  const CollectiveSample* worst = nullptr;
  double most = 0;
  int64_t above = 0;
  for (const CollectiveSample& s : samples) {
    const double others = s.ranks > 1 ? static_cast<double>(s.ranks - 1) / static_cast<double>(s.ranks) : 1;
    const double rate = static_cast<double>(s.bytes) * others / s.ns;
    if (rate <= kMostBytesPerNs && s.ns >= kLeastNs) continue;
    ++above;
    if (!worst || rate > most) most = rate, worst = &s;
  }
  if (worst)
    findings.push_back(
        {"calibrate.network.above", Severity::warning, -1, -1,
         fmt::format(
             "{} of {} measurements are faster than networks are (10 TB/s a rank, 0.2 us): {} of {} ranks moves "
             "{} in {:.3g} us, at {:.3g} TB/s a rank; check the unit of the times",
             show_count(above), show_count(std::ssize(samples)), worst->operation, worst->ranks,
             show_bytes(static_cast<double>(worst->bytes)), worst->ns * 1e-3, most * 1e-3)});
}

// `calibrate.network.unjudged` (warning): too few sizes of an operation were measured to hold any out
// `calibrate.network.rate` (warning): no measurement determines the rate of a link; the file has 1 GB/s
void note_unknown(const FittedNetwork& fitted, const Messages& messages, Findings& findings) {
  std::vector<std::string> unjudged;
  for (const FittedOperation& o : fitted.operations)
    if (is_measured(o) && o.held_out.points == 0)
      unjudged.push_back(fmt::format("{} {}", o.fit.form->operation, o.fit.form->algorithm));
  if (!unjudged.empty())
    findings.push_back({"calibrate.network.unjudged", Severity::warning, -1, -1,
                        fmt::format("{}: too few sizes were measured to hold any out, so the error of the fit is "
                                    "unknown; measure three sizes or more for each number of ranks",
                                    join(unjudged, ", "))});
  if (!messages.rate_known)
    findings.push_back({"calibrate.network.rate", Severity::warning, -1, -1,
                        "no measurement determines the rate of a link; the file has 1 GB/s for messages and for "
                        "unmeasured operations"});
}

}  // namespace

Result<FittedNetwork> fit_network(const NetworkOptions& options) {
  if (options.npus.size() > 2)
    return fail(Code::usage, "calibrate.network.npus",
                "a network has N ranks, or N GPUs on each of M nodes: --npus 8 or --npus 8,10");
  FittedNetwork fitted;
  CHAKRA_ASSIGN(const std::vector<CollectiveSample> measured, read_collectives(options, fitted.findings));
  const std::vector<CollectiveSample> samples = without_outlying(measured, fitted.findings);
  fitted.operations = fit_collectives(samples, fitted.findings);
  const FittedAcross across = fit_across(samples, fitted.operations);
  if (options.npus.size() > 1 && !(across.rail_gib_per_s > 0))
    return fail(Code::bad_input, "calibrate.network.nodes",
                "there are no measurements between nodes; give measurements of several nodes, or one number to --npus");
  if (across.rail_gib_per_s > 0 && !across.several_peers)
    fitted.findings.push_back({"calibrate.network.rail", Severity::warning, -1, -1,
                               "there is no measured all-to-all with several peers on other nodes, so the rate of a "
                               "rail is unknown; the rate to one peer is used instead"});
  fitted.scale = judge_scale(samples, fitted.operations);
  note_above(samples, fitted.findings);
  const Messages messages = messages_of(samples, fitted.operations, across);
  if (options.npus.size() != 1)
    fitted.operations.insert(fitted.operations.end(), across.operations.begin(), across.operations.end());
  else if (!across.operations.empty())
    fitted.findings.push_back({"calibrate.network.skipped", Severity::warning, -1, -1,
                               "measurements across nodes were left out; --npus GPUS,NODES includes them"});
  if (fitted.operations.empty()) {
    std::string why;
    for (const Finding& finding : fitted.findings)
      if (finding.tag == "calibrate.network.skipped") why += "; " + finding.text;
    return fail(Code::bad_input, "calibrate.network.few",
                fmt::format("no measured collective with a supported formula in {}{}", join(options.files, ", "), why));
  }
  for (const FittedOperation& o : fitted.operations) fitted.held_out = together(fitted.held_out, o.held_out);
  if (!options.judge.empty()) CHAKRA_TRY(judge_on_files(options, measured, fitted));
  note_unknown(fitted, messages, fitted.findings);
  fitted.table = parameter_table(fitted.operations);
  fitted.text = file_text(fitted, options.npus.empty() ? measured_npus(samples) : options.npus, messages);
  fitted.samples = std::ssize(measured);
  note_parts(fitted);
  return fitted;
}

}  // namespace chakra::calibrate
