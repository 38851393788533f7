// Kinds of devices: the peak FLOP/s of each element type (OP/s of integers), and the memory bandwidth.
// Devices come from the table of data sheets (kDevices) or from a file (docs/reference/formats/device.md).
// This header also computes rooflines, rates per second and model FLOP utilisation. A System describes the
// hardware of a job's ranks: devices, rates, remote memory, tiers of storage, and ASTRA-sim's rules (the
// ecosystem's system and memory files, docs/reference/formats/system.md).
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
#include "chakra/device/published.h"  // IWYU pragma: export
#include "chakra/device/stack.h"
#include "chakra/trace/trace.h"
#include "chakra/work/work.h"

namespace chakra::device {

using trace::DType;
using work::WorkSum;

/// Element types that devices have peaks for, in the order of Device::ops_per_s.
inline constexpr std::array<DType, 8> kPeakTypes{DType::f64,  DType::f32, DType::tf32, DType::f16,
                                                 DType::bf16, DType::f8,  DType::f4,   DType::i8};

/// The time of an operation by its work alone: factors on the times of the data sheet, and a fixed part.
struct WorkConstants {
  double ops_time = 1, bytes_time = 1, fixed_s = 0;
};

struct Device {
  std::string name;
  /// FLOP/s (OP/s of integers), dense (no structured sparsity), of the fastest
  /// unit of the device; a multiply-add counts 2. 0: not in the source.
  std::array<double, kPeakTypes.size()> ops_per_s{};
  double memory_bytes_per_s = 0;
  double memory_bytes = 0;                 ///< 0: unknown
  std::vector<std::string> recorded_as{};  ///< names of the device in recordings
  std::string source{};                    ///< of the numbers
  std::vector<KernelTable> kernels{};      ///< measured; one for a kernel and element type
  std::optional<WorkConstants> others{};   ///< for kernels without a table in `kernels`; if absent, `prices`
  std::optional<ClassPrices> prices{};     ///< likewise; if absent, the roofline, which is never reached
  StackUse stack{};                        ///< the software on the device
  double sustained_time = 1;               ///< of multiplications and attention in long jobs, relative to tables
  double host_s = 0;                       ///< that a host needs to launch an operation; 0: unknown
  double unaligned_time = 1;               ///< of a multiplication whose rows are not whole pieces, relative to a table
};

/// A row of the table, in the units of data sheets.
struct DeviceRow {
  std::string_view name;
  std::array<double, kPeakTypes.size()> tera_ops_per_s;
  double gb_per_s;               ///< 10^9 bytes
  double memory_gb;              ///< 10^9 bytes
  std::string_view recorded_as;  ///< names without the names of vendor and family, split by |
  std::string_view source;
};
extern const std::span<const DeviceRow> kDevices;

Device device(const DeviceRow& row);

/// Return the row of that name, or whose recorded_as contains the name; null if no row fits. Ignore
/// case and the words NVIDIA, Tesla, Quadro, GeForce, AMD, Radeon and Instinct at the beginning.
const DeviceRow* find(std::string_view name);

/// Return an upper estimate of the memory for tensors of `bytes`. Allocators round up and leave gaps (10 %); the
/// context of the device and communication buffers take 2 GiB. `fsdp`: published peaks of PyTorch's FSDP were up to
/// 1.30 times the tensors (docs/explanation/accuracy.md, "Memory").
double memory_at_most(double bytes, bool fsdp);

/// Return the file of `examples/devices` with the measured kernels of the device of that name; "" if there is none.
std::string_view measured_file(std::string_view device);

/// Return the recorded name of a device; "" if absent. Below 0: the name for all devices of the recording.
std::string_view recorded_name(const trace::Trace& trace, int64_t device);
/// Return the device that the recording names, if the table has that device.
std::optional<Device> recorded_device(const trace::Trace& trace);

/// Return rows whose names contain the first word, for an error: "; similar names: H100-SXM, H100-PCIe"; else "".
std::string similar(std::string_view name);

/// Load a device file. Errors: device.file.key, device.file.value, and those of load_spec.
Result<Device> load(const std::string& path);

/// Find a row by name, or load a file. A file that is not found from the working folder is looked for from `folder`.
/// Errors: device.name.unknown, and those of load.
Result<Device> find_or_load(const std::string& name_or_file, const std::string& folder = "");

/// Return a device with one rate for all element types: a roofline, without prices.
Device plain(std::string name, double ops_per_s, double memory_bytes_per_s);

/// The peak of a device for an element type. If the source has no number for the type, the peak of the
/// type in which such operations run: bf16, f16, tf32, complex and all whole numbers in f32; f8 in
/// f16; f4 in f8; an unknown type counts as f16. 0 if the source has no number for that type either.
struct Peak {
  double ops_per_s = 0;
  DType as = DType::unknown;  ///< the type to which the number belongs
};
Peak peak(const Device& device, DType type);

/// Return how much longer a kernel takes in a long job, when the device gets hot: up to Device::sustained_time,
/// by the share of the peak that the kernel uses; half of that in 8 bits. 1 for types no faster than f32.
double sustained(const Device& device, DType type, double used);

/// Return max(ops / peak, bytes / memory bandwidth), in seconds: S. Williams et
/// al., "Roofline", 2009. Operations without a peak on the device do not count.
double roofline_seconds(const Device& device, const NodeWork& work);

/// The rates that too_fast() accepts, as multiples of the peak FLOP/s and of the memory bandwidth. More than 100,000
/// public times on A100 and H100 reach at most 1.14 and 1.75 times: clocks vary, and caches hold tensors.
inline constexpr double kMostOfPeak = 1.2, kMostOfBandwidth = 4;
struct TooFast {
  double times = 0;  ///< 0: within these limits
  bool by_ops = false;
};
/// "8.83", "1110": three digits or more, and no exponent.
std::string show_times(double times);
TooFast too_fast(double ops_s, double bytes_s, double seconds);

/// Return the time of a node without a table: by Device::others, else by the class, else
/// by the roofline; the error of the first and the last is unknown. 0 if the work is zero.
Price predict(const Device& device, const NodeWork& work);

/// Work per second.
struct Rates {
  double ops_per_s = 0, bytes_per_s = 0;
  /// Model FLOP utilisation: the time that the FLOPs would take at the peaks of their types,
  /// divided by the time taken (Chowdhery et al., "PaLM", 2022, appendix B, with several
  /// types). Absent if the device is unknown, or lacks a peak for some of the FLOPs.
  std::optional<double> mfu;
  double mfu_f8 = 0;  ///< part of it, of 8-bit types
};
/// Return the work per second of `devices` equal devices together; all zero if the time is zero.
Rates rates(const WorkSum& work, Picoseconds time, const Device* device, int64_t devices = 1);
/// Return the number of devices on whose streams the trace has computations with work; at least 1. Cost: O(nodes).
int64_t devices_with_work(const trace::Trace& trace);

// ---- the system and memory files ----------------------------------------------------------------------------------

enum class MemoryKind : uint8_t { none, per_rank, per_node, pool };

/// Differences between a rank and the others; native mode.
struct RankTraits {
  double speed = 1;          ///< compute times are divided by this number
  Picoseconds start_ps = 0;  ///< the rank is idle before
  bool start_given = false;  ///< by the file, so that a recorded start does not count
  int64_t device = -1;       ///< into System::devices; -1: as the file sets for all ranks
};

/// The ranks that share the rate of a tier: each rank alone, the ranks of a node, all ranks.
enum class TierScope : uint8_t { rank, node, all };
inline constexpr std::array<std::string_view, 3> kTierScopeNames{"rank", "node", "all"};

/// A place of data: an operation without competition takes latency + bytes / rate.
struct Tier {
  std::string name;
  double bytes_per_s = 0;
  Picoseconds latency_ps = 0;
  TierScope scope = TierScope::all;
  int64_t ranks_per_node = 0;  ///< of scope node: ranks 0 to ranks_per_node - 1 are node 0, and so on
};

/// Kinds of data, as in the attribute io_kind. A tier-of rule is for one kind, or for all other loads or stores.
inline constexpr std::array<std::string_view, 5> kIoKinds{"dataloader", "ckpt_write", "ckpt_read", "kv_evict",
                                                          "kv_fetch"};
inline constexpr std::array<std::string_view, 2> kOtherIo{"load", "store"};

struct System {
  // Native mode only.
  std::vector<Tier> tiers;
  std::map<std::string, uint32_t, std::less<>> tier_of;  ///< of kIoKinds and kOtherIo, for nodes that name no tier
  std::vector<Device> devices;
  std::map<int64_t, RankTraits> unlike;  ///< ranks that differ from the others
  const RankTraits& traits(int64_t rank) const;
  std::optional<Device> target;     ///< of all ranks that no row of `devices` names
  bool target_is_roofline = false;  ///< `target` was set by use_roofline()
  std::optional<Device> recorded;   ///< the device of the recording, regardless of the traces
  /// Return the device of the rank; null: the device of the rank's recording.
  const Device* device_of(int64_t rank) const;
  bool keep_unrecorded = false;  ///< unrecorded device work keeps its time, on every device, at every speed
  std::vector<std::string> native_keys, compat_keys;  ///< of the file: keys for this mode only
  /// Make a device of `roofline` and its rates the target, if there is no target.
  void use_roofline();

  // Compute, both modes.
  bool roofline = false;          ///< compute nodes take the time of their work, not the measured time
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

/// Load a system file. Unknown keys are noted in `findings`. Errors:
/// sim.system.key, sim.system.value, and those of load_spec and find_or_load.
Result<System> load_system(const std::string& path, Findings& findings);
/// Add the memory file. Errors: sim.memory.key, sim.memory.value, and those of load_spec.
Result<void> load_memory(const std::string& path, System& system);

}  // namespace chakra::device
