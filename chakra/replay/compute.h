// What stands for computation, loads and stores in a replay, and the threads that keep cores busy meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/backend.h"
#include "chakra/replay/computer.h"

namespace chakra::replay {

struct ComputeRow {
  std::string_view name;
  std::string_view description;
  bool takes_time = false;
  bool keeps_busy = false;  ///< a core for each lane that computes
  std::span<const SettingRow> settings = {};
  /// Null where the clock alone decides. Errors: those of the computer.
  Result<std::unique_ptr<Computer>> (*open)(const ComputerInput& input) = nullptr;
};
Result<std::unique_ptr<Computer>> open_torch(const ComputerInput& input);
Result<std::unique_ptr<Computer>> open_work(const ComputerInput& input);
inline constexpr std::array<SettingRow, 4> kTorchSettings{{
    {"plugin", "the plugin (default: libchakra_replay_torch.so where `chakra doctor --plugins` says)"},
    {"libraries", "libraries that register more operators, separated by colons"},
    {"threads", "threads that an operator takes (default: what libtorch takes)"},
    {"record", "have PyTorch record the replay, as PREFIX.RANK.json for `chakra link`; one rank to a process"},
}};
/// What `--compute work` would have to do; nothing is done of it. Cost: O(nodes).
WorkDone asked_work(const trace::Trace& trace, const std::vector<bool>& selected, double scale);
inline constexpr std::array<SettingRow, 4> kWorkSettings{{
    {"library", "the BLAS, a path or a name (default: libopenblas.so.0, libblas.so.3 or libcblas.so.3)"},
    {"threads", "threads of the BLAS (default: what it takes)"},
    {"size", "rows and columns of the matrices, 16 to 4096 (default: 512)"},
    {"buffer", "MiB of memory that copies go through, of all ranks of a process together (default: 256)"},
}};
inline constexpr std::array<ComputeRow, 5> kComputes{{
    {"none", "takes no time: communication and its order remain"},
    {"sleep", "takes its recorded time, and no core", true},
    {"spin", "takes its recorded time, and keeps a core busy for each lane that computes", true, true},
    {"torch", "the recorded operators themselves, on the CPU, by libtorch; what cannot run takes its recorded time",
     true, false, kTorchSettings, open_torch},
    {"work",
     "matrix products through BLAS and copies, with each node's operations and bytes; nodes without them take "
     "their recorded time",
     true, false, kWorkSettings, open_work},
}};
const ComputeRow* find_compute(std::string_view name);  ///< or null

/// A whole number of --compute-option; nothing where it was not given. Errors: cli.usage.
Result<std::optional<int64_t>> number_setting(const Settings& settings, std::string_view name, int64_t least,
                                              int64_t most);

/// What the page cache of the system may do with the files of loads and stores.
enum class FileCache : uint8_t { cached, synced, direct };
struct FileCacheRow {
  std::string_view name;
  std::string_view description;
  FileCache cache = FileCache::cached;
};
inline constexpr std::array<FileCacheRow, 3> kFileCaches{{
    {"cached", "reads and writes end when the page cache has given or taken the bytes", FileCache::cached},
    {"synced", "a write ends with fdatasync; before a read the page cache lets go of the file", FileCache::synced},
    {"direct", "past the page cache (O_DIRECT), in whole blocks of 4,096 bytes", FileCache::direct},
}};
const FileCacheRow* find_file_cache(std::string_view name);  ///< or null

/// Where in the file of their tier the places of loads and stores lie.
struct FileOrderRow {
  std::string_view name;
  std::string_view description;
  bool random = false;
};
inline constexpr std::array<FileOrderRow, 2> kFileOrders{{
    {"in-order", "one behind the other, as the trace lists them: what comes next may be read ahead", false},
    {"random", "shuffled, in each run alike", true},
}};
const FileOrderRow* find_file_order(std::string_view name);  ///< or null

/// Loads and stores for real: reads and writes of files without a name in `folder`, which are gone with the process,
/// however it ends. A rank has a file for each tier of storage that its nodes name, as large as all that they move
/// there: each node has a place of its own, so that no byte is moved twice and an earlier read does not make the next
/// one fast. It is written full here, so that each load finds its bytes, and no store has to find room. A load or
/// a store is a read or a write of its bytes (trace::StorageUse); one that does not say them, or says 0, is left to the
/// clock. `order`: where the places of the nodes lie. Errors, also those of running: replay.files.create,
/// replay.files.direct, replay.files.read, replay.files.write, replay.memory. Cost: O(bytes of the files).
Result<std::unique_ptr<Computer>> open_files(const ComputerInput& input, const std::string& folder,
                                             const FileCacheRow& cache, const FileOrderRow& order);

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
