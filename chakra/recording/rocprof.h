// The reader of rocprofv3's JSON output (rocprofv3 --output-format json):
// docs/reference/formats/rocprof.md describes the members.
#pragma once

#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/recording/profile.h"

namespace chakra::recording {

/// Return whether a file that begins so is such an output.
bool is_rocprof(std::string_view head);

/// Read the HIP calls, the device operations and the ROCTx ranges of the one process. Names go to `strings`. The file
/// is held in memory. Findings: rocprof.ranges, rocprof.launch. Errors: rocprof.json, rocprof.value, rocprof.nothing,
/// rocprof.processes, and those of ByteSource. Cost: O(bytes + records log records).
Result<Profile> read_rocprof(ByteSource source, StringPool& strings, Findings& findings);

}  // namespace chakra::recording
