// What a rank can do by itself: the ecosystem's system and memory files (docs/formats/system.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"

namespace chakra::sim {

enum class MemoryKind : uint8_t { none, per_rank, per_node, pool };

/// How a rank differs from the others; native mode.
struct RankTraits {
  double speed = 1;          ///< compute takes its time divided by this
  Picoseconds start_ps = 0;  ///< nothing happens on the rank before
  bool start_given = false;  ///< by the file, so that a recorded start does not count
  int64_t device = -1;       ///< into System::devices; -1: what the file says for all
};

struct System {
  // Native mode only.
  std::vector<device::Device> devices;
  std::map<int64_t, RankTraits> unlike;  ///< ranks that are not like the others
  const RankTraits& traits(int64_t rank) const;
  std::optional<device::Device> target;    ///< of all ranks that no row of `devices` names
  bool target_is_roofline = false;         ///< it is use_roofline()'s
  std::optional<device::Device> recorded;  ///< on which the traces were recorded, whatever they say
  /// The device of the rank; null: the one it was recorded on.
  const device::Device* device_of(int64_t rank) const;
  bool keep_unrecorded = false;  ///< device work that was not recorded takes its time, on whatever device, at any speed
  std::vector<std::string> native_keys, compat_keys;  ///< of the file, those that only this mode uses
  /// Makes a device of `roofline` and its rates the target, where there is none.
  void use_roofline();

  // Compute, both modes.
  bool roofline = false;          ///< compute nodes take the time their work needs, not the measured one
  double peak_flop_per_s = 0;     ///< file: TFLOP/s
  double memory_bytes_per_s = 0;  ///< file: GB/s, 10^9 bytes
  // Compatible mode only; as in the file.
  bool replay_only = false;
  int64_t endpoint_delay_ns = 10;
  int64_t active_chunks = 1;
  int64_t splits = 1;
  bool splits_given = false;
  std::string scheduling = "FIFO";                                              ///< LIFO, FIFO, EXPLICIT
  std::vector<std::string> all_reduce, all_gather, reduce_scatter, all_to_all;  ///< algorithm per dimension
  std::string all_reduce_custom, all_gather_custom, reduce_scatter_custom, all_to_all_custom;
  bool local_bw_aware = false;
  bool shared_bus = false;  ///< model-shared-bus, which the compatible mode refuses
  std::string file;

  MemoryKind memory = MemoryKind::none;
  double remote_memory_latency_ns = 0;
  double remote_memory_bytes_per_ns = 0;
  int64_t remote_memory_ranks_per_node = 0;
};

/// Errors: sim.system.key, sim.system.value, and those of load_spec and device::find_or_load. Keys that are not known
/// are noted.
Result<System> load_system(const std::string& path, Findings& findings);
/// Adds the memory file's part. Errors: sim.memory.key, sim.memory.value, and those of load_spec.
Result<void> load_memory(const std::string& path, System& system);

}  // namespace chakra::sim
