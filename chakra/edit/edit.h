// Trace -> Trace: derive a job from another job: copies for ranks that were not recorded, only the first ranks, or
// several replicas. The result for a rank depends only on the trace of this rank, on groups and on the number of ranks.
// A caller that needs only some ranks may therefore pass empty traces for the other ranks.
#pragma once

#include <cstdint>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/edit/hide.h"    // IWYU pragma: export
#include "chakra/edit/layers.h"  // IWYU pragma: export
#include "chakra/edit/sizes.h"   // IWYU pragma: export
#include "chakra/edit/stages.h"  // IWYU pragma: export
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// Expand `job` to ranks 0 to ranks - 1: ranks without a trace become copies of rank `like` (-1: the lowest rank with a
/// trace). A copy has the nodes of `like`, in corresponding groups:
///   - the same group, if the copy is a member;
///   - else a group of the same size with the copy and without `like`: the k-th such group of the copy, by name, for
///     the k-th of the groups of `like` (from `groups` and the traces);
///   - else, if the members of the group of `like` are start, start + stride, ... and such groups fill the job, the
///     part of that pattern with the copy: a new group NAME@FIRST, which is added to `groups` and to the copy.
/// A root keeps the position in the group. Nodes that cannot be copied are changed, with a finding. Messages to, from
/// and of copies keep the duration and move no data (edit.expand.messages). Uneven all-to-alls in groups with
/// copies become even (edit.expand.splits), by match::even_bytes. Finding edit.expand reports the copies: facts ranks,
/// like, copies.
/// Copies refer to texts of the copied trace: a copy is valid while that trace stays in the set.
/// Errors: edit.expand.like, .ranks (fewer than exist, or more than possible), .group (a group that the copies cannot
/// join).
/// Cost: O(nodes of `like`) for each copy.
Result<trace::TraceSet> expand(trace::TraceSet job, match::GroupTable& groups, int64_t ranks, int64_t like,
                               Findings& findings);

/// Return the size in bytes of an element of a type, by the name in traces; at least 1.
using ElementBytes = uint64_t (*)(std::string_view dtype);

/// Keep the first `ranks` ranks of a job; docs/reference/replay.md, "Fewer ranks", has the rules and assumptions.
/// Removed ranks leave all groups, in the traces and in `groups`. The first member replaces a removed root.
/// All-to-alls, scatters and reduce-scatters lose the parts of removed ranks; other parts keep the size. Messages with
/// removed ranks, and collectives of groups with one remaining member, become metadata nodes, which take no time.
/// Groups with unknown members stay unknown. Findings: edit.shrink, .messages, .alone, .roots. Requires ranks 0, 1, ...
/// in the set. Errors: edit.shrink.ranks (zero, or more than exist), edit.parts, edit.root. Cost: O(nodes of the
/// remaining ranks + communication).
Result<trace::TraceSet> shrink(trace::TraceSet job, match::GroupTable& groups, int64_t ranks, ElementBytes element,
                               Findings& findings);

/// Replicate a job `times` times; "More ranks" on the same page has the rules. With M ranks, rank r + i M copies rank
/// r, in replica i. Groups of all ranks grow to all replicas, other groups become NAME@i, messages stay in the
/// replica. Members of growing groups send and receive as many bytes as before: parts of all-to-alls are divided among
/// the replicas, shards of all-gathers and gathers become smaller. Findings: edit.replicate, .apart. Requires ranks 0,
/// 1, ... in the set. Errors: edit.replicate.ranks (too many nodes), edit.replicate.group (a group with ranks that the
/// job lacks, or an existing name), edit.replicate.partner, edit.parts, edit.root. Cost: O(nodes + times *
/// communication).
Result<trace::TraceSet> replicate(trace::TraceSet job, match::GroupTable& groups, int64_t times, ElementBytes element,
                                  Findings& findings);

}  // namespace chakra::edit
