// The kind of time, and the kind of computation, of each node of a trace. Inside whatif.
#pragma once

#include <optional>
#include <vector>

#include "chakra/trace/trace.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {

class NodeKinds {
 public:
  /// The trace must outlive this object. Cost: O(nodes).
  explicit NodeKinds(const trace::Trace& t);
  /// Return the kind of a node; nullopt if no rule can change the node. Loads
  /// and stores are of kind memory, even if a tier of storage is charged.
  std::optional<Kind> of(trace::NodeId n) const;

 private:
  const trace::Trace& t_;
  bool has_device_ = false;
};

/// The kind of computation of each node (works.cpp has the rule).
class NodeWorks {
 public:
  /// Cost: O(nodes + edges), and a search for each name.
  explicit NodeWorks(const trace::Trace& t);
  Work of(trace::NodeId n) const { return works_[n]; }  ///< of nodes of Kind::compute

 private:
  std::vector<Work> works_;
};

/// Return whether nodes have that `io_kind` (docs/reference/formats/et.md).
bool has_io(const trace::Trace& t, std::string_view io_kind);
/// Multiply the bytes of loads and stores of that kind by `factor`. Cost: O(nodes + attributes).
void scale_io(trace::Trace& t, std::string_view io_kind, double factor);

}  // namespace chakra::whatif
