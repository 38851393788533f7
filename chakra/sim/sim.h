// Runs traces in simulated time. Every stream and thread of a rank runs as its trace has
// it, collectives are priced from their plans on the network.
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
#include "chakra/sim/delays.h"    // IWYU pragma: export
#include "chakra/sim/recorded.h"  // IWYU pragma: export
#include "chakra/sim/retarget.h"  // IWYU pragma: export
#include "chakra/sim/stuck.h"     // IWYU pragma: export
#include "chakra/sim/traffic.h"   // IWYU pragma: export
#include "chakra/trace/trace.h"

namespace chakra::sim {

using ActorId = trace::RankIndex;  ///< ranks that nothing tells apart are one rank of the job that is simulated

struct Progress {
  uint64_t events = 0;
  int64_t nodes_done = 0, nodes = 0;
  Picoseconds now_ps = 0;
};

/// A collective whose last member has come.
struct Meeting {
  std::string_view group;
  trace::CommType type = trace::CommType::unknown;
  uint64_t bytes = 0;  ///< comm_size
  size_t members = 0;
  Picoseconds first_ps = 0, last_ps = 0;  ///< arrivals
};

struct SimInput {
  /// What runs: one trace per rank, or classes of ranks (native mode), which then stand for `job`.
  trace::TraceSet job;
  std::optional<trace::ClassJob> classes;
  net::Fabric fabric;
  device::System system;
  match::GroupTable groups;
  std::optional<match::Matching> matching;  ///< what match() says of `job` and `groups`, if it was asked already
  bool timeline = false;                    ///< fill SimReport::timeline

