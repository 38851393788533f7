// Dumps of a flight recorder next to the recordings of a job: complete the linked traces.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "chakra/flight/flight.h"
#include "chakra/link/link.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

bool is_dump_file(const std::string& path);

/// Read dumps, by rank. Errors of flight::read_dumps become findings (warnings), beside the findings of that function.
std::map<int64_t, flight::Dump> read_dumps_beside(const std::vector<std::string>& paths, Findings& findings);
/// Report flight.beside.rank if a dump belongs to a rank that is not in `ranks`.
void find_unused_dumps(const std::map<int64_t, flight::Dump>& dumps, const std::vector<int64_t>& ranks,
                       Findings& findings);

/// Complete a trace from the dump of the same rank, and correct the report.
void fill_from_dump(trace::Trace& trace, const flight::Dump& dump, link::LinkingReport& report);

}  // namespace chakra::job
