// Any bytes as a certificate: an error, or numbers from 0 and files with different names.
#include <cstddef>
#include <cstdint>

#include "chakra/certify/certificate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  const auto made = certify::parse_certificate({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!made) return 0;
  if (made->level < 0 || made->doubtful_texts < 0) __builtin_trap();
  for (const int64_t value : made->guess)
    if (value < 0) __builtin_trap();
  for (const auto& [name, file] : made->files)
    if (file.bytes < 0 || file.name != name) __builtin_trap();
  return 0;
}
