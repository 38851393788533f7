// The kind of time of each node of a trace, and what it computes. Inside whatif.
#pragma once

#include <optional>
#include <vector>

#include "chakra/trace/trace.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {

class NodeKinds {
 public:
  /// The trace must outlive it. Cost: O(nodes).
  explicit NodeKinds(const trace::Trace& t);
  /// Loads and stores are of kind memory, whether or not a tier of storage is charged with them. Nothing for what no
  /// rule can change.
  std::optional<Kind> of(trace::NodeId n) const;

 private:
  const trace::Trace& t_;
  bool has_device_ = false;
};

/// What each node computes (works.cpp has the rule).
class NodeWorks {
 public:
  /// Cost: O(nodes + edges), and looking up each name.
  explicit NodeWorks(const trace::Trace& t);
  WorkKind of(trace::NodeId n) const { return works_[n]; }  ///< of nodes of Kind::compute

 private:
  std::vector<WorkKind> works_;
};

/// Whether nodes have that `io_kind` (docs/reference/formats/et.md).
bool has_io(const trace::Trace& t, std::string_view io_kind);
/// Loads and stores of that kind move `factor` times their bytes. Cost: O(nodes + attributes).
void scale_io(trace::Trace& t, std::string_view io_kind, double factor);

}  // namespace chakra::whatif
