// Any bytes as a trace to feed, in a window that is too small: what can be read as a whole and has no defect is fed
// whole, each node after its dependencies; the rest is an error, never a stall.
#include <cstddef>
#include <cstdint>
#include <set>

#include "chakra/feed/feed.h"
#include "chakra/io/io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto source = ByteSource::from_memory(bytes);
  if (!source) return 0;
  bool whole = false;
  if (auto again = ByteSource::from_memory(bytes))
    if (const auto read = io::read_et(std::move(*again)))
      whole = read->defects.empty() && trace::topological_order(read->deps).cycle.empty();
  auto nodes = io::open_nodes(io::open_et(std::move(*source)), {.control = size % 2 == 0, .durations = size % 4 < 2});
  if (!nodes) {
    if (whole) __builtin_trap();
    return 0;
  }
  feed::StreamFeeder feeder(std::move(*nodes), {.budget_bytes = size % 1000, .policy = feed::Policy::critical_path});
  std::set<uint64_t> done;
  for (;;) {
    const auto next = feeder.next();
    if (!next) {
      // Control edges alone may form a cycle.
      if (whole && size % 2 == 1) __builtin_trap();
      return 0;
    }
    if (!*next) break;
    const uint64_t id = (*next)->id;
    for (const uint64_t dep : (*next)->deps)
      if (!done.contains(dep)) __builtin_trap();
    if (!done.insert(id).second || !feeder.done(id)) __builtin_trap();
  }
  if (!feeder.finished()) __builtin_trap();
  return 0;
}
