// chakra calibrate network: the file and the report of what was fitted.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "chakra/calibrate/least_squares.h"

namespace chakra::calibrate {
namespace {

using table::Table;

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

Table parameter_table(const std::vector<FittedOperation>& operations) {
  Table table{"",
              {{"operation", Table::Kind::text},
               {"algorithm", Table::Kind::text},
               {"protocol", Table::Kind::text},
               {"ranks", Table::Kind::text},
               {"per operation", Table::Kind::text},
               {"per step", Table::Kind::text},
               {"wire", Table::Kind::text},
               {"local", Table::Kind::text}},
              {}};
  for (const FittedOperation& o : operations)
    for (size_t k = 0; k < o.parameters.size(); ++k) {
      const ProtocolParameters& p = o.parameters[k];
      table.rows.push_back({std::string(o.fit.form->operation), std::string(o.fit.form->algorithm),
                            o.fit.protocols[k].name, fmt::format("{}", fmt::join(o.fit.ranks, ", ")), show_us(p.op_ns),
                            show_us(p.step_ns), show_rate_of(p.wire_ns_per_byte), show_rate_of(p.local_ns_per_byte)});
    }
  return table;
}

Table error_table(const FittedNetwork& fitted) {
  Table table{"",
              {{"operation", Table::Kind::text},
               {"ranks", Table::Kind::text},
               {"from", Table::Kind::bytes},
               {"to", Table::Kind::bytes},
               {"points", Table::Kind::count},
               {"error", Table::Kind::share},
               {"worst", Table::Kind::share}},
              {}};
  for (const FittedOperation& o : fitted.operations)
    table.rows.push_back({fmt::format("{} {}", o.fit.form->operation, o.fit.form->algorithm),
                          fmt::format("{}", fmt::join(o.fit.ranks, ", ")), static_cast<double>(o.fit.from_bytes),
                          static_cast<double>(o.fit.to_bytes), o.held_out.points, o.held_out.mean, o.held_out.worst});
  return table;
}

/// The largest rate that any protocol reached on a wire; 0 where none has one.
double best_rate(const std::vector<FittedOperation>& operations) {
  double best = 0;
  for (const FittedOperation& o : operations)
    if (o.fit.form->algorithm != "nvls") best = std::max(best, o.fit.protocols.back().wire_gib_per_s);
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
  if (p.local_gib_per_s > 0) text += fmt::format(", local_bandwidth: {:.6g}", p.local_gib_per_s);
  if (p.up_to_bytes.empty()) return text + " }\n";
  text += ", up_to_bytes: [";
  for (size_t i = 0; i < p.up_to_bytes.size(); ++i)
    text +=
        (i ? ", " : " ") + (p.up_to_bytes[i] == net::ProtocolFit::kAnySize ? "any" : std::to_string(p.up_to_bytes[i]));
  return text + " ] }\n";
}

std::string file_text(const FittedNetwork& fitted, int64_t ranks) {
  const double rate = best_rate(fitted.operations), step = least_step_ns(fitted.operations);
  std::string text = fmt::format(
      "# Written by 'chakra calibrate network'. GB/s of 2^30 bytes, ns, bytes of a whole buffer.\n"
      "# On measurements that were kept out it is {:.1f} % off, {:.1f} % at worst.\n"
      "# 'bandwidth' and 'latency' are for messages and for operations that are not below.\n"
      "topology: [ Switch ]\nnpus_count: [ {} ]\nbandwidth: [ {:.6g} ]\nlatency: [ {:.6g} ]{}\ncollectives:\n",
      100 * fitted.held_out.mean, 100 * fitted.held_out.worst, ranks, rate > 0 ? rate : 1, step / 2,
      step > 0 ? "" : "   # not determined");
  for (const FittedOperation& o : fitted.operations) {
    const net::CollectiveFit& fit = o.fit;
    text +=
        fmt::format("  - operation: {}\n    algorithm: {}\n    ranks: [ {} ]\n    bytes: [ {}, {} ]\n",
                    fit.form->operation, fit.form->algorithm, fmt::join(fit.ranks, ", "), fit.from_bytes, fit.to_bytes);
    if (fit.error_percent >= 0)
      text +=
          fmt::format("    error_percent: {:.2f}\n    worst_percent: {:.2f}\n", fit.error_percent, fit.worst_percent);
    text += "    protocols:\n";
    for (const net::ProtocolFit& protocol : fit.protocols) text += protocol_text(protocol);
  }
  return text;
}

table::Report report_of(const FittedNetwork& fitted, size_t samples) {
  table::Report report;
  report.parts.push_back(fmt::format("{} measured times (medians of equal rows)\n", samples));
  report.parts.push_back(fmt::format(
      "Error on sizes that were kept out, each eighth predicted from the others: {} over {} points, worst {}\n",
      show_percent(fitted.held_out.mean), fitted.held_out.points, show_percent(fitted.held_out.worst)));
  report.parts.push_back(table::Report::Rows{error_table(fitted), 0});
  report.parts.push_back(std::string("\nParameters, and how far they may be off (one standard error)\n"));
  report.parts.push_back(table::Report::Rows{fitted.table, 0});
  if (std::any_of(fitted.operations.begin(), fitted.operations.end(),
                  [](const FittedOperation& o) { return o.fit.ranks.size() == 1; }))
    report.parts.push_back(
        std::string("\nWhere one number of ranks was measured, steps and local bytes are not told apart from the rest: "
                    "another number "
                    "of ranks is a guess.\n"));
  return report;
}

}  // namespace

Result<FittedNetwork> fit_network(const NetworkOptions& options) {
  FittedNetwork fitted;
  CHAKRA_ASSIGN(const std::vector<CollectiveSample> samples, read_collectives(options, fitted.findings));
  fitted.operations = fit_collectives(samples);
  if (fitted.operations.empty())
    return fail(Code::bad_input, "calibrate.network.few", "no measured collective that a form is for");
  int64_t ranks = 2;
  for (const FittedOperation& o : fitted.operations) {
    fitted.held_out = together(fitted.held_out, o.held_out);
    ranks = std::max(ranks, o.fit.ranks.back());
  }
  fitted.table = parameter_table(fitted.operations);
  fitted.text = file_text(fitted, options.ranks.value_or(ranks));
  fitted.report = report_of(fitted, samples.size());
  return fitted;
}

}  // namespace chakra::calibrate
