// The names that vendors and communication libraries use: one row each. A new vendor needs rows here and a case.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace chakra::recording {

/// Whether a text fits a pattern, in which `*` stands for any text, including none. Cost: O(pattern x text).
bool fits(std::string_view pattern, std::string_view text);

// ---- devices -----------------------------------------------------------------------------------------------------

struct VendorRow {
  std::string_view name;
  std::string_view calls;   ///< prefix of the names of its runtime calls; empty: all
  int64_t dispatch_gap_ns;  ///< default time between two kernels of a stream
};
/// The last row covers all other vendors.
inline constexpr auto kVendors = std::to_array<VendorRow>({
    {"AMD", "hip", 0},
    {"NVIDIA and others", "", 1'000},
});
/// Return the row of kVendors.
size_t vendor_of_call(std::string_view call);

// ---- runtime calls -----------------------------------------------------------------------------------------------

/// The effect of a call on the thread and the streams.
enum class CallKind : uint8_t {
  other,
  device_sync,
  stream_sync,
  event_sync,
  wait_event,
  record_event,
  free,
  copy,
  blocking_copy
};

/// A name has a kind if the name contains `part` and `with` and does not contain `without` (unless empty).
template <class Kind>
struct NameRow {
  std::string_view vendor;
  std::string_view part;
  Kind kind;
  std::string_view with = {}, without = {};
};

/// The first row that fits decides.
inline constexpr auto kCallNames = std::to_array<NameRow<CallKind>>({
    {"CUDA, HIP", "DeviceSynchronize", CallKind::device_sync},
    {"CUDA, HIP", "CtxSynchronize", CallKind::device_sync},
    {"CUDA, HIP", "ThreadSynchronize", CallKind::device_sync},
    {"ACL", "SynchronizeDevice", CallKind::device_sync},
    {"CUDA, HIP", "StreamSynchronize", CallKind::stream_sync},
    {"ACL", "SynchronizeStream", CallKind::stream_sync},
    {"SYCL", "QueueFinish", CallKind::stream_sync},
    {"Level Zero", "QueueSynchronize", CallKind::stream_sync},
    {"Level Zero", "ListHostSynchronize", CallKind::stream_sync},
    {"CUDA, HIP", "StreamWaitEvent", CallKind::wait_event},
    {"SYCL", "EnqueueEventsWait", CallKind::other},
    {"CUDA, HIP", "EventSynchronize", CallKind::event_sync},
    {"ACL", "SynchronizeEvent", CallKind::event_sync},
    {"Level Zero", "EventHostSynchronize", CallKind::event_sync},
    {"Level Zero", "FenceHostSynchronize", CallKind::event_sync},
    {"SYCL", "EventWait", CallKind::event_sync},
    {"SYCL", "EventsWait", CallKind::event_sync},
    {"CUDA, HIP, ACL", "EventRecord", CallKind::record_event},
    {"all", "Free", CallKind::free, "", "FreeAsync"},
    {"all", "Memcpy", CallKind::copy, "Async"},
    {"all", "memcpy", CallKind::copy, "Async"},
    {"all", "Memcpy", CallKind::blocking_copy},
    {"all", "memcpy", CallKind::blocking_copy},
});
/// Cost: O(rows x name).
CallKind call_kind(std::string_view call);
/// Whether a call of that name launches a kernel or a graph, judged by the name.
bool is_launch(std::string_view call);
/// Whether a call that launches device operations launches a whole graph.
bool launches_graph(std::string_view call);

// ---- copies ------------------------------------------------------------------------------------------------------

enum class CopyKind : uint8_t { other, pageable_to_host, pageable_to_device, device_to_device };

inline constexpr auto kCopyNames = std::to_array<NameRow<CopyKind>>({
    {"all", "DtoH", CopyKind::pageable_to_host, "", "Pinned"},
    {"all", "HtoD", CopyKind::pageable_to_device, "Pageable"},
    {"all", "DtoD", CopyKind::device_to_device},
    {"AMD", "DeviceToDevice", CopyKind::device_to_device},
});
CopyKind copy_kind(std::string_view device_op);

// ---- communication libraries ---------------------------------------------------------------------------------------

/// A backend of c10d, whose annotations name the operation: "gloo:all_reduce".
struct BackendRow {
  std::string_view name;
  bool on_cpu;  ///< CPU threads carry the communication out
};
inline constexpr auto kBackends =
    std::to_array<BackendRow>({{"nccl", false}, {"gloo", true}, {"mpi", true}, {"ucc", true}});
/// Return the backend of an annotation; null if unknown.
const BackendRow* backend_of(std::string_view annotation);

}  // namespace chakra::recording
