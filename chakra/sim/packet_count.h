// How many packets a job sends: a run with Congestion::packet plays out each of them, so it is refused where they are
// more than any run can end with.
#pragma once

#include <cstdint>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"

namespace chakra::sim {

class PacketCount {
 public:
  explicit PacketCount(const net::PacketOptions& options) : packet_bytes_(options.packet_bytes) {}

  double of_message(uint64_t bytes) const;
  /// Cost: O(rounds and what their lists hold).
  double of_plan(const coll::Plan& plan) const;
  void add(double packets) { packets_ += packets; }

  /// Errors: sim.packets.
  Result<void> check() const;

 private:
  uint64_t packet_bytes_;
  double packets_ = 0;
};

}  // namespace chakra::sim
