// The kind of time, and the kind of computation, of each node of a trace. Inside whatif.
#pragma once

#include <optional>
#include <vector>

#include "chakra/device/device.h"
#include "chakra/trace/storage.h"
#include "chakra/trace/trace.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {

class NodeKinds {
 public:
  /// The trace and the system must outlive this object. Without a system no tier moves anything. Cost: O(nodes).
  explicit NodeKinds(const trace::Trace& t, const device::System* system = nullptr);
  /// Return the kind of a node; nullopt if no rule can change the node. Loads and stores that a tier moves are of kind
  /// storage, the others of kind memory. Cost: O(attributes of a load or store).
  std::optional<Kind> of(trace::NodeId n) const;

 private:
  bool is_moved(trace::NodeId n) const;

  const trace::Trace& t_;
  const device::System* system_;
  trace::StorageReader storage_;
  bool has_device_ = false;
};

/// The kind of computation of each node (works.cpp has the rule).
class NodeWorks {
 public:
  /// Cost: O(nodes + edges), and a search for each name.
  explicit NodeWorks(const trace::Trace& t);
  WorkKind of(trace::NodeId n) const { return works_[n]; }  ///< of nodes of Kind::compute

 private:
  std::vector<WorkKind> works_;
};

/// Return whether nodes have that `io_kind` (docs/reference/formats/et.md).
bool has_io(const trace::Trace& t, std::string_view io_kind);
/// Multiply the bytes of loads and stores of that kind by `factor`. Cost: O(nodes + attributes).
void scale_io(trace::Trace& t, std::string_view io_kind, double factor);
/// Multiply the bytes of loads and stores, ascending by node. Cost: O(nodes + attributes).
void scale_moves(trace::Trace& t, const std::vector<std::pair<trace::NodeId, double>>& moves);

}  // namespace chakra::whatif
