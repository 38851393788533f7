// Any bytes as a network file: what reads it, finds ways through it and carries messages over it must stand.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chakra/net/net.h"

namespace {

using namespace chakra;
using namespace chakra::net;

template <class Network>
void carry(const Fabric& fabric, Network network) {
  const int64_t last = fabric.size() - 1;
  for (uint64_t i = 0; i < 8; ++i) network.send(0, {static_cast<int64_t>(i) % (last + 1), last, 10'000 * i, i});
  std::vector<Delivery> done;
  while (network.next_event_time() != kNever) network.advance_to(kNever, done);
  if (done.size() != 8) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto spec = parse_spec({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!spec) return 0;
  Findings findings;
  const auto fabric = parse_fabric(*spec, &findings);
  if (!fabric) return 0;
  (void)fabric->describe();
  const int64_t ranks = fabric->size(), last = ranks - 1;
  for (const auto& [from, to] : {std::pair(int64_t{0}, last), {last, int64_t{0}}, {last / 2, last}, {last, last / 3}}) {
    const Path path = fabric->path(from, to);
    if (path.links > 100'000) return 0;
    std::vector<LinkId> route;
    fabric->route(from, to, route);
    int64_t at = from;
    for (const LinkId id : route) {
      if (fabric->link(id).from != at || fabric->link_between(at, fabric->link(id).to) != id) __builtin_trap();
      at = fabric->link(id).to;
    }
    if (at != to || route.size() != path.links || fabric->device_name(static_cast<uint32_t>(at)).empty())
      __builtin_trap();
  }
  carry(*fabric, FluidNetwork(*fabric));
  carry(*fabric, PacketNetwork(*fabric));
  return 0;
}
