// The kind of time of each node of a trace. Inside whatif.
#pragma once

#include <optional>

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

}  // namespace chakra::whatif
