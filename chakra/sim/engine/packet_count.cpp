#include "chakra/sim/engine/packet_count.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "chakra/sim/engine/operations.h"

namespace chakra::sim {
namespace {

/// Over one link each, some ten million a second: a quarter of an hour.
constexpr double kMostPackets = 0x1p33;
/// Larger packets are refused as an option.
constexpr double kLargestPacket = 0x1p30;

double packets_of_message(uint64_t bytes, uint64_t packet_bytes) {
  if (packet_bytes == 0 || bytes == 0) return 1;
  return std::ceil(static_cast<double>(bytes) / static_cast<double>(packet_bytes));
}

double packets_of_plan(const coll::Plan& plan, uint64_t packet_bytes) {
  double packets = 0;
  for (const coll::Round& round : plan.rounds) {
    for (const coll::Transfer& transfer : round.list) packets += packets_of_message(transfer.bytes, packet_bytes);
    if (round.list.empty() && round.shift != 0)
      packets += packets_of_message(round.bytes, packet_bytes) * static_cast<double>(round.shifts) *
                 static_cast<double>(plan.members);
  }
  return packets;
}

double packets_of_collectives(Run& run, uint64_t packet_bytes) {
  Operations operations(run.job);
  double packets = 0;
  // By what a plan depends on.
  absl::flat_hash_map<std::tuple<uint32_t, trace::CommType, uint64_t, uint32_t>, double> known;
  for (const match::Collective& c : run.job.matching.collectives) {
    const auto first = std::find_if(c.members.begin(), c.members.end(),
                                    [](const match::NodeRef& ref) { return ref.node != trace::kNoNode; });
    if (first == c.members.end() || c.type == trace::CommType::unknown || run.transfer(first->rank, first->node))
      continue;
    const coll::Operation op = operations.of(c, first->rank, first->node);
    const uint32_t shape = run.job.group_of(c).shape;
    const auto of_plan = [&] { return packets_of_plan(run.prices.choice(shape, op).plan, packet_bytes); };
    if (!op.splits.empty()) {
      packets += of_plan();
      continue;
    }
    const auto [at, added] = known.try_emplace({shape, op.type, op.bytes, op.root}, 0.0);
    if (added) at->second = of_plan();
    packets += at->second;
  }
  return packets;
}

}  // namespace

Result<void> check_packets(Run& run) {
  const uint64_t packet_bytes = run.in.packets.packet_bytes;
  double packets = packets_of_collectives(run, packet_bytes);
  for (const match::Message& m : run.job.matching.messages)
    if (m.send.node != trace::kNoNode && !run.transfer(m.send.rank, m.send.node))
      packets += packets_of_message(m.bytes, packet_bytes);
  if (packets <= kMostPackets) return {};
  const double enough = std::exp2(std::ceil(std::log2(static_cast<double>(packet_bytes) * packets / kMostPackets)));
  const std::string larger = enough <= kLargestPacket ? fmt::format("--packet-bytes {:.0f}", enough)
                                                      : "--packet-bytes 0 (one packet per message)";
  return fail(Code::bad_input, "sim.packets",
              fmt::format("the job sends {:.3g} packets of {} bytes; at most {:.3g} can be simulated: use "
                          "--congestion fluid, or {}",
                          packets, packet_bytes, kMostPackets, larger));
}

}  // namespace chakra::sim
