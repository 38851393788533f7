// Recordings in memory: what profilers wrote about one process, whatever the vendor of the device and the framework.
// A host trace says what ran, a profile says what ran when. The room link makes a Trace of them.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/recording/arguments.h"     // IWYU pragma: export
#include "chakra/recording/comm_calls.h"    // IWYU pragma: export
#include "chakra/recording/comm_kernels.h"  // IWYU pragma: export
#include "chakra/recording/comm_record.h"   // IWYU pragma: export
#include "chakra/recording/host_trace.h"    // IWYU pragma: export
#include "chakra/recording/profile.h"       // IWYU pragma: export
#include "chakra/recording/rank_files.h"    // IWYU pragma: export
#include "chakra/recording/vendors.h"       // IWYU pragma: export
#include "chakra/trace/trace.h"

namespace chakra::recording {

struct FormatRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
};
inline constexpr std::array<FormatRow, 2> kFormats{{
    {"host", "*.json, packed as .gz, .zst, .tar.gz",
     "PyTorch execution trace (ExecutionTraceObserver), schemas 1.0.1 to 1.1.1; read by link"},
    {"kineto", "*.json, packed as .gz, .zst, .tar.gz",
     "Kineto trace (torch.profiler), NVIDIA, AMD and CPU, 2021 to 2026; read by link"},
}};

/// The schemas of host traces that are known; others are read by the names of their fields.
inline constexpr std::array<std::string_view, 7> kHostSchemas{
    "1.0.1",
    "1.0.2-chakra.0.0.4",
    "1.0.3-chakra.0.0.4",
    "1.0.4-chakra.0.0.4",
    "1.1.0-chakra.0.0.4",
    "1.1.1-chakra.0.0.4",
    "1.1.1-chakra.1.0.0",
};

struct Recording {
  HostTrace host;  ///< empty without has_host
  bool has_host = false;
  Profile profile;       ///< empty where there is only a host trace
  int64_t left_out = 0;  ///< damaged records, with ReadOptions::salvage
  Findings findings;     ///< pytorch.salvaged, pytorch.host.*, pytorch.kineto.*
};

struct ReadOptions {
  bool salvage = false;  ///< leave damaged records out, keep what is whole of a file that was cut
  ShapesWanted shapes_wanted = nullptr;
};

/// Reads a host trace, a profile, or both. Names and texts go to `strings` and `texts`, which must outlive the result.
/// Errors: those of read_host_trace and read_kineto, with the advice to salvage where that helps; pytorch.host.nothing.
/// Cost: O(bytes).
Result<Recording> read_recording(std::optional<ByteSource> host, std::optional<ByteSource> profile, StringPool& strings,
                                 Arena& texts, const ReadOptions& options);

}  // namespace chakra::recording
