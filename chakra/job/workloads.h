// Reject workloads of other tools in place of traces or recordings.
#pragma once

#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::job {

/// Reject a file that 'chakra import' reads (`expected`: "a recording"); accept any other path. Errors: kind.other; as
/// for ByteSource.
Result<void> refuse_workload(const std::string& path, std::string_view expected);

/// Return the name of the format, detected from the first bytes; "" for other files.
std::string_view workload_form(std::string_view head);

}  // namespace chakra::job
