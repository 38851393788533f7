// The table of wires, and what they have in common.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "chakra/replay_fabric/wire.h"

namespace chakra::replay_fabric {

// Each is defined in a separate file, named after the wire.
using OpenWire = Result<std::unique_ptr<Wire>>(const replay::World& world, replay::Rendezvous& rendezvous,
                                               const WireOptions& options, Receiver& receiver);
OpenWire open_sockets, open_libfabric;

namespace {

constexpr WireRow kWireRows[] = {
    {"sockets", "TCP connections, one between each pair of ranks", open_sockets},
    {"libfabric", "messages of libfabric, opened on demand, by the provider that `provider` names", open_libfabric},
};

}  // namespace

constinit const std::span<const WireRow> kWires = kWireRows;

Result<std::string> own_address(const std::string& text) {
  in_addr address{};
  bool found = inet_pton(AF_INET, text.empty() ? "127.0.0.1" : text.c_str(), &address) == 1;
  ifaddrs* list = nullptr;
  if (!found && getifaddrs(&list) != 0)
    return fail(Code::io, "replay.fabric.socket", "the interfaces of this machine cannot be listed");
  for (const ifaddrs* i = list; i && !found; i = i->ifa_next)
    if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && text == i->ifa_name) {
      address = reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr;
      found = true;
    }
  if (list) freeifaddrs(list);
  if (!found)
    return fail(
        Code::usage, "replay.fabric.address",
        fmt::format("'{}' is neither an IPv4 address nor an interface that has one: give address=ADDRESS", text));
  char digits[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address, digits, sizeof digits);
  return std::string(digits);
}

}  // namespace chakra::replay_fabric
