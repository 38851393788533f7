#include "chakra/cli/sim_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace chakra::cli {

using table::Table;

Option device_option(job::DeviceOptions& options) {
  return {.names = "--device",
          .target = &options.device,
          .help = "Compute on this device: a name of 'chakra list devices' or a device file; measured times are scaled",
          .value = "NAME|FILE"};
}
Option from_device_option(job::DeviceOptions& options) {
  return {.names = "--from-device",
          .target = &options.from_device,
          .help = "What was measured, was measured on this device, whatever the traces say",
          .value = "NAME|FILE"};
}
Option unrecorded_option(job::DeviceOptions& options) {
  return {.names = "--unrecorded",
          .target = &options.unrecorded,
          .help =
              "Whether device work that was not recorded is scaled with the device and a rank's speed (scale, the "
              "default), or takes its time (keep)",
          .value = "KIND",
          .accepted = one_of({"scale", "keep"})};
}

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
struct Range {
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
std::string show(const Range& range, const Show& one) {
  const std::string least = one(range.least), most = one(range.most);
  return least == most ? most : fmt::format("{} to {}", least, most);
}

}  // namespace

std::string rates_line(const sim::SimReport& report) {
  Range ops, bytes, mfu;
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

Table list_devices() {
  Table table{"", {{"device", Table::Kind::text}}, {}};
  for (const device::DType type : device::kPeakTypes)
    table.columns.push_back({std::string(trace::name(type)), Table::Kind::text});
  for (const char* column : {"GB/s", "GB", "also called", "source"})
    table.columns.push_back({column, Table::Kind::text});
  const auto number = [](double value) { return value > 0 ? fmt::format("{:g}", value) : std::string("-"); };
  for (const device::DeviceRow& row : device::kDevices) {
    std::vector<Table::Cell> cells{std::string(row.name)};
    for (const double peak : row.tera_ops_per_s) cells.push_back(number(peak));
    std::string names(row.recorded_as);
    for (size_t at = 0; (at = names.find('|', at)) != std::string::npos; at += 2) names.replace(at, 1, ", ");
    cells.insert(cells.end(), {number(row.gb_per_s), number(row.memory_gb), names, std::string(row.source)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace chakra::cli
