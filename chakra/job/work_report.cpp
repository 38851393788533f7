// What is said of work that comes from shapes.
#include <fmt/core.h>

#include <array>

#include "chakra/job/report_parts.h"

namespace chakra::job {
namespace {

constexpr size_t kShownRest = 4;

/// "785.3 G": counts of operations have many digits.
std::string show_operations(uint64_t count) {
  constexpr std::array<const char*, 7> kUnits{"", " k", " M", " G", " T", " P", " E"};
  size_t unit = 0;
  auto value = static_cast<double>(count);
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{}", count) : fmt::format("{:.1f}{}", value, kUnits[unit]);
}

}  // namespace

std::vector<std::string> work_lines(const link::WorkReport& work) {
  if (work.device_ns == 0 && work.operators == 0) return {};
  std::vector<std::string> lines;
  std::string& line = lines.emplace_back(
      fmt::format("{} operations, {}", show_operations(work.operations), show_bytes(static_cast<double>(work.bytes))));
  if (work.device_ns == 0) return lines;
  line += fmt::format("; known for {} of {} of computation and copies on the device",
                      show_percent(share(work.covered_ns, work.device_ns)), show_time(work.device_ns * kPsPerNs));
  if (work.rest.empty()) return lines;
  std::string rest;
  int64_t left = 0;
  for (size_t i = 0; i < work.rest.size(); ++i) {
    const auto& row = work.rest[i];
    if (i >= kShownRest) left += row.device_ns;
    else
      rest += fmt::format("{}{} {} ({})", rest.empty() ? "rest: " : ", ", quote(row.name, 40),
                          show_percent(share(row.device_ns, work.device_ns)), row.reason);
  }
  if (left > 0)
    rest += fmt::format(", {} more {}", work.rest.size() - kShownRest, show_percent(share(left, work.device_ns)));
  lines.push_back(rest);
  return lines;
}

}  // namespace chakra::job