  // Native mode.
  coll::Selection collectives;                 ///< which algorithm for which operation
  Congestion congestion = Congestion::closed;  ///< automatic: one run more where it takes fluid
  net::PacketOptions packets;
  bool align_starts = false;  ///< ranks begin at 0, whatever was recorded; the system file's start-ns still counts
  /// What these know takes as long as they say after the last has come; the network prices the rest. By the
  /// ranks of `job` or `classes`, which are then not folded.
  std::optional<Transfers> transfers;
  std::optional<Delays> delays;  ///< of nodes of `job`, whose ranks are then not folded
  /// Communication that the network prices takes this much of its time: of a collective each round, of a message
  /// latency and bytes. By rank of `job`, which is then not folded, and row of Trace::comms; the same for all that take
  /// part. Empty: all of its time. Requires the congestion `closed`.
  std::vector<std::vector<double>> transfer_factors;
  /// A caller's model of collectives: from the last arrival to the end of all members, at least 0; nothing: the network
  /// prices it. Of the congestion `closed`. With folded ranks it is asked once for groups that nothing tells apart.
  std::function<Result<std::optional<Picoseconds>>(const Meeting&)> collective_time = {};
  /// Of a collective that the network prices, the critical path goes on with the member whose arrival decided its end,
  /// which need not be the last one: then the path's times are slopes. Of the congestion `closed`.
  bool decisive_path = false;
  std::vector<net::Fabric> other_fabrics = {};  ///< for SimReport::path_longer; of the congestion `closed`
  bool node_times = false;                      ///< fill SimReport::times
  bool fold = true;  ///< simulate ranks that nothing tells apart once (closed only: links are shared by all)
  std::vector<Wait>* waits = nullptr;             ///< filled where the run ends with sim.stuck
  const std::atomic<bool>* stop = nullptr;        ///< end early when it becomes true: an error, or see `partial`
  bool partial = false;                           ///< a run that was stopped returns what there is, marked interrupted
  std::function<void(const Progress&)> progress;  ///< called now and then
};

/// Where a rank's time went; the parts add up to the finish. At each moment a rank
/// - computes, if a compute node runs on its devices (on its CPU threads, if its trace has no devices); else
/// - communicates, exposed, if a collective runs or waits for others, or a message is under way; else
/// - waits for storage, exposed, if a node runs that a tier is charged with; else
/// - is host-bound, if a node runs on its CPU; else
/// - is in a pipeline bubble, if it waits for a message that nobody has sent yet; else it is idle.
struct RankReport {
  int64_t rank = 0;
  Picoseconds finish_ps = 0;
  Picoseconds compute_ps = 0;
  Picoseconds exposed_comm_ps = 0;
  Picoseconds exposed_storage_ps = 0;
  Picoseconds host_ps = 0;
  Picoseconds bubble_ps = 0;
  Picoseconds idle_ps = 0;
  ActorId actor{0};  ///< into SimReport::actors; ranks with the same one were simulated as one
};

/// What ranks that were simulated as one have in common.
struct ActorReport {
  int64_t ranks = 0;  ///< how many
  struct Exposed {
    std::string group;                                ///< "" for messages
    trace::CommType type = trace::CommType::unknown;  ///< unknown for messages
    Picoseconds time_ps = 0;
  };
  std::vector<Exposed> exposed;  ///< adds up to exposed_comm_ps
  device::WorkSum work;          ///< of the nodes off the CPU that ran, of each rank
  std::string device;            ///< where it ran, as far as that is known; else ""
  device::Rates rates;           ///< of that work, by the time from the rank's start to its finish
};

/// Which of the network's fits (net::CollectiveFit) says what a collective takes, and how far it can be trusted.
struct FittedCollective {
  std::string algorithm, protocol;
  double error_percent = -1, worst_percent = -1;  ///< on measurements that were kept out; -1: not said
  // What was measured: numbers of members, and bytes of a whole buffer. Across nodes: members of a node, and nodes.
  std::vector<int64_t> ranks, nodes;
  uint64_t from_bytes = 0, to_bytes = 0;
  bool other_ranks = false, other_bytes = false;  ///< beyond what was measured
  bool from_parts = false;                        ///< across nodes, where it was not measured for any number of them
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
  double algorithm_bytes_per_s = 0;  ///< bytes * count / total, of gathers those of all members: nccl-tests
  double bus_bytes_per_s = 0;        ///< as nccl-tests defines it: comparable with a link's rate
  // Native mode: what it is done with (of several with splits of their own: the first).
  const coll::AlgorithmRow* algorithm = nullptr;
  bool near = false;                        ///< with the members in the order of coll::near_order
  bool by_rule = false;                     ///< as SimInput::collectives says
  std::vector<coll::Candidate> candidates;  ///< what was looked at
  std::optional<FittedCollective> fitted;   ///< where the network's fits say the time; then there is no algorithm
};

/// What a link of a shared network carried.
struct LinkReport {
  std::string from, to;
  uint64_t bytes = 0;
  Picoseconds busy_ps = 0;
};

/// What a tier of storage moved.
struct TierReport {
  std::string name;
  device::TierScope scope = device::TierScope::all;
  int64_t places = 0;       ///< how many there are: one, or nodes or ranks that use it
  uint64_t bytes = 0;       ///< of all of them
  Picoseconds busy_ps = 0;  ///< how long bytes moved at the busiest of them
  struct Kind {
    std::string io_kind;  ///< as nodes have it; "load" or "store" for those that have none
    int64_t count = 0;
    uint64_t bytes = 0;
    Picoseconds total_ps = 0;  ///< sum over the operations, from beginning to end
    double bytes_per_s = 0;    ///< bytes / total: what an operation got
  };
  std::vector<Kind> kinds;  ///< ascending by io_kind
};

/// A piece of the chain of nodes, each waiting for the one before, that ends with the job. Pieces follow each
/// other without gaps.
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

/// A link that collectives and messages ask for more than it has.
struct SharedLink {
  std::string name;          ///< "leaf0 -> spine1", or of which kind where only means are known
  Picoseconds lacks_ps = 0;  ///< how much longer it needs for what it is asked for
  double most = 0;           ///< what it is asked for at a time, of its rate
};

/// What a run in closed form leaves out: collectives and messages that need a link at the same time.
struct Sharing {
  /// How much longer the job takes if all of it waits for the link that is asked for most at that time. What is
  /// hidden behind computation, or waits anyway, adds less.
  Picoseconds longer_ps = 0;
  std::vector<SharedLink> links;  ///< the worst first; one of those that look alike
  size_t count = 0;               ///< of links that lack anything
  double flows = 0;               ///< transfers of all collectives and messages, of all ranks
  double rate_changes = 0;        ///< of those under way, whenever some begin or end; 0 where no link lacks anything
};

/// When the nodes of an actor ran.
struct NodeTimes {
  std::vector<Picoseconds> start, end;
};

struct SimReport {
  Picoseconds makespan_ps = 0;
  std::vector<RankReport> ranks;  ///< ascending
  std::vector<ActorReport> actors;
  std::vector<CollectiveReport> collectives;
  std::vector<std::shared_ptr<const coll::Program>> programs;  ///< that `collectives` refer to
  int64_t distinct_traces = 0;                                 ///< ranks whose traces are equal count once; native mode
  std::vector<ScaledTime> devices;             ///< where compute time came from, if ranks have devices; native mode
  std::vector<LinkReport> links;               ///< those that carried something; none in closed form
  Congestion congestion = Congestion::closed;  ///< what was simulated
  std::string congestion_reason;               ///< why
  Sharing sharing;                             ///< of a run in closed form
  std::vector<TierReport> tiers;               ///< those that were used, as the system has them; native mode
  std::vector<PathPiece> critical_path;        ///< from time 0 to the makespan; native mode
  /// For each of SimInput::other_fabrics, by how much longer the critical path is there: its transfers are priced
  /// there, and all that take part in them come when they did here.
  std::vector<Picoseconds> path_longer;
  bool interrupted = false;  ///< what there was when it was stopped (SimInput::partial); finishes are those so far
  uint64_t events = 0;
  std::vector<NodeTimes> times;  ///< per actor, where they are asked for
  result::Timeline timeline;
  Findings findings;
};

/// Findings: sim.closed.shared, where a run in closed form leaves out that links are shared, and others.
/// Errors: sim.start, sim.trace.defect, sim.time, sim.fabric.small, sim.device.unknown, sim.match (the ranks' traces
/// contradict each other), sim.packets, sim.tier.unknown, sim.tier.bytes, sim.comm.type, sim.comm.peer,
/// sim.collectives.cannot (a rule's algorithm cannot run where the group stands); with
/// Code::stuck sim.stuck (who waits for whom) and sim.stuck.cycle; with Code::interrupted sim.interrupted. Cost: that
/// of fold() and retarget(), and per actor O(events log events); per collective that of coll::run_closed, or of its
/// messages on a shared network.
Result<SimReport> simulate(SimInput input);

/// The same once more. Columns of traces are shared.
SimInput copy_whole(const SimInput& input);

}  // namespace chakra::sim
