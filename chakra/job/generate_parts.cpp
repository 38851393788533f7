#include "chakra/job/generate_parts.h"

#include <fmt/core.h>

#include "chakra/job/simulate_input.h"
#include "chakra/view/view.h"

namespace chakra::job {

std::string parameters_text(int64_t parameters, int64_t active) {
  return fmt::format("\nparameters          {} (tied once), {} active for a token\n", show_count(parameters),
                     show_count(active));
}

Result<device::Stack> use_device_and_stack(const std::string& device, const std::string& stack,
                                           device::System& system) {
  CHAKRA_ASSIGN(device::Stack software, device::find_or_load_stack(stack.empty() ? kUsualStack : stack));
  if (device.empty()) return software;
  DeviceOptions on;
  on.device = device;
  on.stack = stack;
  CHAKRA_TRY(use_devices(on, system));
  return software;
}

double memory_of_device(std::optional<double> asked, const device::System& system) {
  if (asked) return *asked;
  return system.target && system.target->memory_bytes > 0 ? system.target->memory_bytes / kGib : kUsualDeviceGib;
}

double most_bytes(double sum) {
  constexpr double kAllocator = 0.1, kContext = 2 * kGib;
  return sum * (1 + kAllocator) + kContext;
}

namespace {

std::string verdict(double sum, double device) {
  if (sum > device) return "does not fit into the device";
  const double most = most_bytes(sum);
  if (most <= device)
    return fmt::format("fits into the device: at most {:.2f} GiB with allocator, context and buffers", most / kGib);
  return fmt::format("may not fit into the device: up to {:.2f} GiB with allocator, context and buffers", most / kGib);
}

}  // namespace

std::string memory_text(int64_t rank, const std::vector<MemoryLine>& lines, double device_memory_gib) {
  std::string text = fmt::format("memory of rank {}, which needs most\n", rank);
  double sum = 0;
  const auto add = [&](const MemoryLine& line) {
    text += fmt::format("  {:<14}{:>12.2f} GiB  {}\n", line.name, line.bytes / kGib, line.formula);
  };
  for (const MemoryLine& line : lines) {
    add(line);
    sum += line.bytes;
  }
  const std::string fits = verdict(sum, device_memory_gib * kGib);
  add({"sum", sum, fits.c_str()});
  return text;
}

std::string rank_tables(const std::vector<RankSums>& classes) {
  result::Table communication, storage;
  for (const char* name : {"rank", "group", "type", "count", "buffers", "sent with a ring"})
    communication.columns.push_back({name, result::Table::Kind::text});
  for (const char* name : {"rank", "tier", "kind", "count", "bytes"})
    storage.columns.push_back({name, result::Table::Kind::text});
  for (const RankSums& sums : classes) {
    for (const gen::Communication& c : sums.communication)
      communication.rows.push_back({sums.ranks, c.group, c.type, show_count(c.count),
                                    fmt::format("{:.4f} GiB", c.bytes / kGib),
                                    fmt::format("{:.4f} GiB", c.wire_bytes / kGib)});
    for (const gen::StorageSum& io : sums.storage)
      storage.rows.push_back({sums.ranks, io.tier, io.kind, show_count(io.count), show_count(whole(io.bytes))});
  }
  std::string text;
  for (const result::Table* table : {&communication, &storage})
    if (!table->rows.empty()) text += "\n" + view::to_text(*table, SIZE_MAX);
  return text;
}

}  // namespace chakra::job
