// `chakra info` as a call: count the contents of traces.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/trace/trace.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct TraceSummary {
  struct Communication {
    int64_t count = 0;
    uint64_t bytes = 0;
    Picoseconds time = 0;
  };
  struct Replay {
    Picoseconds measured_ps = 0, replayed_ps = 0;
    double error = 0;  ///< replayed / measured - 1
  };
  using Value = std::variant<int64_t, uint64_t, double, bool, std::string>;

  std::string file;
  int64_t rank = 0;
  int64_t ranks = 1;  ///< number of equivalent ranks; may exceed 1 in a job by classes
  int64_t nodes = 0, on_device = 0;
  std::map<trace::NodeType, int64_t> types;               ///< number of nodes of each type
  std::array<int64_t, trace::kEdgeKinds.size()> edges{};  ///< number of edges of each kind
  int64_t inferred = 0;                                   ///< number of inferred edges
  std::map<std::pair<trace::NodeType, trace::CommType>, Communication> communication;
  Picoseconds duration = 0, device_duration = 0;  ///< of all nodes; sums saturate
  std::vector<trace::ProcessGroup> groups;        ///< empty in a job by classes, where names refer to slots
  std::vector<std::pair<std::string, Value>> metadata;
  std::optional<Replay> replay;  ///< nullopt if the trace has no measured times or has defects
  int64_t defects = 0;           ///< `chakra check` lists the defects
  Findings findings;
};
/// Summarize a trace, without the self-check. Cost: O(nodes + edges).
TraceSummary summarize(const trace::Trace& trace);

struct JobSummary {
  std::string path;
  bool by_classes = false;
  size_t ranks = 0;
  size_t groups = 0;                 ///< of a job by classes
  std::vector<TraceSummary> traces;  ///< by rank, or by class
};

/// Summarize the ranks of a job one by one. Errors: as for reading. Cost: O(nodes + edges), memory for one rank.
Result<JobSummary> summarize_job(const std::string& path);
/// Return the answer. Cost: O(size of the summary).
answer::Answer answer_of(const JobSummary& job);
view::Text text_of(const JobSummary& job);

}  // namespace chakra::job
