// Showing things: a Trace as a Timeline, a Timeline as a file for ui.perfetto.dev and chrome://tracing, a
// Table as text.
#pragma once

#include <string>

#include "chakra/base/base.h"
#include "chakra/table/table.h"
#include "chakra/trace/trace.h"

namespace chakra::view {

/// What ran when, as measured: operators as nested slices on their threads, device operations on their
/// streams, arrows for launches and communication. Time zero is the earliest start of any rank. Ranks
/// without measured times are laid out as early as their dependencies allow, and a finding says so.
/// Errors: view.cycle. Cost: O(nodes + edges).
Result<table::Timeline> timeline_of(const trace::TraceSet& job, Findings& findings);

/// Chrome's trace event format (docs/formats/timeline.md): a process per rank, a thread per track,
/// times in microseconds. On one track slices nest; where they would not, the later one moves to a
/// second track of the same name. Errors: base.file.*. Cost: O(slices log slices).
Result<void> write_chrome_trace(const table::Timeline& timeline, const std::string& path);

/// Why each edge of a node is there: what it waits for, from which records or by which rule, and how the
/// measured times fit. Requires the attributes (source, correlation) to be in the trace.
std::string explain(const trace::Trace& trace, trace::NodeId node);

/// Columns aligned, units with every number.
std::string to_text(const table::Table& table);
/// RFC 4180, a header line, the unit of each column in its name: ps, bytes, bytes/s.
std::string to_csv(const table::Table& table);

}  // namespace chakra::view
