// Any bytes as a map of hidden names: what can be read is written as it was read, but for the order.
#include <cstddef>
#include <cstdint>

#include "chakra/edit/hide.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  const auto map = edit::parse_hidden_map({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!map) return 0;
  const std::string bytes = edit::to_bytes(*map);
  const auto again = edit::parse_hidden_map(bytes, "fuzz");
  if (bytes.size() != size || !again || again->texts != map->texts || again->mark != map->mark) __builtin_trap();
  return 0;
}
