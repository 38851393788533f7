// The functions of NCCL and of CUDA's driver that the back end `nccl` calls, as publicly
// documented. The libraries are opened on demand, so the build does not need CUDA. Inside replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "chakra/base/base.h"

namespace chakra::replay::nccl {

struct UniqueId {
  char bytes[128];
};
using Comm = struct OpaqueComm*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Context = struct OpaqueContext*;
using DevicePointer = unsigned long long;

/// ncclDataType_t and ncclRedOp_t.
enum Type : int { kInt8, kUint8, kInt32, kUint32, kInt64, kUint64, kHalf, kFloat, kDouble, kBfloat16, kE4m3, kE5m2 };
enum Reduce : int { kSum, kProduct, kMaximum, kMinimum, kAverage };

inline constexpr int kCudaNotReady = 600;
inline constexpr unsigned kStreamNonBlocking = 1, kEventWithoutTiming = 2;

/// All functions return 0, or a number that the *_error functions explain.
struct Api {
  int (*unique_id)(UniqueId*) = nullptr;
  int (*init_rank)(Comm*, int ranks, UniqueId, int rank) = nullptr;
  int (*all_reduce)(const void*, void*, size_t, int type, int op, Comm, Stream) = nullptr;
  int (*reduce)(const void*, void*, size_t, int type, int op, int root, Comm, Stream) = nullptr;
  int (*broadcast)(const void*, void*, size_t, int type, int root, Comm, Stream) = nullptr;
  int (*all_gather)(const void*, void*, size_t, int type, Comm, Stream) = nullptr;
  int (*reduce_scatter)(const void*, void*, size_t, int type, int op, Comm, Stream) = nullptr;
  int (*send)(const void*, size_t, int type, int peer, Comm, Stream) = nullptr;
  int (*receive)(void*, size_t, int type, int peer, Comm, Stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*destroy)(Comm) = nullptr;
  int (*abort)(Comm) = nullptr;
  const char* (*nccl_error)(int) = nullptr;

  int (*init)(unsigned) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device)(int*, int ordinal) = nullptr;
  int (*retain_context)(Context*, int device) = nullptr;
  int (*set_context)(Context) = nullptr;
  int (*stream_create)(Stream*, unsigned) = nullptr;
  int (*stream_destroy)(Stream) = nullptr;
  int (*allocate)(DevicePointer*, size_t) = nullptr;
  int (*release)(DevicePointer) = nullptr;
  int (*to_device)(DevicePointer, const void*, size_t) = nullptr;
  int (*to_host)(void*, DevicePointer, size_t) = nullptr;
  int (*event_create)(Event*, unsigned) = nullptr;
  int (*event_record)(Event, Stream) = nullptr;
  int (*event_query)(Event) = nullptr;
  int (*event_destroy)(Event) = nullptr;
  int (*cuda_error)(int, const char**) = nullptr;
};

/// Open both libraries. Errors: replay.library.
Result<Api> open_api(const std::string& nccl, const std::string& driver);

}  // namespace chakra::replay::nccl
