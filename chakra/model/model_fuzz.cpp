// Any bytes as a config.json: an error, or a model whose sums fit.
#include <cstddef>
#include <cstdint>

#include "chakra/model/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra::model;
  chakra::Findings findings;
  const auto model = parse_config({reinterpret_cast<const char*>(data), size}, "fuzz", findings, {true});
  if (!model) return 0;
  const int64_t all = parameters(*model), active = active_parameters(*model), kv = kv_bytes_per_token(*model, 2);
  CHAKRA_ASSERT(all > 0 && active > 0 && active <= all && kv >= 0);
  return 0;
}
