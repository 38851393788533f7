// Lines of journals: any bytes are an outcome that is written and read again as it is, or no outcome.
#include <cstdint>
#include <cstdlib>

#include "chakra/fleet/journals.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto outcome = chakra::fleet::parse_line(line)) {
    const auto again = chakra::fleet::parse_line(chakra::fleet::line_of(*outcome));
    if (!again || again->key != outcome->key || again->state != outcome->state) std::abort();
  }
  (void)chakra::fleet::parse_shard(line);
  return 0;
}
