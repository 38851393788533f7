// The times of nodes whose kernel and shape are known, on a device with measured kernels (device::KernelTable).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// What a node takes by a device's tables.
struct KernelTime {
  double seconds = 0;
  bool extrapolated = false;
  const device::KernelTable* table = nullptr;
};

/// Looks up the kernels of a trace's nodes; each shape is predicted once.
class KernelTimes {
 public:
  explicit KernelTimes(const trace::Trace& trace) : t_(trace), attr_(trace.strings.find("kernel")) {}
  /// Nothing where the node names no kernel, or the device has no table of it. A node that does a part of the kernel's
  /// operations (of its bytes, where it has none) takes that part of the time.
  std::optional<KernelTime> on(const device::Device& device, trace::NodeId node);

 private:
  const trace::Trace& t_;
  StringId attr_;
  std::map<std::pair<const device::KernelTable*, std::string>, device::KernelTable::Prediction, std::less<>> known_;
};

/// How much of what a job does came from each table.
struct TableUse {
  Picoseconds all_ps = 0, extrapolated_ps = 0;
};
/// A table's range, and its error on measurements that its fit did not have: for people.
std::string describe(const device::Device& device, const device::KernelTable& table, const TableUse& use);

}  // namespace chakra::sim
