// Workloads of other tools where traces or recordings are expected.
#pragma once

#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::job {

/// Refuse a file that 'chakra import' reads ("a recording" is expected); any other path passes. Errors: kind.other,
/// those of ByteSource.
Result<void> refuse_workload(const std::string& path, std::string_view expected);

/// The name of the form of such a file, by its beginning; "" for any other.
std::string_view workload_form(std::string_view head);

}  // namespace chakra::job
