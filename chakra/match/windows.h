// Ranks of a job may record different parts of it: other steps, a ring buffer, a front that was cut. Before anything is
// matched, the collectives of each group are aligned, so that equal numbers mean the same collective.
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

/// What a recording says of a rank beside its communication.
struct RankWindow {
  std::vector<int64_t> steps;        ///< per node of its trace: the ProfilerStep that launched it; -1: none
  std::vector<std::string> counted;  ///< groups whose sequence numbers count from the beginning of the recording
  std::vector<std::string> open;     ///< names of groups that stand for others ...
  std::vector<std::vector<std::string>> choices;   ///< ... and each: a group for each of them; one of these is right
  std::map<uint64_t, std::vector<int64_t>> peers;  ///< messages that may be with several ranks, by their node's id
  int64_t begin_ns = 0, end_ns = 0;  ///< first start and last end of all that was recorded, since Trace::base_ns
};

/// Numbers the collectives of counted groups so that equal numbers mean the same collective, and marks the traces:
/// is_partial() of a rank that recorded a part of what others recorded, is_unaligned() of one whose part nothing tells.
/// Sequence numbers of the recording decide, then numbers of steps, then sizes, then the pattern in time, then the wall
/// clock if it agrees with the order. `job` holds communication only, `windows` is parallel to its ranks.
/// Findings: match.window.unaligned. Cost: O(collectives), and up to 1,024 places tried with 64 collectives each for
/// every member of a group where sizes repeat and no step tells.
Findings align_windows(trace::TraceSet& job, std::span<const RankWindow> windows);

/// Chooses among RankWindow::choices what all ranks agree with: members have equal collectives in equal order, and none
/// leaves one before all have come, whatever their clocks show. Of choices with the same members the first is taken.
/// Where small groups end their collectives together and larger ones do not, the small ones are right. What stays open
/// keeps the name that stands for it. To be called before align_windows().
/// Findings: match.group.open. Cost: O(choices^2 x collectives) for each two ranks of which one is open.
Findings choose_groups(trace::TraceSet& job, std::span<RankWindow> windows);

/// Chooses among RankWindow::peers where only one of the ranks has the other end of such a message (tag and size) left,
/// or may have it. How many were chosen; the others stay as they are. Cost: O(messages x peers), a few times.
int64_t choose_peers(trace::TraceSet& job, std::span<const RankWindow> windows);

/// Names the groups of barriers in the group `open`, which stands for one that a rank's own recording leaves open:
/// where the collectives of its groups, in the order in which each group's first rank has them, leave one way. To be
/// called after choose_groups(). Cost: O(ways), of which those of a rank with more than 65,536 are not followed.
void choose_barriers(trace::TraceSet& job, std::span<const RankWindow> windows, std::string_view open);
/// The first and last step that all ranks have numbers of; all there are if some rank has none.
std::pair<int64_t, int64_t> common_steps(std::span<const RankWindow> windows);

/// Marks of align_windows(), kept in the metadata of traces.
bool is_partial(const trace::Trace& trace);
bool is_unaligned(const trace::Trace& trace);
/// Gives a trace the numbers and marks of its communication, whose nodes have the same ids.
void copy_windows(const trace::Trace& communication, trace::Trace& to);

}  // namespace chakra::match
