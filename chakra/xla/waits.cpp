#include "chakra/xla/waits.h"

#include <algorithm>
#include <tuple>

namespace chakra::xla {

uint64_t Waits::write(trace::Builder& builder, bool threads) {
  const trace::Trace& t = builder.trace;
  const auto when = [&](trace::NodeId node) { return std::pair(t.start_ps[node], node); };
  std::sort(places_.begin(), places_.end(), [&](const Place& a, const Place& b) {
    return std::tuple(a.stream, when(a.node)) < std::tuple(b.stream, when(b.node));
  });
  for (size_t p = 1; p < places_.size(); ++p) {
    const Place &place = places_[p], &previous = places_[p - 1];
    if (place.stream != previous.stream) continue;
    if (threads && t.start_ps[previous.node] + t.dur_ps[previous.node] > t.start_ps[place.node]) continue;
    add(place.node, previous.node, trace::EdgeKind::stream);
  }
  uint64_t left_out = 0;
  for (const Edge& edge : edges_)
    if (when(edge.on) < when(edge.node)) builder.dep(edge.node, edge.on, static_cast<uint8_t>(edge.kind));
    else left_out += !edge.maybe;
  return left_out;
}

}  // namespace chakra::xla
