// Access to the metadata of a file by name.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>

#include "chakra/trace/trace.h"

namespace chakra::trace {

/// Of traces of XLA: the number of runs, and "xla_run_<n>": the name of a run. Each node has the number of its run as
/// an attribute with the second name.
inline constexpr std::string_view kXlaRuns = "xla_runs", kXlaRun = "xla_run";

/// Ranks with the same number here share a clock, as the devices of one process do.
inline constexpr std::string_view kSharedClock = "shared_clock";

/// Of generated traces: bytes that the rank holds in the memory of its device, at the peak.
inline constexpr std::string_view kMemoryPerRank = "memory_bytes_per_rank";

/// Return the first attribute with that name; std::nullopt if absent. Cost: O(metadata).
inline std::optional<Attr> metadata(const Trace& t, std::string_view name) {
  for (const Attr& attr : t.metadata)
    if (t.strings[attr.name] == name) return attr;
  return std::nullopt;
}

/// Add the bytes to the metadata, if they are a whole number of 64 bits.
inline void describe_memory(double bytes, Trace& t) {
  constexpr double kMost = 9e18;
  if (bytes >= 0 && bytes < kMost) t.metadata.push_back({t.strings.intern(kMemoryPerRank), std::llround(bytes)});
}

/// Return the whole number with that name; std::nullopt if absent or not a whole number. Cost: O(metadata).
inline std::optional<int64_t> metadata_number(const Trace& t, std::string_view name) {
  const auto attr = metadata(t, name);
  return attr ? attr->integer() : std::nullopt;
}

}  // namespace chakra::trace
