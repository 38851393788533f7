// Recordings in memory: the output of profilers for one process, independent of device vendor and framework. A
// host trace has operators without times, a profile has times. The room link builds a Trace from both.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/recording/comm_calls.h"     // IWYU pragma: export
#include "chakra/recording/comm_kernels.h"   // IWYU pragma: export
#include "chakra/recording/comm_record.h"    // IWYU pragma: export
#include "chakra/recording/export_survey.h"  // IWYU pragma: export
#include "chakra/recording/export_tools.h"   // IWYU pragma: export
#include "chakra/recording/host_trace.h"     // IWYU pragma: export
#include "chakra/recording/profile.h"        // IWYU pragma: export
#include "chakra/recording/public_names.h"   // IWYU pragma: export
#include "chakra/recording/rank_files.h"     // IWYU pragma: export
#include "chakra/recording/vendors.h"        // IWYU pragma: export
#include "chakra/trace/trace.h"

namespace chakra::recording {

struct FormatRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
};
inline constexpr std::array<FormatRow, 5> kFormats{{
    {"host", "*.json, packed as .gz, .zst, .tar.gz",
     "PyTorch execution trace (ExecutionTraceObserver), schemas 1.0.1 to 1.1.1; read by link"},
    {"kineto", "*.json, packed as .gz, .zst, .tar.gz",
     "Kineto trace (torch.profiler), NVIDIA, AMD and CPU, 2021 to 2026; read by link"},
    {"nsys", "*.sqlite", "export of Nsight Systems (nsys export --type sqlite), 2019 to 2026; read by link"},
    {"rocpd", "*.db", "database of rocprofv3 (--output-format rocpd), ROCm 7; read by link"},
    {"rocprof", "*.json", "output of rocprofv3 (--output-format json); read by link"},
}};

/// The known schemas of host traces; other schemas are read by the names of the fields.
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
  Profile profile;       ///< empty if only a host trace exists
  int64_t left_out = 0;  ///< damaged records, with ReadOptions::salvage
  Findings findings;     ///< pytorch.salvaged, pytorch.host.*, pytorch.kineto.*, nsys.*, rocprof.*
};

struct ReadOptions {
  bool salvage = false;  ///< leave damaged records out, keep the intact part of a truncated file
  ShapesWanted shapes_wanted = nullptr;
  ProcessChoice choice = {};  ///< of a profile with several processes
};

/// Read a host trace, a profile, or both. Names and texts go to `strings` and `texts`, which must outlive the result.
/// Errors: those of read_host_trace, read_kineto, read_nsys and read_rocprof, with the advice to salvage if helpful;
/// pytorch.host.nothing. Cost: O(bytes).
Result<Recording> read_recording(std::optional<ByteSource> host, std::optional<ByteSource> profile, StringPool& strings,
                                 Arena& texts, const ReadOptions& options);

}  // namespace chakra::recording
