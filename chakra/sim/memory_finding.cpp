// Whether a rank fits into the memory of its device.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/device/device.h"
#include "chakra/sim/retarget.h"
#include "chakra/trace/metadata.h"

namespace chakra::sim {

std::string_view fits(const MemoryUse& use) {
  return use.most() <= use.device_bytes ? "yes" : use.bytes <= use.device_bytes ? "maybe" : "no";
}

std::vector<MemoryUse> memory_uses(const trace::ClassJob& job, const device::System& system) {
  std::vector<int64_t> bytes;  // by class; 0: unknown
  for (const trace::Trace& t : job.classes)
    bytes.push_back(std::max<int64_t>(trace::metadata_number(t, trace::kMemoryPerRank).value_or(0), 0));
  std::map<std::string, MemoryUse> most;  // by device
  if (std::all_of(bytes.begin(), bytes.end(), [](int64_t of_class) { return of_class == 0; })) return {};
  for (const trace::ClassJob::Rank& r : job.ranks) {
    const auto held = static_cast<double>(bytes[r.cls]);
    const device::Device* const on = system.device_of(r.rank);
    MemoryUse& use = most[on ? on->name : ""];
    if (held > use.bytes) use = {r.rank, held, on && on->stack.fsdp, on ? on->memory_bytes : 0, on ? on->name : ""};
  }
  std::vector<MemoryUse> uses;
  for (auto& [name, use] : most)
    if (use.bytes > 0) uses.push_back(std::move(use));
  const auto fuller = [](const MemoryUse& a, const MemoryUse& b) {
    return a.most() * std::max(b.device_bytes, 1.0) > b.most() * std::max(a.device_bytes, 1.0);
  };
  std::stable_sort(uses.begin(), uses.end(), [&](const MemoryUse& a, const MemoryUse& b) {
    return (a.device_bytes > 0) != (b.device_bytes > 0) ? a.device_bytes > 0 : fuller(a, b);
  });
  return uses;
}

std::optional<Finding> memory_finding(const MemoryUse& use) {
  if (use.device_bytes <= 0 || fits(use) == "yes") return std::nullopt;
  const std::string needs = fmt::format("rank {} holds {}", use.rank, show_bytes(use.bytes));
  const std::string has = fmt::format("and {} has {}", use.device, show_bytes(use.device_bytes));
  if (fits(use) == "no")
    return Finding{"sim.device.memory", Severity::warning, -1, -1,
                   fmt::format("{}, {}: the job does not fit, so its times are those of no real run; 'chakra gen' "
                               "with --stats shows the parts",
                               needs, has)};
  return Finding{"sim.device.memory", Severity::note, -1, -1,
                 fmt::format("{}, up to {} with allocator, context and buffers, {}: the job may not fit", needs,
                             show_bytes(use.most()), has)};
}

}  // namespace chakra::sim
