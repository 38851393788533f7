#include "chakra/sim/packet_count.h"

#include <fmt/core.h>

#include <cmath>

namespace chakra::sim {
namespace {

/// Over one link each, some ten million a second: a quarter of an hour.
constexpr double kMostPackets = 0x1p33;
/// Larger packets are refused as an option.
constexpr double kLargestPacket = 0x1p30;

}  // namespace

double PacketCount::of_message(uint64_t bytes) const {
  if (packet_bytes_ == 0 || bytes == 0) return 1;
  return std::ceil(static_cast<double>(bytes) / static_cast<double>(packet_bytes_));
}

double PacketCount::of_plan(const coll::Plan& plan) const {
  double packets = 0;
  for (const coll::Round& round : plan.rounds) {
    for (const coll::Transfer& transfer : round.list) packets += of_message(transfer.bytes);
    if (round.list.empty() && round.shift != 0)
      packets += of_message(round.bytes) * static_cast<double>(round.shifts) * static_cast<double>(plan.members);
  }
  return packets;
}

Result<void> PacketCount::check() const {
  if (packets_ <= kMostPackets) return {};
  const double enough = std::exp2(std::ceil(std::log2(static_cast<double>(packet_bytes_) * packets_ / kMostPackets)));
  const std::string larger =
      enough <= kLargestPacket ? fmt::format("--packet-bytes {:.0f}", enough) : "--packet-bytes 0 (a packet a message)";
  return fail(Code::bad_input, "sim.packets",
              fmt::format("the job sends {:.3g} packets of {} bytes; at most {:.3g} can be played out: take "
                          "--congestion fluid, or {}",
                          packets_, packet_bytes_, kMostPackets, larger));
}

}  // namespace chakra::sim
