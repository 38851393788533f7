// Any bytes as a JSON text with secrets.
#include <cstddef>
#include <cstdint>

#include "chakra/recording/secrets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  recording::Secrets found;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  found.add("host", text);
  found.add_number("ts", text);
  if (auto source = ByteSource::from_memory(text)) (void)recording::find_secrets_in_json(std::move(*source), found);
  for (size_t kind = 0; kind < recording::kSecretKinds.size(); ++kind) {
    const auto& of = found.of(static_cast<recording::Secret>(kind));
    if (static_cast<size_t>(of.count) < of.different.size() || of.different.size() < of.examples.size())
      __builtin_trap();
  }
  return 0;
}
