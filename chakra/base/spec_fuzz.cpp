// Any bytes as a configuration file.
#include <cstddef>
#include <cstdint>

#include "chakra/base/base.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto spec = chakra::parse_spec({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!spec) return 0;
  for (const auto& [key, value] : spec->fields) (void)value.number();
  return 0;
}
