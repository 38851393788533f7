// The times of nodes whose kernel and shape are known, on a device with measured kernels (device::KernelTable).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// What a node takes by a device's tables.
struct KernelTime {
  double seconds = 0;
  bool extrapolated = false, unaligned = false;
  double error = 0;  ///< of the table where it was kept out: of random shapes, extrapolated of blocks; 0: not known
  const device::KernelTable* table = nullptr;  ///< null: by the rate of the stack's attention
};

/// What the tables of devices say of shapes: each is predicted once for all traces of a job.
class KnownShapes {
 public:
  struct Known {
    const device::Device* device = nullptr;
    device::DType type = device::DType::unknown;
    KernelTime time;            ///< without a table: nothing
    double ops = 0, bytes = 0;  ///< of the whole kernel
    bool by_ops = false;        ///< a node takes the time by its operations, which may be more than `ops`
  };
  /// `shape`: as nodes write it. Valid until the next call; the device stays where it is.
  const Known& look_up(const device::Device& device, device::DType type, std::string_view shape);

 private:
  absl::flat_hash_map<std::string, std::vector<Known>> known_;
};

/// Looks up the kernels of a trace's nodes.
class KernelTimes {
 public:
  KernelTimes(const trace::Trace& trace, KnownShapes& shapes)
      : t_(trace), shapes_(shapes), attr_(trace.strings.find("kernel")) {}
  /// Nothing where the node names no kernel, or the device has no table of it. A node that does a part of the kernel's
  /// operations (of its bytes, where it has none) takes that part of the time.
  std::optional<KernelTime> on(const device::Device& device, trace::NodeId node);

 private:
  const trace::Trace& t_;
  KnownShapes& shapes_;
  StringId attr_;
};

/// How much of what a job does came from each table.
struct TableUse {
  Picoseconds all_ps = 0, extrapolated_ps = 0, unaligned_ps = 0;
  void add(const TableUse& more, int64_t times = 1);
};
/// A table's range, and its error on measurements that its fit did not have: for people.
std::string describe(const device::Device& device, const device::KernelTable& table, const TableUse& use);

}  // namespace chakra::sim
