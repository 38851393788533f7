// Runs traces in simulated time. Native mode: every stream and thread of a rank runs as its trace has
// it, collectives are priced from their plans on the network. Compatible mode (compat/): the rules of
// ASTRA-sim's analytical back end, to the nanosecond. Self-replay: a linked trace against its own
// measurement.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/net/net.h"
#include "chakra/sim/self_replay.h"  // IWYU pragma: export
#include "chakra/sim/system.h"       // IWYU pragma: export
#include "chakra/table/table.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// The back end of ASTRA-sim to follow, and the options of its command.
struct CompatOptions {
  bool congestion_aware = false;
  int64_t queues_per_dimension = 1;
  bool rendezvous = false;
  double injection_scale = 1;  ///< of the endpoint delay
  bool every_message = false;  ///< rings as events, too, where they need not be: slower, and the same result
};

struct SimInput {
  trace::TraceSet job;
  net::Fabric fabric;
  System system;
  match::GroupTable groups;
  bool timeline = false;  ///< fill SimReport::timeline
  CompatOptions compat;
  /// Compatible mode: collectives given as one trace per rank (the system file's *-custom keys).
  std::map<trace::CommType, trace::TraceSet> custom;
};

/// Where a rank's time went; the three parts add up to the finish. A rank computes while at least one
/// compute node runs on its devices (on its CPU threads, if its trace has no devices); communication is
/// exposed while some runs and nothing computes.
struct RankReport {
  int64_t rank = 0;
  Picoseconds finish_ps = 0;
  Picoseconds compute_ps = 0;
  Picoseconds exposed_comm_ps = 0;
  Picoseconds idle_ps = 0;
};

/// All collectives of one group, type and size.
struct CollectiveReport {
  std::string group;
  trace::CommType type = trace::CommType::unknown;
  uint64_t bytes = 0;  ///< comm_size
  uint32_t members = 0;
  int64_t count = 0;
  Picoseconds total_ps = 0;          ///< sum over them, from the last member's arrival to the last one's end
  Picoseconds wait_ps = 0;           ///< sum over them, from the first member's arrival to the last one's
  double algorithm_bytes_per_s = 0;  ///< bytes * count / total
  double bus_bytes_per_s = 0;        ///< as nccl-tests defines it: comparable with a link's rate
};

struct SimReport {
  Picoseconds makespan_ps = 0;
  std::vector<RankReport> ranks;  ///< ascending
  std::vector<CollectiveReport> collectives;
  uint64_t events = 0;
  table::Timeline timeline;
  Findings findings;
};

/// Errors: sim.trace.defect, sim.time, net.dimensions (more than one), sim.fabric.small, sim.match (the
/// ranks' traces contradict each other),
/// sim.comm.type, sim.compute.work; with Code::stuck sim.stuck (who waits for whom) and
/// sim.stuck.cycle. Cost: O(events log events), and per collective that of coll::run_closed.
Result<SimReport> simulate(const SimInput& input);

/// The same job by ASTRA-sim's rules (docs/compat.md). Errors: also sim.compat.*.
Result<SimReport> simulate_compat(const SimInput& input);

}  // namespace chakra::sim
