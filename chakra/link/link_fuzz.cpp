// Any bytes as a Kineto trace, linked alone: whatever the times say, a graph without cycles comes out.
#include <cstddef>
#include <cstdint>

#include "chakra/link/link.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size});
  if (!source) return 0;
  link::LinkOptions options;
  options.salvage = size % 2 == 1;
  auto linked = link::link_rank(std::nullopt, std::move(*source), {}, options);
  if (!linked) return 0;
  if (!trace::topological_order(linked->trace.deps).cycle.empty() || !linked->trace.defects.empty()) __builtin_trap();
  return 0;
}
