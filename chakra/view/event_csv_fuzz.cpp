// Any text as event lines: read it; a text that was read is a timeline whose slices do not end before they begin.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chakra/view/view.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Findings findings;
  view::EventCsvOptions options;
  options.ranks = data[0] % 4;
  options.hz = data[0] % 2 ? 1 : 1'500'000'000;
  (void)view::parse_frequency(text.substr(0, 40));
  auto source = ByteSource::from_memory(text);
  if (!source) return 0;
  const auto timeline = view::read_event_csv(std::move(*source), options, findings);
  if (!timeline) {
    if (timeline.error().tag.empty()) __builtin_trap();
    return 0;
  }
  for (const auto& slice : timeline->slices)
    if (slice.end_ps < slice.start_ps || slice.track >= timeline->tracks.size()) __builtin_trap();
  return 0;
}
