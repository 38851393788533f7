// What stands for computation in a replay, and the threads that keep cores busy meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/backend.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

/// What a Computer did in the last repetition: operators by how they ran.
struct Computed {
  int64_t operators = 0;                  ///< top-level ones
  int64_t ran = 0;                        ///< without an error
  int64_t same_shapes = 0;                ///< of those that ran: their outputs have the recorded shapes
  int64_t substituted = 0, in_float = 0;  ///< of those that ran: another did it; in a wider type
  int64_t unknown_inputs = 0;             ///< recorded arguments that the local operator does not have
  uint64_t live_bytes = 0;                ///< the most that tensors need at a time, in the order of the trace
  using Reasons = std::map<std::pair<std::string, std::string>, int64_t>;  ///< (name, why) -> how often
  Reasons not_run, other_shapes;
};

/// Carries out nodes of computation of a rank for real, one after the other, in a thread of its own.
class Computer {
 public:
  enum class Part : uint8_t {
    timed,   ///< the executor lets the node take its recorded time
    runs,    ///< start() carries it out
    covered  ///< by a node that runs: takes no time
  };
  struct Ended {
    trace::NodeId node = 0;
    bool ran = false;  ///< else it takes its recorded time, since its begin
    std::chrono::steady_clock::time_point begin{};
  };

  virtual ~Computer() = default;
  Computer() = default;
  Computer(const Computer&) = delete;
  Computer& operator=(const Computer&) = delete;

  virtual Part part(trace::NodeId node) const = 0;
  /// A repetition begins; nothing is under way.
  virtual void begin() = 0;
  /// Does not block. Requires part() runs.
  virtual void start(trace::NodeId node) = 0;
  /// Appends what has ended since the last call; waits for the first of them, `patience` at most.
  virtual void progress(std::chrono::nanoseconds patience, std::vector<Ended>& ended) = 0;
  /// Nothing is under way, and nothing follows. Errors: those of the computer.
  virtual Result<Computed> close() = 0;
};

struct ComputeRow {
  std::string_view name;
  std::string_view description;
  bool takes_time = false;
  bool keeps_busy = false;  ///< a core for each lane that computes
  std::span<const SettingRow> settings = {};
  /// Null where the clock alone decides. `trace` outlives what it gives; `selected`: per node, empty: all. Errors:
  /// those of the computer.
  Result<std::unique_ptr<Computer>> (*open)(const trace::Trace& trace, const std::vector<bool>& selected,
                                            const Settings& settings) = nullptr;
};
Result<std::unique_ptr<Computer>> open_torch(const trace::Trace& trace, const std::vector<bool>& selected,
                                             const Settings& settings);
inline constexpr std::array<SettingRow, 4> kTorchSettings{{
    {"plugin",
     "the plugin, built by `./dev torch` (default: libchakra_replay_torch.so in lib/chakra or beside chakra)"},
    {"libraries", "libraries that register more operators, separated by colons"},
    {"threads", "threads that an operator takes (default: what libtorch takes)"},
    {"record", "have PyTorch record the replay, as PREFIX.RANK.json for `chakra link`; one rank to a process"},
}};
inline constexpr std::array<ComputeRow, 4> kComputes{{
    {"none", "takes no time: communication and its order remain"},
    {"sleep", "takes its recorded time, and no core", true},
    {"spin", "takes its recorded time, and keeps a core busy for each lane that computes", true, true},
    {"torch", "the recorded operators themselves, on the CPU, by libtorch; what cannot run takes its recorded time",
     true, false, kTorchSettings, open_torch},
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
