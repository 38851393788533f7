// Both networks stop where a message is sent by nobody, to nobody, in the past or behind an event that was not looked
// at.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/net/net.h"

namespace chakra::net {
namespace {

using chakra::testing::literal;

template <class Network>
void expect_contracts() {
  const Fabric fabric{{{TopologyKind::ring, 4, 50, 500}}};
  Network network(fabric);
  EXPECT_DEATH(network.send(0, {0, 4, 8, 0}), literal("fabric.has(message.from) && fabric.has(message.to)"));
  EXPECT_DEATH(network.send(0, {-1, 2, 8, 0}), literal("fabric.has(message.from) && fabric.has(message.to)"));
  network.send(0, {0, 1, 1 << 20, 0});
  EXPECT_DEATH(network.send(1000 * kPsPerUs, {0, 1, 8, 0}), literal("time <= next_event_time()"));
  std::vector<Delivery> done;
  const Picoseconds now = network.advance_to(1000, done);
  EXPECT_DEATH(network.send(now - 1, {0, 1, 8, 0}), literal("time >= now"));
}

TEST(Contract, OfFluidNetworks) { expect_contracts<FluidNetwork>(); }
TEST(Contract, OfPacketNetworks) { expect_contracts<PacketNetwork>(); }

}  // namespace
}  // namespace chakra::net
