// How a session waits for something that one cannot sleep at. Inside replay.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace chakra::replay {

/// What has waited for long looks less often: the time by which a look comes too late stays a small part of the time
/// that was waited.
class Naps {
 public:
  using Clock = std::chrono::steady_clock;

  /// Something happened: looks are frequent again.
  void wake() { since_ = Clock::now(); }
  /// Until the next look, `end` at the latest.
  void nap(Clock::time_point end) const {
    const Clock::time_point now = Clock::now();
    const auto nap = std::min<std::chrono::nanoseconds>({(now - since_) / kLookEvery, kLongest, end - now});
    if (nap < kShortest) std::this_thread::yield();
    else std::this_thread::sleep_for(nap);
  }

 private:
  static constexpr int kLookEvery = 200;
  static constexpr auto kShortest = std::chrono::microseconds(20);
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(1);

  Clock::time_point since_ = Clock::now();
};

}  // namespace chakra::replay
