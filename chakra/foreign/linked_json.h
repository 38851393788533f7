// The node fields of the linker's JSON that are not columns of a Trace, and the edges that follow from these fields.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "chakra/foreign/forms.h"

namespace chakra::foreign {

/// The fields that decide a node's edges. Every node has one object until all nodes are read, so the object is small.
struct Linked {
  uint64_t parent = 0, thread_dep = 0;
  int64_t tid = 0, stream = 0, ts_ns = 0;
  uint64_t in_elements = 0;
  StringId dtype = 0;
  bool has_parent : 1 = false, has_thread_dep : 1 = false, device : 1 = false, has_ts : 1 = false;
  bool has_elements : 1 = false;
};

struct LinkedNodes {
  std::vector<Linked> nodes;  ///< parallel to the Trace's
  std::map<trace::NodeId, StringId> group;
  std::map<trace::NodeId, std::vector<uint64_t>> sync_deps;
};

/// Set starts, types of device operations, lanes and edges, after all nodes have been read.
/// Errors: foreign.json.range; foreign.json.late_dep is a finding.
Result<void> connect(trace::Builder& builder, const LinkedNodes& linked, const std::string& file, Findings& findings);

}  // namespace chakra::foreign
