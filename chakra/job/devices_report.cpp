// Scaled time by devices, and what ranks do per second.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "chakra/job/report_parts.h"

namespace chakra::job {

using result::Table;

namespace {

/// Of what was measured on another device, or stays as it is, nothing says an error.
Table::Cell error_of(const sim::ScaledTime& row) {
  if (row.error() > 0) return row.error();
  return std::string(sim::is_predicted(row.how) ? "not known" : "-");
}

}  // namespace

Table device_table(const sim::SimReport& report) {
  Table table{"",
              {{"device time", Table::Kind::text},
               {"from", Table::Kind::text},
               {"to", Table::Kind::text},
               {"nodes", Table::Kind::count},
               {"before", Table::Kind::time_ps},
               {"", Table::Kind::share},
               {"after", Table::Kind::time_ps},
               {"error", Table::Kind::share}},
              {}};
  Picoseconds all = 0;
  for (const sim::ScaledTime& row : report.devices) all = add_saturated(all, row.before_ps);
  for (const sim::ScaledTime& row : report.devices)
    table.rows.push_back({std::string(sim::kScalings[static_cast<size_t>(row.how)].text), row.from, row.to, row.nodes,
                          row.before_ps, all ? static_cast<double>(row.before_ps) / static_cast<double>(all) : 0.0,
                          row.after_ps, error_of(row)});
  return table;
}

namespace {

/// The least and the most of a figure over the actors that have it, with a unit of its size: "31.2 to 40.1 TFLOP/s".
struct RateRange {
  double least = 0, most = 0;
  bool any = false;
  void add(double value) {
    least = any ? std::min(least, value) : value;
    most = any ? std::max(most, value) : value;
    any = true;
  }
};

std::string show_ops(double per_s) {
  constexpr std::array<std::pair<double, const char*>, 5> kUnits{
      {{1e18, "EFLOP/s"}, {1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}}};
  for (const auto& [size, unit] : kUnits)
    if (per_s >= size) return fmt::format("{:.4g} {}", per_s / size, unit);
  return fmt::format("{:.4g} FLOP/s", per_s);
}

template <class Show>
std::string show(const RateRange& range, const Show& one) {
  const std::string least = one(range.least), most = one(range.most);
  return least == most ? most : fmt::format("{} to {}", least, most);
}

}  // namespace

std::string rates_line(const sim::SimReport& report) {
  RateRange ops, bytes, mfu;
  std::set<std::string> devices;
  for (const sim::ActorReport& actor : report.actors) {
    if (actor.work.all_ops() == 0 && actor.work.bytes == 0) continue;
    ops.add(actor.rates.ops_per_s);
    bytes.add(actor.rates.bytes_per_s);
    if (!actor.rates.mfu) continue;
    mfu.add(*actor.rates.mfu);
    devices.insert(actor.device);
  }
  if (!ops.any) return "";
  std::string line = fmt::format("\n  rates per rank: {}, memory {}", show(ops, show_ops), show(bytes, show_rate));
  if (mfu.any) line += fmt::format("; MFU {} of {}", show(mfu, show_percent), fmt::join(devices, ", "));
  return line + "\n";
}

std::string reliability_line(const sim::SimReport& report) {
  struct Part {
    Picoseconds time = 0, unknown = 0;
    double off_ps = 0;
    void add(const sim::ScaledTime& row) {
      time = add_saturated(time, row.after_ps);
      unknown = add_saturated(unknown, row.unknown_ps);
      off_ps += row.off_ps;
    }
    std::string show(Picoseconds all, const char* what) const {
      if (time == 0) return "";
      const auto whole = static_cast<double>(time);
      return fmt::format(", {} {} ({})", show_percent(whole / static_cast<double>(all)), what,
                         unknown == 0 ? "off by " + show_percent(off_ps / whole) : "error not known of all of it");
    }
  };
  Part measured, estimated, scaled;
  for (const sim::ScaledTime& row : report.devices)
    (is_measured_kernel(row.how) ? measured : is_predicted(row.how) ? estimated : scaled).add(row);
  const Picoseconds all = add_saturated(add_saturated(measured.time, estimated.time), scaled.time);
  if (measured.time == 0 && estimated.time == 0) return "";
  const std::string parts = measured.show(all, "from measured kernels") + estimated.show(all, "estimated") +
                            scaled.show(all, "scaled or as recorded");
  return fmt::format("device time: {}\n", parts.substr(2));
}

Throughput throughput_of(const SimulateResult& result) {
  Throughput of;
  const sim::SimReport& report = result.report;
  if (result.tokens <= 0 || report.makespan_ps <= 0 || report.ranks.empty()) return of;
  const double seconds = static_cast<double>(report.makespan_ps) / kPsPerSecond;
  of.tokens_per_s = static_cast<double>(result.tokens) / seconds;
  of.tokens_per_s_per_rank = of.tokens_per_s / static_cast<double>(report.ranks.size());
  of.model_ops_per_s = static_cast<double>(result.model_operations) / seconds;
  double ops = 0, used = 0;  // of all ranks: operations, and peaks used for them, in ranks
  for (const sim::ActorReport& actor : report.actors) {
    const auto ranks = static_cast<double>(actor.ranks);
    ops += ranks * actor.rates.ops_per_s;
    if (actor.work.all_ops() > 0 && !actor.rates.mfu) return of;
    used += ranks * actor.rates.mfu.value_or(0);
  }
  if (ops > 0) of.mfu = used / ops * of.model_ops_per_s;
  return of;
}

std::string throughput_line(const SimulateResult& result) {
  const Throughput of = throughput_of(result);
  if (of.tokens_per_s == 0) return "";
  std::string line = fmt::format("  throughput: {:.4g} tokens/s, {:.4g} per rank; the model's operations {} per rank",
                                 of.tokens_per_s, of.tokens_per_s_per_rank, show_ops(of.model_ops_per_s));
  if (of.mfu) line += fmt::format(", MFU {}", show_percent(*of.mfu));
  return line + "\n";
}

}  // namespace chakra::job
