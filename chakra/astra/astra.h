// Simulates a job by the rules of ASTRA-sim's two analytical back ends (docs/reference/compat.md): equal
// times to the nanosecond, including quirks. The native simulator (room sim) is independent of this room.
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

/// The back end to follow, and the options of ASTRA-sim's command line.
struct Options {
  bool congestion_aware = false;
  int64_t queues_per_dimension = 1;
  bool rendezvous = false;
  double injection_scale = 1;  ///< factor for the endpoint delay
  bool every_message = false;  ///< simulate all rings as events, even if not necessary: slower, with equal results
};

struct Input {
  trace::TraceSet job;  ///< one trace per rank of the network
  net::Fabric fabric;
  device::System system;
  match::GroupTable groups;
  Options options;
  /// Collectives given as one trace per rank (the *-custom keys of the system file).
  std::map<trace::CommType, trace::TraceSet> custom;
  const std::atomic<bool>* stop = nullptr;  ///< end early when true, with a partial report
};

struct Report {
  struct Rank {
    int64_t rank = 0;
    Picoseconds finish_ps = 0;
    Picoseconds compute_ps = 0;  ///< off the CPU; all other time is exposed communication, as in ASTRA-sim
  };
  Picoseconds makespan_ps = 0;
  std::vector<Rank> ranks;   ///< ascending
  bool interrupted = false;  ///< partial report of a stopped run; finishes are the latest so far
  uint64_t events = 0;
  Findings findings;  ///< sim.compat.quirk, sim.interrupted
};

/// Simulate a job. Errors: sim.compat.*, sim.trace.defect, sim.time; with Code::stuck
/// sim.stuck (lists the waits) and sim.stuck.cycle. Cost: O(nodes + edges), and per
/// message O(log messages under way), except for rings that are computed at once.
Result<Report> simulate(const Input& input);

}  // namespace chakra::astra
