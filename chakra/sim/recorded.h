// Recorded data of a job beside durations: the begin of each rank by a common clock,
// and the time of each collective and message after the last participant has come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
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

/// Converts a rank's times to the clock of its job.
class JobClock {
 public:
  /// Without a recorded start, times count from 0. Errors: sim.start. Cost: O(nodes).
  static Result<JobClock> of(const trace::Trace& trace);

  bool known() const { return known_; }    ///< the trace has a recorded start
  Picoseconds at(Picoseconds time) const;  ///< of a time as in Trace::start_ps

 private:
  bool known_ = false;
  Picoseconds first_ = 0;  ///< first start by the rank's clock
  Picoseconds start_ = 0;
  double rate_ = 1;  ///< seconds of job time per second of rank time
};

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
/// Return the number of communication nodes of recorded ranks without
/// a duration, because kernels were not recorded. Cost: O(nodes).
int64_t comms_without_duration(const trace::TraceSet& job);

/// Compute the transfers as recorded, by the clock of the job. The time of a collective is its members' last
/// end minus last start; of a message the receive's end minus the later start; also each member's end. If no
/// member can end before the last one comes (match::ends_together, with data), all members wait, whatever
/// the clocks show. Pieces of communication are included. A node with a duration but without a start counts
/// as starting and ending when its dependencies have ended. Unknown if a member is missing, has no time, or
/// its rank has no recorded start. Errors: sim.start. Cost: O(nodes + edges of communication nodes).
Result<Transfers> recorded_transfers(const trace::TraceSet& job, const match::Matching& matching);

}  // namespace chakra::sim
