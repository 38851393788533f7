// What a recording knows of its job beside durations: when each rank began, by one clock for all of them, and how long
// each collective and message took once all who take part had come.
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
  int64_t start_ns = 0;   ///< the first start of the trace, since that of the job's first rank, by the job's clock
  int64_t drift_ppb = 0;  ///< what the rank's clock gains on the job's, in parts of 10^9
};
/// None where the trace says none. Errors: sim.start (more than 26 days, a clock that is off by more than a tenth).
Result<std::optional<RecordedStart>> recorded_start(const trace::Trace& trace);
void set_recorded_start(trace::Trace& trace, const RecordedStart& start);
/// Whether the trace, or any of the traces, says it.
bool has_recorded_start(const trace::Trace& trace);
bool has_recorded_starts(const trace::TraceSet& job);
bool has_recorded_starts(const trace::ClassJob& job);

/// Puts each rank's recorded start, counted from the job's first one, where the system file gives none. Findings:
/// sim.start.unknown. Errors: sim.start.
Result<void> begin_as_recorded(SimInput& input, Findings& findings);

/// A rank's times by the clock of its job.
class JobClock {
 public:
  /// Without a recorded start its times count from 0. Errors: sim.start. Cost: O(nodes).
  static Result<JobClock> of(const trace::Trace& trace);

  bool known() const { return known_; }    ///< the trace has a recorded start
  Picoseconds at(Picoseconds time) const;  ///< of a time as in Trace::start_ps

 private:
  bool known_ = false;
  Picoseconds first_ = 0;  ///< the first start by the rank's own clock
  Picoseconds start_ = 0;
  double rate_ = 1;  ///< seconds of the job in one of the rank's clock
};

/// How long communication takes once all have come, by rank of the job and row of Trace::comms.
struct Transfers {
  struct Row {
    Picoseconds transfer_ps = -1;  ///< from the last start to the last end, the same for all; below 0: not known
    /// Of a member that ended when or before the last one came: what it takes from its own start, waiting for nobody.
    /// Below 0: it waits for all to come.
    Picoseconds own_ps = -1;
    Picoseconds after_ps = -1;  ///< of one that waits: from the last start to its own end; below 0: transfer_ps
    double pieces = 1;          ///< of the time of its pieces
    bool known() const { return transfer_ps >= 0; }
    bool waits() const { return own_ps < 0; }
    Picoseconds after() const { return after_ps < 0 ? transfer_ps : after_ps; }
    /// All of it takes another time.
    void scale(double factor);
  };
  std::vector<std::vector<Row>> rows;
  int64_t known = 0, unknown = 0;  ///< collectives and messages

  const Row* find(uint32_t rank, uint32_t comm_row) const {
    return rows[rank][comm_row].known() ? &rows[rank][comm_row] : nullptr;
  }
};
/// Communication nodes of recorded ranks that have no duration, because their kernels were not recorded. Cost:
/// O(nodes).
int64_t comms_without_duration(const trace::TraceSet& job);

/// As they were recorded: of a collective its members' last end less their last start, of a message the receive's end
/// less the later start, by the clock of the job, and each member's own end. Of operations that no member can end
/// before the last one comes (match::ends_together, with data), all members wait, whatever their clocks show. Pieces of
/// communication belong to it. A node with a duration but without a start is taken to start and end when what it waits
/// for has ended. Not known where a member is missing, nothing tells its time, or its rank has no recorded start.
/// Errors: sim.start. Cost: O(nodes + edges of communication nodes).
Result<Transfers> recorded_transfers(const trace::TraceSet& job, const match::Matching& matching);

}  // namespace chakra::sim
