// Substitutes for computation, loads and stores when a trace runs for real, and the threads that keep cores busy.
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
  bool keeps_busy = false;  ///< one core per lane that computes
  std::span<const SettingRow> settings = {};
  /// Null if the clock alone decides. Errors: those of the computer.
  Result<std::unique_ptr<Computer>> (*open)(const ComputerInput& input) = nullptr;
};
Result<std::unique_ptr<Computer>> open_work(const ComputerInput& input);
/// Count the work that `--compute work` would do, without doing it. Cost: O(nodes).
WorkDone asked_work(const trace::Trace& trace, const std::vector<bool>& selected, double scale);
inline constexpr std::array<SettingRow, 4> kWorkSettings{{
    {"library", "the BLAS, a path or a name (default: libopenblas.so.0, libblas.so.3 or libcblas.so.3)"},
    {"threads", "threads of the BLAS (default: its default)"},
    {"size", "rows and columns of the matrices, 16 to 4096 (default: 512)"},
    {"buffer", "MiB of memory that copies go through, of all ranks of a process together (default: 256)"},
}};
/// The computes of this room. `chakra/run/rows.h` has the table of all.
inline constexpr ComputeRow kNone{"none", "takes no time: communication and its order remain"};
inline constexpr ComputeRow kSleep{"sleep", "takes its recorded time, and no core", true};
inline constexpr ComputeRow kSpin{"spin", "takes its recorded time, and keeps a core busy for each lane that computes",
                                  true, true};
inline constexpr ComputeRow kWork{
    "work",
    "matrix multiplications by BLAS and copies, with each node's FLOPs and bytes; nodes without work take their "
    "recorded time",
    true,
    false,
    kWorkSettings,
    open_work};

/// Return a whole number of --compute-option, or no value if the option was not given. Errors: cli.usage.
Result<std::optional<int64_t>> number_setting(const Settings& settings, std::string_view name, int64_t least,
                                              int64_t most);

/// Use of the system's page cache for the files of loads and stores.
enum class FileCache : uint8_t { cached, synced, direct };
struct FileCacheRow {
  std::string_view name;
  std::string_view description;
  FileCache cache = FileCache::cached;
};
inline constexpr std::array<FileCacheRow, 3> kFileCaches{{
    {"cached", "reads and writes end when the page cache has given or taken the bytes", FileCache::cached},
    {"synced", "a write ends with fdatasync; a read starts with the file dropped from the page cache",
     FileCache::synced},
    {"direct", "bypasses the page cache (O_DIRECT), in whole blocks of 4,096 bytes", FileCache::direct},
}};
const FileCacheRow* find_file_cache(std::string_view name);  ///< or null

/// Position of loads and stores in the file of their tier.
struct FileOrderRow {
  std::string_view name;
  std::string_view description;
  bool random = false;
};
inline constexpr std::array<FileOrderRow, 2> kFileOrders{{
    {"in-order", "sequential, in the order of the trace, so that read-ahead can help", false},
    {"random", "shuffled, identically in each run", true},
}};
const FileOrderRow* find_file_order(std::string_view name);  ///< or null

/// Carry out loads and stores: read and write unnamed files in `folder`, which disappear with the process,
/// however the process ends. A rank has one file per storage tier that its nodes name. The file has a
/// separate place for each node, so no byte is moved twice, and an earlier read cannot speed up a later
/// one. This function fills the files, so that each load finds its bytes and a store need not allocate
/// space. A load reads and a store writes its bytes (trace::StorageUse). Nodes with no bytes or 0 bytes
/// are left to the clock. `order`: order of the places. Errors, also while running: replay.files.create,
/// replay.files.direct, replay.files.read, replay.files.write, replay.memory. Cost: O(bytes of the files).
Result<std::unique_ptr<Computer>> open_files(const ComputerInput& input, const std::string& folder,
                                             const FileCacheRow& cache, const FileOrderRow& order);

/// Threads that spin without useful work.
class BusyThreads {
 public:
  BusyThreads() = default;
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;
  ~BusyThreads();

  /// Keep this number of threads busy from now on; more threads than the machine has cores have no further effect.
  void keep(uint32_t threads);

 private:
  void run(uint32_t number);

  static constexpr uint32_t kEnd = UINT32_MAX;
  std::vector<std::thread> threads_;
  std::atomic<uint32_t> busy_{0};
};

}  // namespace chakra::replay
