// Any bytes as a program, as a profile, and as a profile for browsers with a text of its program behind a zero byte:
// read, or refused with a tag. Traces are whole and have an order.
#include "chakra/xla/xla.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chakra/xla/files.h"
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

void link(Result<xla::LinkedProfile> linked) {
  if (!refused(linked))
    for (const xla::LinkedDevice& device : linked->devices) check(device.trace);
}
void link_browser(std::string_view bytes) {
  const size_t zero = std::min(bytes.find('\0'), bytes.size());
  auto source = ByteSource::from_memory(bytes.substr(0, zero));
  if (!source) return;
  auto profile = xla::parse_chrome(std::move(*source));
  if (refused(profile)) return;
  xla::Inputs inputs;
  inputs.profiles.push_back(std::move(*profile));
  const std::string_view text = bytes.substr(std::min(zero + 1, bytes.size()));
  if (auto program = xla::parse_text(std::make_shared<const std::string>(text), "text"); !refused(program))
    inputs.dumps.push_back(std::move(*program));
  link(xla::link_inputs(inputs));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Findings findings;
  auto program = ByteSource::from_memory(bytes), profile = ByteSource::from_memory(bytes);
  if (!program || !profile) return 0;
  if (const auto imported = xla::import_program(std::move(*program), findings); !refused(imported))
    for (const trace::Trace& t : imported->job.classes) check(t);
  link(xla::link_profile(std::move(*profile)));
  link_browser(bytes);
  return 0;
}
