// Any bytes as the form that they begin as, or as each if they begin as none: read, or refused with a tag. A job that
// was read is whole and has an order. text_fuzz.cpp asks more of the form that is written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chakra/foreign/foreign.h"

using namespace chakra;

namespace {

/// The algorithm of a collective: whole, or too large.
void read_program(std::string_view bytes) {
  auto source = ByteSource::from_memory(bytes);
  if (!source) return;
  const auto program = foreign::read_program(std::move(*source), "fuzz.xml");
  if (program) coll::assert_whole((*program)->plan);
  else if (program.error().tag != "foreign.large" && program.error().tag != "foreign.msccl.connection")
    __builtin_trap();
}

void read_as(const foreign::FormRow& form, std::string_view bytes) {
  foreign::Options options;
  options.dims = {2, 2};
  Findings findings;
  auto source = ByteSource::from_memory(bytes);
  if (!source) return;
  const auto job = foreign::read(form.name, std::move(*source), options, findings);
  if (!job) {
    const std::string& tag = job.error().tag;
    if (!tag.starts_with("foreign.") && !tag.starts_with("base.") && !tag.starts_with("xla.")) __builtin_trap();
  }
  if (!job) return;
  if (job->ranks.empty()) __builtin_trap();
  const bool may_circle = form.name == "feeder-json";  // keeps the dependencies that it is given
  for (const trace::Trace& trace : job->ranks) {
    trace::assert_whole(trace);
    if (!may_circle && !trace::topological_order(trace.deps).cycle.empty()) __builtin_trap();
  }
  if (form.name == "msccl") read_program(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const foreign::FormRow* const form = foreign::form_of(bytes)) return read_as(*form, bytes), 0;
  for (const foreign::FormRow& form : foreign::kForms) read_as(form, bytes);
  return 0;
}
