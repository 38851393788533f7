// Runs traces in simulated time. Every stream and thread of a rank runs by its trace;
// collectives are priced from their plans on the network.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/device/device.h"
#include "chakra/match/match.h"
#include "chakra/net/net.h"
#include "chakra/result/result.h"
#include "chakra/sim/answer.h"           // IWYU pragma: export
#include "chakra/sim/loads_over_time.h"  // IWYU pragma: export
#include "chakra/sim/recorded.h"         // IWYU pragma: export
#include "chakra/sim/retarget.h"         // IWYU pragma: export
#include "chakra/sim/stuck.h"            // IWYU pragma: export
#include "chakra/sim/traffic.h"          // IWYU pragma: export
#include "chakra/trace/trace.h"
#include "chakra/work/work.h"

namespace chakra::sim {

using ActorId = trace::RankIndex;  ///< equivalent ranks are one rank of the simulated job

struct Progress {
  uint64_t events = 0;
  int64_t nodes_done = 0, nodes = 0;
  Picoseconds now_ps = 0;
};

/// A collective after the arrival of its last member.
struct Meeting {
  std::string_view group;
  trace::CommType type = trace::CommType::unknown;
  uint64_t bytes = 0;  ///< comm_size
  size_t members = 0;
  Picoseconds first_ps = 0, last_ps = 0;  ///< arrivals
};

/// The delay of each node of a job. The pieces of an operation after its first piece are not delayed again.
struct Delays {
  std::vector<std::vector<Picoseconds>> rows;  ///< per rank of the job: a value per node, or empty: no delays
  Picoseconds of(uint32_t rank, trace::NodeId n) const { return rows[rank].empty() ? 0 : rows[rank][n]; }
};

struct SimInput {
  /// The job to run: one trace per rank, or classes of ranks (native mode), which then replace `job`.
  trace::TraceSet job;
  std::optional<trace::ClassJob> classes;
  net::Fabric fabric;
  device::System system;
  match::GroupTable groups;
  std::optional<match::Matching> matching;  ///< result of match() for `job` and `groups`, if available
  bool timeline = false;                    ///< fill SimReport::timeline
  bool link_loads = false;                  ///< fill SimReport::link_loads

