// Any bytes as a PyTorch execution trace, and as the manifest of a recording.
#include <cstddef>
#include <cstdint>

#include "chakra/recording/host_trace.h"
#include "chakra/recording/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  StringPool strings;
  Arena texts;
  auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size});
  if (source) (void)recording::read_host_trace(std::move(*source), strings, texts);
  if (auto manifest = ByteSource::from_memory({reinterpret_cast<const char*>(data), size}))
    (void)recording::read_manifest(std::move(*manifest));
  return 0;
}
