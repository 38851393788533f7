// Dumps of a flight recorder beside the recordings of a job: what they add to the linked traces.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "chakra/flight/flight.h"
#include "chakra/link/link.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

bool is_dump_file(const std::string& path);

/// Reads dumps, by rank. What cannot be read is a finding: those of flight::read_dumps, its errors as warnings.
std::map<int64_t, flight::Dump> read_dumps_beside(const std::vector<std::string>& paths, Findings& findings);
/// flight.beside.rank if there are dumps of other ranks than these.
void find_unused_dumps(const std::map<int64_t, flight::Dump>& dumps, const std::vector<int64_t>& ranks,
                       Findings& findings);

/// Completes a trace by the dump of its rank, and corrects the report.
void fill_from_dump(trace::Trace& trace, const flight::Dump& dump, link::LinkingReport& report);

}  // namespace chakra::job
