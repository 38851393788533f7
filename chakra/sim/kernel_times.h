// The times of nodes with a known kernel and shape, on a device with measured kernels (device::KernelTable).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// Duration of a node by a device's tables.
struct KernelTime {
  double seconds = 0;
  bool extrapolated = false, unaligned = false;
  double error = 0;  ///< of the table on held-out shapes: random ones, or blocks if extrapolated; 0: unknown
  const device::KernelTable* table = nullptr;  ///< null: by the attention rate of the stack
};

/// Predictions of the tables of devices by shape: each shape is predicted once for all traces of a job.
class KnownShapes {
 public:
  struct Known {
    const device::Device* device = nullptr;
    device::DType type = device::DType::unknown;
    KernelTime time;            ///< without a table: no time
    double ops = 0, bytes = 0;  ///< of the whole kernel
    bool by_ops = false;        ///< time scales with a node's FLOPs, which may exceed `ops`
  };
  /// Return the prediction of a shape. `shape`: as in nodes. Valid until the next call; `device` must stay valid.
  const Known& look_up(const device::Device& device, device::DType type, std::string_view shape);

 private:
  absl::flat_hash_map<std::string, std::vector<Known>> known_;
};

/// Finds the measured times of a trace's kernels.
class KernelTimes {
 public:
  KernelTimes(const trace::Trace& trace, KnownShapes& shapes)
      : t_(trace), shapes_(shapes), attr_(trace.strings.find("kernel")) {}
  /// Return the time of a node, or no value if the node has no kernel or the device has no table for it. A node
  /// with a part of the kernel's FLOPs (or of its bytes, if FLOPs are missing) takes that part of the time.
  std::optional<KernelTime> on(const device::Device& device, trace::NodeId node);

 private:
  const trace::Trace& t_;
  KnownShapes& shapes_;
  StringId attr_;
};

/// Return the seconds of a layer of experts that a stack takes beyond kernels and messages (StackUse::expert_layer_s)
/// at a node of this name: equal parts at the two moves of tokens and at their gradients.
double part_of_expert_layer(const device::Device& device, std::string_view node);

/// Time of a job that came from each table.
struct TableUse {
  Picoseconds all_ps = 0, extrapolated_ps = 0, unaligned_ps = 0;
  void add(const TableUse& more, int64_t times = 1);
};
/// Describe the range of a table and its error on held-out measurements, as text.
std::string describe(const device::Device& device, const device::KernelTable& table, const TableUse& use);

}  // namespace chakra::sim
