// Any bytes as JSON and as JSON lines: a node that is read can be written and read again, and is the same.
#include <cstddef>
#include <cstdint>

#include "chakra/io/io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* form : {"json", "jsonl", "eg"}) {
    auto bytes_source = ByteSource::from_memory(bytes);
    if (!bytes_source) return 0;
    const io::RecordSourcePtr source = io::find_format(form)->open(std::move(*bytes_source));
    std::string_view message;
    io::NodeRecord node;
    for (bool metadata = true;; metadata = false) {
      const auto more = source->next(message);
      if (!more || !*more) break;
      if (metadata) continue;
      if (!io::decode(message, node)) __builtin_trap();
      if (io::encode(node) != message) __builtin_trap();
    }
  }
  return 0;
}
