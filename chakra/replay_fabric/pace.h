// A rate limit of a link, as the time from which the next bytes may pass.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "chakra/replay_fabric/wire.h"

namespace chakra::replay_fabric {

struct Pace {
  using Clock = std::chrono::steady_clock;
  double bytes_per_s = 0;  ///< 0: no limit
  Clock::time_point free{};

  bool may(Clock::time_point now) const { return free <= now; }
  /// Account for sent bytes. Unused time counts for at most one millisecond, the tolerance for late timers.
  void take(Clock::time_point now, uint64_t bytes) {
    if (bytes_per_s <= 0) return;
    const auto begin = std::max(free, now - std::chrono::milliseconds(1));
    free = begin + std::chrono::nanoseconds(static_cast<int64_t>(1e9 * static_cast<double>(bytes) / bytes_per_s));
  }
  /// Return the payload size of a frame: the bytes of half a millisecond.
  uint32_t frame_bytes() const {
    if (bytes_per_s <= 0) return kFrameBytes;
    return static_cast<uint32_t>(std::clamp(bytes_per_s / 2000, 4096.0, double{kFrameBytes}));
  }
};

}  // namespace chakra::replay_fabric
