// Kinds of devices: the most operations a second of each, by element type, and the speed of its memory. They come from
// the table of data sheets (kDevices) or from a file (docs/reference/formats/device.md). Rooflines, rates per second
// and model FLOP utilisation are also computed here. A System says what the ranks of a job have: devices, rates, remote
// memory, tiers of storage, and ASTRA-sim's rules (the ecosystem's system and memory files,
// docs/reference/formats/system.md).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/estimate.h"
#include "chakra/device/kernels.h"
#include "chakra/device/stack.h"
#include "chakra/trace/trace.h"
#include "chakra/work/work.h"

namespace chakra::device {

using trace::DType;
using work::WorkSum;

/// Element types that devices have peaks for, in the order of Device::ops_per_s.
inline constexpr std::array<DType, 8> kPeakTypes{DType::f64,  DType::f32, DType::tf32, DType::f16,
                                                 DType::bf16, DType::f8,  DType::f4,   DType::i8};

/// What an operation takes by its work alone: the times by which the data sheet's are multiplied, and a fixed part.
struct WorkConstants {
  double ops_time = 1, bytes_time = 1, fixed_s = 0;
};

struct Device {
  std::string name;
  /// Operations per second, dense (no structured sparsity), the fastest unit of the device; a multiply-add counts 2.
  /// 0: the source says nothing.
  std::array<double, kPeakTypes.size()> ops_per_s{};
  double memory_bytes_per_s = 0;
  double memory_bytes = 0;                 ///< 0: not said
  std::vector<std::string> recorded_as{};  ///< its names in recordings
  std::string source{};                    ///< of the numbers
  std::vector<KernelTable> kernels{};      ///< measured; one for a kernel and element type
  std::optional<WorkConstants> others{};   ///< of what `kernels` have no table for; without them `prices`
  std::optional<ClassPrices> prices{};     ///< likewise; without them the roofline, which is never reached
  StackUse stack{};                        ///< which software runs on it
  double sustained_time = 1;               ///< of products and attention in long jobs, over what tables say
  double host_s = 0;                       ///< that a host needs to launch an operation; 0: not known
  double unaligned_time = 1;               ///< of a product whose rows are not whole pieces, over what a table says
};

/// A row of the table, in the units of data sheets.
struct DeviceRow {
  std::string_view name;
  std::array<double, kPeakTypes.size()> tera_ops_per_s;
  double gb_per_s;               ///< 10^9 bytes
  double memory_gb;              ///< 10^9 bytes
  std::string_view recorded_as;  ///< names without the vendor's and family's, split by |
  std::string_view source;
};
extern const std::span<const DeviceRow> kDevices;

Device device(const DeviceRow& row);

/// The row of that name, or whose recorded_as has it. Case and the words NVIDIA, Tesla, Quadro, GeForce, AMD, Radeon
/// and Instinct at the beginning do not matter. Null where there is none.
const DeviceRow* find(std::string_view name);

/// The name that a recording has for the device of a stream; "" where it has none. Below 0: for all its devices.
std::string_view recorded_name(const trace::Trace& trace, int64_t device);
/// The device that the recording names, if the table has it.
std::optional<Device> recorded_device(const trace::Trace& trace);

/// Rows whose names contain the first word, for an error: "; similar names: H100-SXM, H100-PCIe, H100-NVL"; else "".
std::string similar(std::string_view name);

/// Errors: device.file.key, device.file.value, and those of load_spec.
Result<Device> load(const std::string& path);

/// A row's name, or a file. A file counts from `folder`, where it is not found from the working folder.
/// Errors: device.name.unknown, and those of load.
Result<Device> find_or_load(const std::string& name_or_file, const std::string& folder = "");

/// A device of which one number is known for all element types: a roofline, without prices.
Device plain(std::string name, double ops_per_s, double memory_bytes_per_s);

/// The peak of a device for an element type; where its source has no number for it, that of the type in which such
/// operations run instead: bf16, f16, tf32, complex and all whole numbers in f32; f8 in f16; f4 in f8; an unknown type
/// counts as f16. 0 where there is none for that either.
struct Peak {
  double ops_per_s = 0;
  DType as = DType::unknown;  ///< the type whose number it is
};
Peak peak(const Device& device, DType type);

/// How much longer a kernel takes in a long job than alone, where the device gets hot: up to Device::sustained_time, by
/// the share of its peak that the kernel uses; half of that in 8 bits. 1 for element types without units of their own.
double sustained(const Device& device, DType type, double used);

/// max(ops / peak, bytes / memory bandwidth), in seconds: S. Williams et al., "Roofline", 2009. Operations for which
/// the device has no peak do not count.
double roofline_seconds(const Device& device, const NodeWork& work);

/// What a node takes that no table is for: by Device::others, else by its class, else the roofline; the error of the
/// first and the last is not known. 0 where the work is.
Price predict(const Device& device, const NodeWork& work);

/// Work per second.
struct Rates {
  double ops_per_s = 0, bytes_per_s = 0;
  /// Model FLOP utilisation: the time that the operations would take at the peaks of their types, divided by the time
  /// they took (Chowdhery et al., "PaLM", 2022, appendix B, with several types). Not there where no device is known, or
  /// it lacks a peak for some of the operations.
  std::optional<double> mfu;
};
/// All zero where the time is.
Rates rates(const WorkSum& work, Picoseconds time, const Device* device);

// ---- the system and memory files ----------------------------------------------------------------------------------

enum class MemoryKind : uint8_t { none, per_rank, per_node, pool };

/// How a rank differs from the others; native mode.
struct RankTraits {
  double speed = 1;          ///< compute takes its time divided by this
  Picoseconds start_ps = 0;  ///< nothing happens on the rank before
  bool start_given = false;  ///< by the file, so that a recorded start does not count
  int64_t device = -1;       ///< into System::devices; -1: what the file says for all
};

/// Who shares what a tier moves in a second: nobody, the ranks of a node, all ranks.
enum class TierScope : uint8_t { rank, node, all };
inline constexpr std::array<std::string_view, 3> kTierScopeNames{"rank", "node", "all"};

/// A place where data is kept: an operation takes latency + bytes / rate where it is alone.
struct Tier {
  std::string name;
  double bytes_per_s = 0;
  Picoseconds latency_ps = 0;
  TierScope scope = TierScope::all;
  int64_t ranks_per_node = 0;  ///< of scope node: ranks 0 to ranks_per_node - 1 are node 0, and so on
};

/// What moves, as the attribute io_kind says it. A tier-of rule is for one of these, or for all other loads or stores.
inline constexpr std::array<std::string_view, 5> kIoKinds{"dataloader", "ckpt_write", "ckpt_read", "kv_evict",
                                                          "kv_fetch"};
inline constexpr std::array<std::string_view, 2> kOtherIo{"load", "store"};

struct System {
  // Native mode only.
  std::vector<Tier> tiers;
  std::map<std::string, uint32_t, std::less<>> tier_of;  ///< of kIoKinds and kOtherIo, for nodes that name no tier
  std::vector<Device> devices;
  std::map<int64_t, RankTraits> unlike;  ///< ranks that are not like the others
  const RankTraits& traits(int64_t rank) const;
  std::optional<Device> target;     ///< of all ranks that no row of `devices` names
  bool target_is_roofline = false;  ///< it is use_roofline()'s
  std::optional<Device> recorded;   ///< on which the traces were recorded, whatever they say
  /// The device of the rank; null: the one it was recorded on.
  const Device* device_of(int64_t rank) const;
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

/// Errors: sim.system.key, sim.system.value, and those of load_spec and find_or_load. Keys that are not known
/// are noted.
Result<System> load_system(const std::string& path, Findings& findings);
/// Adds the memory file's part. Errors: sim.memory.key, sim.memory.value, and those of load_spec.
Result<void> load_memory(const std::string& path, System& system);

}  // namespace chakra::device
