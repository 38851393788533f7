// What the fuzz targets of the forms share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chakra/foreign/foreign.h"

namespace chakra::foreign::testing {

/// Any bytes as a form: read, or refused with a tag; a read job has an order, and can be written as text where the
/// form is written.
inline int fuzz_form(std::string_view form, const uint8_t* data, size_t size) {
  Options options;
  options.dims = {2, 2};
  Findings findings;
  auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size});
  if (!source) return 0;
  const auto job = read(form, std::move(*source), options, findings);
  if (!job && !job.error().tag.starts_with("foreign.") && !job.error().tag.starts_with("base.")) __builtin_trap();
  if (!job) return 0;
  for (const trace::Trace& trace : job->ranks)
    if (!trace::topological_order(trace.deps).cycle.empty()) __builtin_trap();
  if (form == "text" && job->ranks[0].size() > 0 && !to_text(form, *job)) __builtin_trap();
  return 0;
}

}  // namespace chakra::foreign::testing
