// Compare the times of two jobs with the same work: a recording and a run for real, or two runs. Distributions of
// durations by kind of node and by operation, and the time budget of each rank.
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

/// Communication of one kind: name, element type, bytes and members (2 for a message). Bytes: the maximum over members
/// of comm_size; for an all-to-all with given parts, the larger of input and output.
using OperationKey = std::tuple<std::string, std::string, uint64_t, uint32_t>;

/// Measured times of a job, or of one repetition.
struct JobTiming {
  struct Rank {
    int64_t rank = 0;
    Picoseconds span = 0, compute = 0, communication = 0, exposed = 0;  ///< compute + exposed <= span
    Picoseconds overlap() const { return communication - exposed; }
  };
  std::vector<Rank> ranks;
  struct Operation {
    std::vector<Picoseconds> times;  ///< from the start to the end of each member, including waiting. Sorted
    std::vector<double> bus_rates;   ///< bus bandwidth of each member in bytes per second, if time > 0. Sorted
  };
  std::map<OperationKey, Operation> operations;
  std::map<std::string, std::vector<Picoseconds>> kinds;  ///< by name of the Bound; sorted
};
/// Collect the times. Nodes without measured times are ignored. Errors: analyze.cycle, analyze.sum;
/// `analyze.timing.none` if no node has a measured start. Cost: O(nodes log nodes).
Result<JobTiming> timing_of(const trace::TraceSet& job, const match::GroupTable& groups, Findings& findings);

/// Return the largest difference between the shares of values <= x, over all x (Kolmogorov, Smirnov): 0 .. 1. Requires
/// sorted, non-empty values. Cost: O(a + b).
double largest_share_difference(std::span<const Picoseconds> a, std::span<const Picoseconds> b);
/// Return the mean distance that values must move to turn one distribution into the other: the area between the two
/// distribution functions (Wasserstein's first distance). Requirements and cost as above.
double mean_shift_ps(std::span<const Picoseconds> a, std::span<const Picoseconds> b);

/// Return `operations`, `ranks` and `kinds`. `replayed`: repetitions, at least one. A figure of the run is the median
/// over the repetitions; `noise` is half the range of the figures of the repetitions, relative to the median (two
/// repetitions or more). Bandwidth is the median bus bandwidth of members as in nccl-tests and PARAM: factor x bytes /
/// time. For an all-to-all with given parts, bytes are the larger of data sent to and received from other ranks.
/// Percentiles as in base/quantile.h.
std::vector<result::NamedTable> timing_tables(const JobTiming& recorded, std::span<const JobTiming> replayed);

/// Return a sentence about the kind of node with the largest difference in total time.
std::string largest_difference(const JobTiming& recorded, std::span<const JobTiming> replayed);

}  // namespace chakra::analyze
