// Any bytes as a choice of collectives; a choice that is read must come back from its description.
#include <cstddef>
#include <cstdint>

#include "chakra/coll/coll.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto selection = chakra::coll::parse_selection({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!selection) return 0;
  const auto again = chakra::coll::parse_selection(selection->describe());
  if (!again || again->rules.size() != selection->rules.size()) __builtin_trap();
  return 0;
}
