// The named test cases of the ecosystem: traces of one or two nodes, one per kind of node and of collective,
// under the names of mlcommons/chakra's generator. The cases are for tests of tools that read traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

struct CaseOptions {
  Picoseconds runtime = 5 * kPsPerUs;  ///< of each computation
  uint64_t tensor_bytes = 1024;        ///< of each load, store and message
  uint64_t comm_bytes = 65536;         ///< of each collective; a barrier has none
};

struct NamedCase {
  std::string_view name;  ///< NAME.<rank>.et
  std::string_view description;
  /// Return the trace of rank `rank` of `ranks`. Ids start at 0.
  trace::Trace (*trace)(int64_t rank, int64_t ranks, const CaseOptions& options);
  /// Null, or the file if a Trace cannot represent the case: attributes of every type in the schema.
  std::string (*file)(int64_t rank);
};

/// Return all cases, in the order of the documentation.
const std::vector<NamedCase>& cases();

}  // namespace chakra::gen
