#include "chakra/cli/sim_devices.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include "chakra/device/device.h"

namespace chakra::cli {

using result::Table;

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

Table list_kernels() {
  Table table{"", {}, {}};
  for (const char* column : {"kernel", "sizes", "what it is"}) table.columns.push_back({column, Table::Kind::text});
  for (const device::KernelKind& row : device::kKernelKinds) {
    const std::span sizes(row.sizes.data(), row.size());
    table.rows.push_back({std::string(row.name), fmt::format("{}", fmt::join(sizes, ", ")), std::string(row.meaning)});
  }
  return table;
}

}  // namespace chakra::cli
