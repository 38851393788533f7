// Which ranks of a job are read, and which are made up.
#pragma once

#include <string>

#include "chakra/base/base.h"
#include "chakra/job/loaded.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

/// Reads the ranks that `text` names, all where it is empty: "R", "FIRST:COUNT", or several of them with commas
/// between. Other ranks' files are not opened. `first_of`: of those the ones below this number, with a finding that
/// says which others are left out; negative: all. Errors: cli.usage for a text of another form or a rank that the job
/// lacks, those of io::find_ranks, io::read_job.
Result<trace::TraceSet> read_ranks(const std::string& path, const LoadedPtr& loaded, const std::string& text,
                                   int64_t first_of, Findings& findings);

/// "N" or "N:RANK": a job of N ranks, where those without a trace are copies of RANK, else of the lowest there is.
/// Nothing where `text` is empty. Errors: cli.usage, edit.expand.*
Result<void> expand_job(const std::string& text, trace::TraceSet& job, match::GroupTable& groups, Findings& findings);

/// ASTRA-sim knows groups by number, and their members from the groups file. Each group that the traces list under
/// another name and `groups` lacks gets the next free number, in the order of ranks, and is added to `groups`; a
/// finding (sim.compat.numbered) says so. Cost: O(groups + communication nodes).
void number_groups(trace::TraceSet& job, match::GroupTable& groups, Findings& findings);

}  // namespace chakra::job
