// Any bytes as an InfraGraph file.
#include <cstddef>
#include <cstdint>

#include "chakra/infragraph/infragraph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto spec = chakra::parse_spec({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!spec || !chakra::infragraph::is_infragraph(*spec)) return 0;
  chakra::Findings findings;
  const auto graph = chakra::infragraph::read(*spec, &findings);
  if (!graph) return 0;
  for (const chakra::infragraph::Edge& edge : graph->edges)
    if (edge.a >= graph->nodes.size() || edge.b >= graph->nodes.size() || edge.a == edge.b ||
        !(edge.rate.bytes_per_s > 0) || !(edge.rate.latency_ns >= 0))
      __builtin_trap();
  if (graph->ranks < 1 || static_cast<size_t>(graph->ranks) > graph->nodes.size()) __builtin_trap();
  return 0;
}
