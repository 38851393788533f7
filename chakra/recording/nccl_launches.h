// Calls of NCCL and their kernels: a group of calls launches its kernels at the end of the group. Inside recording.
#pragma once

#include "chakra/recording/nccl_payload.h"
#include "chakra/recording/profile.h"

namespace chakra::recording {

/// Describe a call by its arguments. `ranks`: of the communicator; -1: unknown, and sizes that depend on it also
/// stay unknown.
CommRecord describe_call(CommKind kind, const NcclArguments& arguments, int64_t ranks);

/// Give collective calls (CpuOp::library_call with a record) to the kernels that they launched, as DeviceOp::comm.
/// Messages stay with their calls. Findings: nsys.calls. Cost: O(records log records).
void join_library_calls(Profile& profile, const StringPool& strings, Findings& findings);

}  // namespace chakra::recording
