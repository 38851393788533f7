// Any bytes as an export of Nsight Systems.
#include <cstddef>
#include <cstdint>

#include "chakra/recording/nsys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  const auto database =
      sqlite::Database::from_memory({reinterpret_cast<const char*>(data), size}, "fuzz", {.seconds = 2});
  if (!database) return 0;
  StringPool strings;
  Findings findings;
  (void)recording::survey_nsys(*database);
  const auto profile = recording::read_nsys(*database, {}, strings, findings);
  if (!profile) return 0;
  for (const recording::DeviceOp& op : profile->device_ops)
    if (op.lane >= profile->streams.size() || op.dur_ns < 0 ||
        (op.comm != trace::kNoRow && op.comm >= profile->comms.size()))
      __builtin_trap();
  for (const recording::RuntimeCall& call : profile->calls)
    if (call.lane >= profile->threads.size() || call.dur_ns < 0) __builtin_trap();
  return 0;
}
