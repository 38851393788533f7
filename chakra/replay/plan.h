// The plan of one rank: its trace, and each of its communication nodes as an operation of a back end.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/feed/feed.h"
#include "chakra/match/match.h"
#include "chakra/replay/backend.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

struct RankPlan {
  /// An operation, and the increase of its index from one repetition to the next.
  struct Step {
    Operation operation;
    uint64_t per_repetition = 0;
  };

  const trace::Trace* trace = nullptr;
  int64_t ranks = 0;                      ///< of the job
  std::vector<Step> steps;                ///< by row of Trace::comms
  std::vector<feed::Queues::Turn> turns;  ///< by row of Trace::comms

  // Data that the operations refer to.
  std::vector<match::Group> groups;
  std::vector<std::unique_ptr<std::vector<uint64_t>>> splits;

  const Step& step(trace::NodeId n) const { return steps[trace->comm_row[n]]; }
};

/// Return a job with this trace only; of the other ranks the job has just the numbers.
trace::TraceSet alone(trace::Trace trace, int64_t ranks);

/// Return the plan of rank job.ranks[rank]. `matching`: of the job. The job must outlive the plan. Ranks are
/// 0 .. ranks-1. `selected`: per node of the rank, empty: all; communication that is not selected is not
/// checked. Errors: replay.job.ranks (a rank of the job is missing), replay.comm.type, replay.comm.group,
/// replay.comm.partner, replay.comm.split, feed::check_defects. Cost: O(nodes + members of groups).
Result<RankPlan> plan_rank(const trace::TraceSet& job, const match::Matching& matching, uint32_t rank,
                           const std::vector<bool>& selected = {});

/// Bytes that a member of a collective contributes and receives: table in docs/reference/replay.md. `bytes`: comm_size.
struct Sizes {
  uint64_t in = 0, out = 0;
};
Sizes sizes_of(trace::CommType type, uint64_t bytes, uint64_t members, bool is_root);

/// Return the bytes of an element of a type as named in traces; 1 for unknown names.
uint64_t element_bytes(std::string_view dtype);

}  // namespace chakra::replay
