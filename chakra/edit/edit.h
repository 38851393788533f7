// Trace -> Trace: a job made into another one. So far: ranks that were not recorded as copies of one that was.
#pragma once

#include <cstdint>

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

}  // namespace chakra::edit
