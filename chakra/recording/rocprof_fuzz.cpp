// Any bytes as an output of rocprofv3.
#include "chakra/recording/rocprof.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!source) return 0;
  StringPool strings;
  Findings findings;
  const auto profile = recording::read_rocprof(std::move(*source), strings, findings);
  if (!profile) return 0;
  for (const recording::DeviceOp& op : profile->device_ops)
    if (op.lane >= profile->streams.size() || op.dur_ns < 0) __builtin_trap();
  for (const recording::RuntimeCall& call : profile->calls)
    if (call.lane >= profile->threads.size() || call.dur_ns < 0) __builtin_trap();
  return 0;
}
