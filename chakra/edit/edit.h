// Trace -> Trace: a job made into another one: ranks that were not recorded as copies of one that was, the first ranks
// of a job alone, a job several times. Ranks of a set may be empty traces, where a caller reads only those it needs:
// what becomes of a rank depends on its own trace, its groups and the number of ranks alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// Makes `job` a job of `ranks` ranks, 0 to ranks - 1: those without a trace become copies of rank `like` (-1: the
/// lowest there is). A copy does what `like` does, in groups of its own:
///   - the same group, where it is a member of it;
///   - else the group of the same size that has it and not `like`: the k-th such of its groups by name for the k-th of
///     those of `like` (from `groups` and what the traces record);
///   - else, where the members of the group of `like` are start, start + stride, ... and such groups fill the job, its
///     part of that pattern, a new group NAME@FIRST that is added to `groups`.
/// A root keeps its place in the group. What cannot be copied is said in `findings` and changed: messages to, from and
/// of copies take the time that they took and move nothing (edit.expand.messages); all-to-alls with splits in groups
/// with copies become even (edit.expand.splits). edit.expand says who was copied, with the facts ranks, like, copies.
/// Copies refer to texts of the trace that they copy: they live as long as it stays in the set.
/// Errors: edit.expand.like, .ranks (fewer than there are, or more than can be), .group (a group that the copies cannot
/// have a part in).
/// Cost: O(nodes of `like`) for each copy.
Result<trace::TraceSet> expand(trace::TraceSet job, match::GroupTable& groups, int64_t ranks, int64_t like,
                               Findings& findings);

/// Bytes of an element of a type, by the name that traces have for it; at least 1.
using ElementBytes = uint64_t (*)(std::string_view dtype);

/// The first `ranks` ranks of a job; docs/reference/replay.md, "Fewer ranks", has the rules and what they assume. Ranks
/// that are gone leave their groups, in the traces and in `groups`; a root that is gone becomes the first member; parts
/// of ranks that are gone are left out of all-to-alls, scatters and reduce-scatters, the other members' parts stay as
/// large. Messages with ranks that are gone, and collectives of groups with one member left, become metadata nodes,
/// which take no time. Groups whose members are unknown stay unknown. Findings: edit.shrink, .messages, .alone, .roots.
/// Requires ranks 0, 1, ... in the set. Errors: edit.shrink.ranks (none, or more than there are), edit.parts,
/// edit.root. Cost: O(nodes of the ranks that stay + communication).
Result<trace::TraceSet> shrink(trace::TraceSet job, match::GroupTable& groups, int64_t ranks, ElementBytes element,
                               Findings& findings);

/// A job `times` times; the same page, "More ranks", has the rules. Of M ranks, rank r + i M does what rank r does, in
/// replica i. Groups of all ranks grow to all replicas, other groups become NAME@i, messages stay in the replica.
/// Members of groups that grow put in and get out as much as before: parts of all-to-alls are divided among the
/// replicas, shards of all-gathers and gathers become smaller. Findings: edit.replicate, .apart. Requires ranks
/// 0, 1, ... in the set. Errors: edit.replicate.ranks (too many nodes), edit.replicate.group (a group with ranks that
/// the job lacks, a name that exists), edit.replicate.partner, edit.parts, edit.root. Cost: O(nodes + times *
/// communication).
Result<trace::TraceSet> replicate(trace::TraceSet job, match::GroupTable& groups, int64_t times, ElementBytes element,
                                  Findings& findings);

}  // namespace chakra::edit
