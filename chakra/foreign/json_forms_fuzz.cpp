// Any bytes as either of the JSON forms.
#include <cstddef>
#include <cstdint>

#include "chakra/foreign/foreign.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  for (const char* form : {"feeder-json", "linked-json"}) {
    Findings findings;
    auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size});
    if (!source) return 0;
    const auto job = foreign::read(form, std::move(*source), {}, findings);
    if (job && job->ranks.size() != 1) __builtin_trap();
  }
  return 0;
}