  // Native mode.
  coll::Selection collectives;                 ///< selection of algorithms by operation
  Congestion congestion = Congestion::closed;  ///< automatic: one more run if it selects fluid
  net::PacketOptions packets;
  bool align_starts = false;  ///< ranks begin at 0, not at the recorded begin; start-ns of the system file applies
  /// Recorded transfers keep their recorded time after the last arrival; the network
  /// prices all others. By rank of `job` or `classes`, which are then not folded.
  std::optional<Transfers> transfers;
  std::optional<Delays> delays;  ///< by node of `job`, which is then not folded
  /// Factors for the time of communication that the network prices: of a collective for each
  /// round, of a message for latency and bytes. By rank of `job`, which is then not folded, and
  /// row of Trace::comms; equal for all participants. Empty: 1. Requires the congestion `closed`.
  std::vector<std::vector<double>> transfer_factors;
  /// Model of collectives by the caller: time from the last arrival to the end of all members, at least 0; no value:
  /// the network prices the collective. Requires `closed`. With folded ranks, called once for equivalent groups.
  std::function<Result<std::optional<Picoseconds>>(const Meeting&)> collective_time = {};
  /// For a collective that the network prices, continue the critical path at the member that decided the end,
  /// which need not be the last arrival: the path's times are then slopes. Requires the congestion `closed`.
  bool decisive_path = false;
  std::vector<net::Fabric> other_fabrics = {};  ///< for SimReport::path_longer; requires `closed`
  bool node_times = false;                      ///< fill SimReport::times
  bool fold = true;  ///< simulate equivalent ranks once (closed only: otherwise all ranks share links)
  /// Nodes of all actors up to which a job of unequal ranks is folded exactly. Beyond, see SimReport::late_start.
  uint64_t exact_nodes = uint64_t{1} << 24;
  uint64_t memory = 0;                            ///< bytes that the actors may take; 0: the memory that is available
  std::optional<MemoryUse> memory_use;            ///< of devices that the system no longer has, for the report
  std::vector<Wait>* waits = nullptr;             ///< filled if the run ends with sim.stuck
  const std::atomic<bool>* stop = nullptr;        ///< end early when true: with an error, or see `partial`
  bool partial = false;                           ///< a stopped run returns a partial report, marked interrupted
  std::function<void(const Progress&)> progress;  ///< called at intervals
};

/// Breakdown of a rank's time; the parts add up to the finish. Each moment has the first of these kinds that fits:
/// - compute: a compute node runs on a device of the rank (on a CPU thread, if the trace has no devices).
/// - exposed communication: a collective runs or waits for members, or a message is under way.
/// - exposed storage: a node that is charged to a tier runs.
/// - host-bound: a node runs on the CPU.
/// - pipeline bubble: the rank waits for a message that was not sent yet. All other time is idle.
struct RankReport {
  int64_t rank = 0;
  Picoseconds finish_ps = 0;
  Picoseconds compute_ps = 0;
  Picoseconds exposed_comm_ps = 0;
  Picoseconds exposed_storage_ps = 0;
  Picoseconds host_ps = 0;
  Picoseconds bubble_ps = 0;
  Picoseconds idle_ps = 0;
  ActorId actor{0};  ///< into SimReport::actors; equal for ranks that were simulated as one
};

/// Results of an actor, equal for all ranks of the actor.
struct ActorReport {
  int64_t ranks = 0;  ///< number of ranks
  struct Exposed {
    std::string group;                                ///< "" for messages
    trace::CommType type = trace::CommType::unknown;  ///< unknown for messages
    Picoseconds time_ps = 0;
  };
  std::vector<Exposed> exposed;  ///< adds up to exposed_comm_ps
  work::WorkSum work;            ///< of the nodes off the CPU that ran, per rank
  std::string device;            ///< device of these nodes, if known; else ""
  device::Rates rates;           ///< of that work, by the time from the rank's start to its finish
};

/// The fit of the network (net::CollectiveFit) that gives the time of a collective, and its reliability.
struct FittedCollective {
  std::string algorithm, protocol;
  double error_percent = -1, worst_percent = -1;  ///< on held-out measurements; -1: unknown
  // Measured range: numbers of members, and bytes of a whole buffer. Across nodes: members per node, and nodes.
  std::vector<int64_t> ranks, nodes;
  uint64_t from_bytes = 0, to_bytes = 0;
  bool other_ranks = false, other_bytes = false;  ///< outside of the measured range
  bool from_parts = false;                        ///< across nodes, without a measurement for any number of nodes
};

/// All collectives of one group, type and size.
struct CollectiveReport {
  std::string group;
  trace::CommType type = trace::CommType::unknown;
  uint64_t bytes = 0;  ///< comm_size
  uint32_t members = 0;
  int64_t count = 0;
  Picoseconds total_ps = 0;          ///< sum of times from the last member's arrival to the last end
  Picoseconds wait_ps = 0;           ///< sum of times from the first member's arrival to the last arrival
  double algorithm_bytes_per_s = 0;  ///< bytes * count / total, for gathers the bytes of all members: as in nccl-tests
  double bus_bytes_per_s = 0;        ///< as in nccl-tests: comparable with a link's rate
  // Native mode: the algorithm (with uneven splits: of the first collective).
  const coll::AlgorithmRow* algorithm = nullptr;
  bool near = false;                        ///< with members in the order of coll::near_order
  bool by_rule = false;                     ///< as required by SimInput::collectives
  std::vector<coll::Candidate> candidates;  ///< candidates that were considered
  std::optional<FittedCollective> fitted;   ///< if the network's fits give the time; then there is no algorithm
};

/// Traffic of a link of a shared network.
struct LinkReport {
  std::string from, to;
  uint64_t bytes = 0;
  Picoseconds busy_ps = 0;
};

/// Traffic of a storage tier.
struct TierReport {
  std::string name;
  device::TierScope scope = device::TierScope::all;
  int64_t places = 0;       ///< number of places: one, or the nodes or ranks that use the tier
  uint64_t bytes = 0;       ///< over all places
  Picoseconds busy_ps = 0;  ///< time with moving bytes at the busiest place
  struct Kind {
    std::string io_kind;  ///< as in nodes; "load" or "store" for nodes without one
    int64_t count = 0;
    uint64_t bytes = 0;
    Picoseconds total_ps = 0;  ///< sum of the operations' durations
    double bytes_per_s = 0;    ///< bytes / total: rate of an operation
  };
  std::vector<Kind> kinds;  ///< ascending by io_kind
};

/// A piece of the critical path: a chain of nodes, each waiting for the previous
/// one, up to the end of the job. Pieces follow each other without gaps.
struct PathPiece {
  enum class Kind : uint8_t {
    compute,
    host,
    memory,
    collective,
    message,
    lag,
    start,
    unrecorded,
    storage
  } kind = Kind::lag;
  int64_t rank = 0;
  uint64_t node = 0;                   ///< id in the rank's trace
  ActorId actor{0};                    ///< into SimReport::actors
  trace::NodeId row = trace::kNoNode;  ///< in the actor's trace
  std::string name;
  std::string group;  ///< of a collective
  std::string tier;   ///< of storage
  trace::CommType type = trace::CommType::unknown;
  Picoseconds start_ps = 0, end_ps = 0;
};
inline constexpr std::array<std::string_view, 9> kPathKindNames{
    "compute", "host", "memory", "collective", "message", "lag", "start", "unrecorded", "storage"};

/// A link with more demand than capacity.
struct SharedLink {
  std::string name;          ///< "leaf0 -> spine1", or a kind of links if only means are known
  Picoseconds lacks_ps = 0;  ///< additional time to carry the demand
  double most = 0;           ///< largest demand at a time, relative to the rate
};

/// Error of a run in closed form: contention between collectives and messages for links.
struct Sharing {
  /// Additional time of the job if all traffic waits for the link with the most demand at each
  /// time. The true value is lower if computation hides a part, or if a part waits anyway.
  Picoseconds longer_ps = 0;
  std::vector<SharedLink> links;  ///< the worst first; one of each set of equal links
  size_t count = 0;               ///< number of links with more demand than capacity
  /// The collective whose closed form is most in error, since members that do not wait for each other meet on a link
  /// in different rounds. One collective is simulated for each kind.
  struct Own {
    std::string name;                          ///< "REDUCE of 48.8 KiB (tree)"; empty: none
    Picoseconds closed_ps = 0, shared_ps = 0;  ///< its time alone: in closed form, and over shared links (fluid)
    Picoseconds misses_ps = 0;                 ///< differences of all collectives of the rank with the most
  } own;
  double flows = 0;         ///< transfers of all collectives and messages, of all ranks
  double rate_changes = 0;  ///< flows under way, summed over all begins and ends; 0 without overloaded links
};

/// Begin and end of the nodes of an actor.
struct NodeTimes {
  std::vector<Picoseconds> start, end;
};

/// A run in which collectives of many members begin when the last member arrives. Such a run needs fewer
/// actors, because the place of the late member in the group does not matter. Every time is then too long. A
/// second run with too short times gives the error. If `certain`, the truth lies between the two runs. Otherwise
/// queues can choose another order between them.
struct LateStart {
  uint32_t exact_members = 0;         ///< collectives of up to this number of members are exact
  Picoseconds least_makespan_ps = 0;  ///< of the second run
  Picoseconds most_rank_ps = 0;       ///< largest difference between the finishes of a rank in the two runs
  bool same_order = true;             ///< all queues ran their nodes in the same order in both runs
  bool certain = true;                ///< no queue can choose another order at times between the two runs
};

struct SimReport {
  Picoseconds makespan_ps = 0;
  std::vector<RankReport> ranks;  ///< ascending
  std::vector<ActorReport> actors;
  std::vector<CollectiveReport> collectives;
  std::vector<std::shared_ptr<const coll::Program>> programs;  ///< referenced by `collectives`
  int64_t distinct_traces = 0;                                 ///< equal traces of ranks count once; native mode
  std::vector<ScaledTime> devices;             ///< sources of compute time, if ranks have devices; native mode
  std::vector<LinkReport> links;               ///< links with traffic; empty in closed form
  Congestion congestion = Congestion::closed;  ///< contention model that was used
  std::string congestion_reason;               ///< reason for that model
  Sharing sharing;                             ///< of a run in closed form
  LoadsOverTime link_loads;                    ///< if requested; in closed form the demand
  std::optional<LateStart> late_start;         ///< if the times are upper bounds
  std::optional<MemoryUse> memory;             ///< if the traces state the memory; native mode
  std::vector<TierReport> tiers;               ///< tiers with traffic, in the order of the system; native mode
  std::vector<PathPiece> critical_path;        ///< from time 0 to the makespan; native mode
  /// Per fabric of SimInput::other_fabrics: increase of the critical path if its
  /// transfers are priced on that fabric, with all participants arriving as in this run.
  std::vector<Picoseconds> path_longer;
  bool interrupted = false;  ///< partial report of a stopped run (SimInput::partial); finishes are the latest so far
  uint64_t events = 0;
  std::vector<NodeTimes> times;  ///< per actor, if requested
  result::Timeline timeline;
  Findings findings;
};

/// Simulate a job. Findings: sim.closed.shared, if a run in closed form ignores contention for links,
/// and others. Errors: sim.start, sim.trace.defect, sim.time, sim.fabric.small, sim.device.unknown,
/// sim.match (the ranks' traces contradict each other), sim.memory (the run needs more memory than available),
/// sim.packets, sim.tier.unknown, sim.tier.bytes, sim.comm.type, sim.comm.peer, sim.collectives.cannot (a rule's
/// algorithm cannot run in the places of the group); with Code::stuck sim.stuck (lists the waits) and sim.stuck.cycle;
/// with Code::interrupted sim.interrupted. Cost: that of fold() and retarget(), and per actor O(events log events); per
/// collective that of coll::run_closed, or of its messages on a shared network.
Result<SimReport> simulate(SimInput input);

/// Return a copy of the input. Columns of traces are shared.
SimInput copy_whole(const SimInput& input);
/// Return a copy of the job without the parts for a single run (timeline,
/// progress, waits). Cost: O(ranks); the columns of the traces are shared.
SimInput copy_of(const SimInput& input);

}  // namespace chakra::sim
