// Any bytes as the form flexflow: read, or refused with a tag.
#include <cstddef>
#include <cstdint>

#include "chakra/foreign/foreign.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  foreign::Options options;
  options.dims = {2, 2};
  Findings findings;
  auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size});
  if (!source) return 0;
  const auto job = foreign::read("flexflow", std::move(*source), options, findings);
  if (!job && !job.error().tag.starts_with("foreign.") && !job.error().tag.starts_with("base.")) __builtin_trap();
  if (!job) return 0;
  for (const trace::Trace& trace : job->ranks)
    if (!trace::topological_order(trace.deps).cycle.empty()) __builtin_trap();
  return 0;
}
