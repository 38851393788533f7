// Scaled time by devices, and what ranks do per second.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "chakra/job/report_parts.h"

namespace chakra::job {

using result::Json;
using result::Table;

Table device_table(const sim::SimReport& report) {
  Table table{"",
              {{"device time", Table::Kind::text},
               {"from", Table::Kind::text},
               {"to", Table::Kind::text},
               {"nodes", Table::Kind::count},
               {"before", Table::Kind::time_ps},
               {"", Table::Kind::share},
               {"after", Table::Kind::time_ps}},
              {}};
  Picoseconds all = 0;
  for (const sim::ScaledTime& row : report.devices) all = add_saturated(all, row.before_ps);
  for (const sim::ScaledTime& row : report.devices)
    table.rows.push_back({std::string(sim::kScalings[static_cast<size_t>(row.how)].text), row.from, row.to, row.nodes,
                          row.before_ps, all ? static_cast<double>(row.before_ps) / static_cast<double>(all) : 0.0,
                          row.after_ps});
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

void add_rates(const sim::ActorReport& actor, Json& json) {
  json["device"] = actor.device;
  json["ops"] = actor.work.all_ops();
  json["bytes"] = actor.work.bytes;
  json["ops_per_s"] = actor.rates.ops_per_s;
  json["bytes_per_s"] = actor.rates.bytes_per_s;
  json["mfu"] = actor.rates.mfu ? Json(*actor.rates.mfu) : Json(nullptr);
}

Json devices_json(const sim::SimReport& report) {
  Json rows = Json::array();
  for (const sim::ScaledTime& row : report.devices)
    rows.push_back({{"from", row.from},
                    {"to", row.to},
                    {"how", sim::kScalings[static_cast<size_t>(row.how)].name},
                    {"nodes", row.nodes},
                    {"before_ps", row.before_ps},
                    {"after_ps", row.after_ps}});
  return rows;
}

}  // namespace chakra::job
