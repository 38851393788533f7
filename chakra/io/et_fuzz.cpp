// Any bytes as a trace: read it, check the result, write it again.
#include <cstddef>
#include <cstdint>

#include "chakra/io/io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size});
  if (!source) return 0;
  auto read = io::read_et(std::move(*source), {.texts = true});
  if (!read) return 0;
  if (!trace::topological_order(read->deps).cycle.empty()) return 0;
  const std::string written = io::to_et(*read);
  // What was dangling or double is gone or stays as it is; but it can be read.
  if (!io::read_et(*ByteSource::from_memory(written))) __builtin_trap();
  return 0;
}
