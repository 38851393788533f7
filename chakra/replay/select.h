// Selection of the part of a trace that runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

/// Part of a trace to run; empty or -1: no restriction. Docs: docs/reference/replay.md.
struct Selection {
  std::optional<std::pair<int64_t, int64_t>> steps;  ///< both included: numbers N of ProfilerStep#N
  std::string subgraph;                              ///< nodes of this name, and all nodes called from there
  std::vector<std::string> types;                    ///< of communication: "all_reduce", "send", in any spelling
  std::vector<std::string> groups;
  int64_t min_bytes = -1, max_bytes = -1;  ///< comm_size

  bool any() const {
    return steps || !subgraph.empty() || !types.empty() || !groups.empty() || min_bytes >= 0 || max_bytes >= 0;
  }
};
/// Return for each node whether the node runs. Errors: cli.usage for an unknown step, name or type.
Result<std::vector<bool>> select_nodes(const trace::Trace& trace, const Selection& selection);

}  // namespace chakra::replay
