// Recorded data of a job beside durations: the begin of each rank by a common clock,
// and the time of each collective and message after the last participant has come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

struct SimInput;

/// In a trace's metadata as rank_start_ns and clock_drift_ppb (docs/reference/formats/et.md).
struct RecordedStart {
  int64_t start_ns = 0;   ///< first start of the trace minus that of the job's first rank, by the job's clock
  int64_t drift_ppb = 0;  ///< gain of the rank's clock over the job's clock, in parts of 10^9
};
/// Return the recorded start, if any. Errors: sim.start (more than 26 days, a clock that is off by more than a tenth).
Result<std::optional<RecordedStart>> recorded_start(const trace::Trace& trace);
void set_recorded_start(trace::Trace& trace, const RecordedStart& start);
/// Return whether the trace, or any of the traces, has a recorded start.
bool has_recorded_start(const trace::Trace& trace);
bool has_recorded_starts(const trace::TraceSet& job);
bool has_recorded_starts(const trace::ClassJob& job);

/// Set each rank's recorded start, relative to the job's first, unless the
/// system file gives one. Findings: sim.start.unknown. Errors: sim.start.
Result<void> begin_as_recorded(SimInput& input, Findings& findings);

/// Time of communication after the last participant has come, by rank of the job and row of Trace::comms.
struct Transfers {
  struct Row {
    Picoseconds transfer_ps = -1;  ///< last start to last end, equal for all members; below 0: unknown
    /// For a member that ended when or before the last one came: its duration
    /// from its start, without waiting. Below 0: the member waits for all others.
    Picoseconds own_ps = -1;
    Picoseconds after_ps = -1;  ///< for a member that waits: last start to this member's end; below 0: transfer_ps
    double pieces = 1;          ///< factor for the time of its pieces
    bool known() const { return transfer_ps >= 0; }
    bool waits() const { return own_ps < 0; }
    Picoseconds after() const { return after_ps < 0 ? transfer_ps : after_ps; }
    /// Multiply all times by a factor.
    void scale(double factor);
  };
  std::vector<std::vector<Row>> rows;
  int64_t known = 0, unknown = 0;  ///< collectives and messages

  const Row* find(uint32_t rank, uint32_t comm_row) const {
    return rows[rank][comm_row].known() ? &rows[rank][comm_row] : nullptr;
  }
};

}  // namespace chakra::sim
