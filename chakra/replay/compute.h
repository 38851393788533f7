// What stands for computation in a replay, and the threads that keep cores busy meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::replay {

struct ComputeRow {
  std::string_view name;
  std::string_view description;
  bool takes_time = false;
  bool keeps_busy = false;  ///< a core for each lane that computes
};
inline constexpr std::array<ComputeRow, 3> kComputes{{
    {"none", "takes no time: communication and its order remain"},
    {"sleep", "takes its recorded time, and no core", true},
    {"spin", "takes its recorded time, and keeps a core busy for each lane that computes", true, true},
}};
const ComputeRow* find_compute(std::string_view name);  ///< or null

/// Threads that do nothing, as fast as they can.
class BusyThreads {
 public:
  BusyThreads() = default;
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;
  ~BusyThreads();

  /// From now on that number of threads is busy; more than the machine has cores change nothing.
  void keep(uint32_t threads);

 private:
  void run(uint32_t number);

  static constexpr uint32_t kEnd = UINT32_MAX;
  std::vector<std::thread> threads_;
  std::atomic<uint32_t> busy_{0};
};

}  // namespace chakra::replay
