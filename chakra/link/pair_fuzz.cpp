// Any bytes as a host trace and a Kineto trace, one behind the other with a zero byte between them.
#include <cstddef>
#include <cstdint>

#include "chakra/link/link.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t zero = bytes.find('\0');
  if (zero == std::string_view::npos) return 0;
  auto host = ByteSource::from_memory(bytes.substr(0, zero));
  auto device = ByteSource::from_memory(bytes.substr(zero + 1));
  if (!host || !device) return 0;
  link::LinkOptions options;
  options.salvage = size % 2 == 1;
  auto linked = link::link_rank(std::move(*host), std::move(*device), {}, options);
  if (!linked) return 0;
  if (!trace::topological_order(linked->trace.deps).cycle.empty() || !linked->trace.defects.empty()) __builtin_trap();
  return 0;
}
