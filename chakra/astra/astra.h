// A job by the rules of ASTRA-sim's two analytical back ends (docs/reference/compat.md): the same times to the
// nanosecond, its quirks included. The native simulator (room sim) has nothing to do with it.
#pragma once

#include <atomic>
#include <map>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/match/match.h"
#include "chakra/net/net.h"
#include "chakra/trace/trace.h"

namespace chakra::astra {

/// The back end to follow, and the options of ASTRA-sim's command.
struct Options {
  bool congestion_aware = false;
  int64_t queues_per_dimension = 1;
  bool rendezvous = false;
  double injection_scale = 1;  ///< of the endpoint delay
  bool every_message = false;  ///< rings as events, too, where they need not be: slower, and the same result
};

struct Input {
  trace::TraceSet job;  ///< one trace for each rank of the network
  net::Fabric fabric;
  device::System system;
  match::GroupTable groups;
  Options options;
  /// Collectives given as one trace per rank (the system file's *-custom keys).
  std::map<trace::CommType, trace::TraceSet> custom;
  const std::atomic<bool>* stop = nullptr;  ///< end early when it becomes true, with what there is
};

struct Report {
  struct Rank {
    int64_t rank = 0;
    Picoseconds finish_ps = 0;
    Picoseconds compute_ps = 0;  ///< off the CPU; all other time is exposed communication, as ASTRA-sim has it
  };
  Picoseconds makespan_ps = 0;
  std::vector<Rank> ranks;   ///< ascending
  bool interrupted = false;  ///< what there was when it was stopped; finishes are those so far
  uint64_t events = 0;
  Findings findings;  ///< sim.compat.quirk, sim.interrupted
};

/// Errors: sim.compat.*, sim.trace.defect, sim.time; with Code::stuck sim.stuck (who waits for whom) and
/// sim.stuck.cycle. Cost: O(nodes + edges), and per message O(log messages under way) where a ring cannot be worked out
/// at once.
Result<Report> simulate(const Input& input);

}  // namespace chakra::astra
