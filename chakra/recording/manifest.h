// What chakra_et.record() writes about a recording beside its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::recording {

struct Manifest {
  int64_t rank = 0;
  double plain_s = 0, recorded_s = 0;  ///< median steps before and in the recording; 0: not stated
  bool observed = false;               ///< the host trace is of the recorded steps
};
/// Read `manifest.RANK.json`; nothing if the file is another document. Errors: those of JSON and of ByteSource.
/// Cost: O(bytes).
Result<std::optional<Manifest>> read_manifest(const std::string& path);
Result<std::optional<Manifest>> read_manifest(ByteSource source);

/// Report steps that took much longer than those before, because they were recorded. Finding: recording.overhead.
void report_overhead(const std::vector<Manifest>& manifests, Findings& findings);

}  // namespace chakra::recording
