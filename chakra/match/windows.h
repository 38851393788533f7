// Alignment of ranks that recorded different parts of a job: other steps, a ring buffer, a truncated front.
// Before the matching, the collectives of each group are aligned, so that equal numbers mean the same collective.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::match {

/// Recorded data of a rank beside its communication.
struct RankWindow {
  std::vector<int64_t> steps;        ///< per node of its trace: the ProfilerStep that launched it; -1: unknown
  std::vector<std::string> counted;  ///< groups with sequence numbers that count from the begin of the recording
  std::vector<std::string> open;     ///< names of ambiguous groups ...
  std::vector<std::vector<std::string>> choices;   ///< ... and their possible groups: one row is right
  std::map<uint64_t, std::vector<int64_t>> peers;  ///< messages with several possible partners, by node id
  int64_t begin_ns = 0, end_ns = 0;                ///< first start and last end in the recording, since Trace::base_ns
};

/// Align the windows: number the collectives of counted groups so that equal numbers mean the same collective,
/// and mark the traces: is_partial() for a rank with only a part of the recorded collectives, is_unaligned() for
/// a rank without an alignment. The alignment uses recorded sequence numbers, then numbers of steps, then sizes,
/// then the pattern in time, then the wall clock if it agrees with the order. `job` must hold communication only;
/// `windows` is parallel to its ranks. Findings: match.window.unaligned. Cost: O(collectives), and up to 1,024
/// positions with 64 collectives each for every member of a group with repeating sizes and no deciding step.
Findings align_windows(trace::TraceSet& job, std::span<const RankWindow> windows);

/// Choose from RankWindow::choices the assignment that all ranks agree with: members have equal collectives
/// in equal order, and all come before any member leaves, whatever the clocks show. Among choices with the
/// same members, take the first. If small groups end their collectives together and larger ones do not,
/// choose the small ones. Undecided groups keep their ambiguous name. Must be called before align_windows().
/// Findings: match.group.open. Cost: O(choices^2 x collectives) per pair of ranks with an ambiguous one.
Findings choose_groups(trace::TraceSet& job, std::span<RankWindow> windows);

/// Choose from RankWindow::peers if only one candidate rank has, or may have, an unmatched other end (tag and
/// size). Return the number of decided messages; others do not change. Cost: O(messages x peers), a few times.
int64_t choose_peers(trace::TraceSet& job, std::span<const RankWindow> windows);

/// Assign the barriers of the ambiguous group `open` of a rank's recording: the sequences of
/// the rank's groups, as recorded by each group's first rank, must allow one way only. Must be
/// called after choose_groups(). Cost: O(ways); ranks with more than 65,536 ways are skipped.
void choose_barriers(trace::TraceSet& job, std::span<const RankWindow> windows, std::string_view open);
/// Return the range of steps that all ranks recorded; unlimited if some rank has no numbered step.
std::pair<int64_t, int64_t> common_steps(std::span<const RankWindow> windows);

/// Marks of align_windows(), kept in the metadata of traces.
bool is_partial(const trace::Trace& trace);
bool is_unaligned(const trace::Trace& trace);
/// Copy the numbers and marks of a trace's communication to a trace with the same node ids.
void copy_windows(const trace::Trace& communication, trace::Trace& to);

}  // namespace chakra::match
