// Waiting in a session where no descriptor can wake the thread. Inside replay.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace chakra::replay {

/// Poll less often the longer the wait: the delay of
/// a late poll stays a small part of the time waited.
class Naps {
 public:
  using Clock = std::chrono::steady_clock;

  /// Poll often again, after an event.
  void wake() { since_ = Clock::now(); }
  /// Sleep until the next poll, at the latest until `end`.
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
