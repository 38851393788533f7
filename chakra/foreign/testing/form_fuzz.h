// Helpers for the fuzz targets of the forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chakra/foreign/foreign.h"

namespace chakra::foreign::testing {

/// Check that rows without their original text can be written, or are rejected because no text can hold the rows.
inline void write_without_text(const uint8_t* data, size_t size, const Options& options) {
  Findings findings;
  auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size});
  auto job = read_job("text", std::move(*source), options, findings);
  if (!job || !std::holds_alternative<trace::ClassJob>(*job)) return;
  for (trace::Trace& trace : std::get<trace::ClassJob>(*job).classes) trace.metadata.clear();
  const auto text = to_text("text", *job, findings);
  if (!text && text.error().tag != "foreign.write.cannot_hold") __builtin_trap();
  if (!text && text.error().message().find("read again") != std::string::npos) __builtin_trap();
}

/// Read any bytes as a form: the bytes are read, or rejected with a tag. A job read
/// has an order, and can be written as text if the form can be written.
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
  if (form == "text") write_without_text(data, size, options);
  if (form == "text" && job->ranks[0].size() > 0 && !to_text(form, *job, findings)) __builtin_trap();
  return 0;
}

}  // namespace chakra::foreign::testing
