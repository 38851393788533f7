// Any bytes as a program and as a profile: read, or refused with a tag. Traces are whole and have an order.
#include "chakra/xla/xla.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chakra/xla/profile.h"

using namespace chakra;

namespace {

void check(const trace::Trace& t) {
  trace::assert_whole(t);
  if (!trace::topological_order(t.deps).cycle.empty()) __builtin_trap();
}
template <class T>
bool refused(const Result<T>& result) {
  if (result) return false;
  const std::string& tag = result.error().tag;
  if (!tag.starts_with("xla.") && !tag.starts_with("base.")) __builtin_trap();
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Findings findings;
  auto program = ByteSource::from_memory(bytes), profile = ByteSource::from_memory(bytes);
  if (!program || !profile) return 0;
  if (const auto imported = xla::import_program(std::move(*program), findings); !refused(imported))
    for (const trace::Trace& t : imported->job.classes) check(t);
  if (const auto linked = xla::link_profile(std::move(*profile)); !refused(linked))
    for (const xla::LinkedDevice& device : linked->devices) check(device.trace);
  if (auto browser = ByteSource::from_memory(bytes)) (void)refused(xla::parse_chrome(std::move(*browser)));
  return 0;
}
