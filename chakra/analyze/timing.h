// How alike the times of two jobs are that did the same: a recording and its replay, or two runs. Durations by kind of
// node and by operation, as distributions; and where the time of each rank went.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

/// Communication of one kind: its name, element type, bytes and members (2 of a message). The bytes are those of the
/// member that has most: comm_size, of an all-to-all with parts of its own the larger of what goes in and comes out.
using OperationKey = std::tuple<std::string, std::string, uint64_t, uint32_t>;

/// The measured times of a job, or of one repetition of it.
struct JobTiming {
  struct Rank {
    int64_t rank = 0;
    Picoseconds span = 0, compute = 0, communication = 0, exposed = 0;  ///< compute + exposed <= span
    Picoseconds overlap() const { return communication - exposed; }
  };
  std::vector<Rank> ranks;
  struct Operation {
    std::vector<Picoseconds> times;  ///< from each member's start to its end: waiting for the others is in it. Sorted
    std::vector<double> bus_rates;   ///< bus bandwidth of each member in bytes per second, where it took time. Sorted
  };
  std::map<OperationKey, Operation> operations;
  std::map<std::string, std::vector<Picoseconds>> kinds;  ///< by name of the Bound; sorted
};
/// Nodes without measured times are left out. Errors: analyze.cycle, analyze.sum; analyze.timing.none where no node has
/// a measured start. Cost: O(nodes log nodes).
Result<JobTiming> timing_of(const trace::TraceSet& job, const match::GroupTable& groups, Findings& findings);

/// The largest difference between the shares of values that are at most x, over all x (Kolmogorov, Smirnov): 0 .. 1.
/// Of sorted values that are not empty. Cost: O(a + b).
double largest_share_difference(std::span<const Picoseconds> a, std::span<const Picoseconds> b);
/// How far values have to be moved on average to make one distribution of the other: the area between the two
/// distribution functions (Wasserstein's first distance). As above.
double mean_shift_ps(std::span<const Picoseconds> a, std::span<const Picoseconds> b);

/// `operations`, `ranks` and `kinds`; `replayed` are repetitions, at least one. A figure of the replay is the median
/// over repetitions of the repetition's own; `noise` is half the range of these medians over their middle, for two
/// repetitions or more. Bandwidth is the median of the members' bus bandwidths as nccl-tests and PARAM have them:
/// factors of bytes / time, of an all-to-all with parts of its own the larger of what a member sends to and gets from
/// others. Percentiles are those of base/quantile.h.
std::vector<result::NamedTable> timing_tables(const JobTiming& recorded, std::span<const JobTiming> replayed);

/// The kind of node whose sum of times differs most, in a sentence.
std::string largest_difference(const JobTiming& recorded, std::span<const JobTiming> replayed);

}  // namespace chakra::analyze
