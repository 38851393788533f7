// Any bytes as a dump, alone and beside a copy of itself as another rank: read and judged, or refused with a tag.
#include "chakra/flight/flight.h"

#include <cstddef>
#include <cstdint>

using namespace chakra;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)flight::is_dump(bytes);
  auto dump = flight::parse_dump(std::string(bytes), "fuzz", 0);
  if (!dump) {
    if (!dump.error().tag.starts_with("flight.")) __builtin_trap();
    return 0;
  }
  std::vector<flight::Dump> dumps{*dump, *dump};
  dumps[1].rank = 1;
  if (!dumps[1].entries.empty()) dumps[1].entries.pop_back();
  const flight::Verdict verdict = flight::find_hang(dumps);
  if (verdict.ranks.rows.size() != 2) __builtin_trap();
  return 0;
}
