// Answers from traces: what bounds the time, what overlaps, why nothing runs, what is moved, who holds others up, what
// two jobs differ in. Each analysis has a row in kAnalyses and gives Tables; whatever divides a whole into parts is
// checked to add up to it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/analyze/order.h"        // IWYU pragma: export
#include "chakra/analyze/self_replay.h"  // IWYU pragma: export
#include "chakra/analyze/steps.h"        // IWYU pragma: export
#include "chakra/analyze/timing.h"       // IWYU pragma: export
#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

// ---- when nodes ran -----------------------------------------------------------------------------------

/// Start and end of each node: as measured, or, where no start was measured, as early as the dependencies allow. In a
/// measured trace a node without a start takes no time, at the moment at which its dependencies have ended.
struct Schedule {
  bool measured = false;
  std::vector<Picoseconds> start, end;
  Picoseconds first = 0, last = 0;  ///< of all nodes
};
/// Errors: analyze.cycle. Findings: analyze.not_measured, .partly_measured, .no_time, .time. Cost: O(nodes + edges).
Result<Schedule> schedule_of(const trace::Trace& trace, Findings& findings);

/// What a moment is spent on.
enum class Bound : uint8_t {
  compute,  ///< a compute node that is not on the CPU
  collective,
  message,
  memory,             ///< a load or store; a copy on a device
  unrecorded,         ///< device work that was not recorded
  host,               ///< a node on the CPU
  host_gap,           ///< host time that no operator accounts for
  sync_remainder,     ///< a blocking call after what it waits for has ended
  initial_condition,  ///< work before the recording began
  lag,                ///< a constant of the device: launch latency, dispatch gap
  unexplained,        ///< all that is waited for has ended, and yet the node does not begin
  start,              ///< before the first node of the chain
};
inline constexpr std::array<std::string_view, 12> kBounds{
    "compute",  "collective",     "message",           "memory", "unrecorded",  "host",
    "host_gap", "sync_remainder", "initial_condition", "lag",    "unexplained", "start"};
/// Of a node, of a piece of communication that of the whole; metadata is host.
Bound bound_of(const trace::Trace& trace, trace::NodeId node);

// ---- the critical path ----------------------------------------------------------------------------------

/// From the schedule's first start to its last end, without gaps: the chain that ends last, each node waiting for the
/// one before. Where measured times overlap along it, the later node has the time.
struct CriticalPath {
  struct Piece {
    Bound bound = Bound::start;
    trace::EdgeKind edge = trace::EdgeKind::given;  ///< of lag and unexplained: by which `node` waits
    trace::NodeId node = trace::kNoNode;            ///< lag, unexplained, start: that begins when it ends
    Picoseconds start_ps = 0, end_ps = 0;
  };
  std::vector<Piece> pieces;                              ///< ascending
  std::array<int64_t, trace::kEdgeKinds.size()> edges{};  ///< of the chain, by kind
  Picoseconds longest_ps = 0;  ///< the longest path over dependencies with durations and lags: what a replay takes
  Picoseconds length_ps() const { return pieces.empty() ? 0 : pieces.back().end_ps - pieces.front().start_ps; }
};
/// Requires the trace's own schedule. Errors: analyze.sum. Cost: O(nodes + edges).
Result<CriticalPath> critical_path(const trace::Trace& trace, const Schedule& schedule);

// ---- where the time goes -----------------------------------------------------------------------------

/// The time from the schedule's first start to its last end, each moment counted once. A trace without device nodes
/// computes on its CPU.
struct TimeBudget {
  Picoseconds total = 0;
  Picoseconds compute_alone = 0, overlapped = 0;  ///< compute runs, without and with communication
  Picoseconds exposed = 0;                        ///< communication and no compute
  Picoseconds memory = 0;                         ///< else: memory nodes, copies on devices
  Picoseconds unrecorded = 0;                     ///< else: device work that was not recorded
  Picoseconds host = 0, sync_remainder = 0, host_gap = 0, initial = 0;  ///< else, in this order
  struct Idle {
    bool lag = false;   ///< a lag of such an edge; false: nothing that is recorded explains it
    bool waits = true;  ///< false: the next node waits for nothing
    trace::EdgeKind edge = trace::EdgeKind::given;  ///< by which the next node to begin waits
    int64_t count = 0;
    Picoseconds time = 0;
  };
  std::vector<Idle> idle;  ///< else, by cause
  struct Exposed {
    trace::CommType type = trace::CommType::unknown;  ///< of a collective
    std::string group;                                ///< of a collective
    bool message = false;
    Picoseconds time = 0;
  };
  std::vector<Exposed> exposed_by;  ///< adds up to `exposed`: each moment is that of the communication that began first
};
/// Requires the trace's own schedule. Errors: analyze.sum. Cost: O(nodes log nodes).
Result<TimeBudget> time_budget(const trace::Trace& trace, const Schedule& schedule);

// ---- what is moved ------------------------------------------------------------------------------------

/// Collectives of one group and type whose members put in, or get out, different numbers of bytes.
struct Imbalance {
  std::string group;
  trace::CommType type = trace::CommType::unknown;
  bool received = false;       ///< bytes that come out (comm_out_bytes) rather than go in (comm_size)
  std::vector<int64_t> ranks;  ///< members
  int64_t collectives = 0;     ///< of the group and type, the balanced ones too
  struct Row {
    uint32_t index = 0;           ///< position among the collectives of its group
    std::vector<uint64_t> bytes;  ///< parallel to ranks
    double ratio = 1;             ///< largest / mean
  };
  std::vector<Row> rows;             ///< unbalanced ones
  std::vector<uint64_t> rank_bytes;  ///< parallel to ranks, over all collectives
  double worst = 1;                  ///< largest ratio of a row
};
/// Worst first. Cost: O(members of all collectives).
std::vector<Imbalance> imbalances(const trace::TraceSet& job, const match::Matching& matching);

/// Bytes of tensors live over time, by device: a storage is taken to be live from the first node that names it (from
/// the beginning, where that node reads it) to the last. Storages are told apart by their ids, which PyTorch takes from
/// addresses: one that is freed and taken again counts as one.
struct LiveBytes {
  bool known = false;  ///< false: the trace names no tensors
  struct Device {
    std::string name;
    int64_t storages = 0;
    uint64_t peak = 0;
    Picoseconds peak_ps = 0;
    trace::NodeId peak_node = trace::kNoNode;  ///< with whose start the peak is reached
    uint64_t at_start = 0;
    std::vector<std::pair<Picoseconds, uint64_t>> points;  ///< from here on; ascending
  };
  std::vector<Device> devices;  ///< by name
};
/// It reads the tensors: of a trace read without texts nothing is known. Requires the trace's own schedule.
/// Cost: O(text of tensors).
LiveBytes live_bytes(const trace::Trace& trace, const Schedule& schedule);

// ---- clocks, waiting, stragglers --------------------------------------------------------------------------

/// The communication of a trace with its measured times (an operator's pieces as one), in order, and
/// nothing else: small enough to keep for every rank of a job. Cost: O(nodes + edges).
trace::Trace communication_of(const trace::Trace& trace);

/// A rank's clock shows t + offset + drift * (t - zero) when the reference rank's shows t, with the first collective's
/// end as zero. Reference is the lowest rank of those that collectives, or messages both ways, connect.
struct Clock {
  int64_t rank = 0;
  int64_t reference = 0;
  bool known = true;       ///< false: it shares no collective with any other rank, nor messages both ways
  bool unaligned = false;  ///< not known because nothing tells which part of the job it recorded
  double offset_ns = 0;
  double drift_ppm = 0;       ///< 0 where the collectives do not span enough time to tell
  double uncertainty_ns = 0;  ///< how far a collective's ends still differ, 1.48 times the median deviation; no less
                              ///< than 100, or than the microsecond in which all times are written
  int64_t collectives = 0;    ///< that it was told from
  int64_t messages = 0;       ///< or these: then uncertain by half of what no message ends before it begins leaves open
  double start_ns = 0;        ///< when the rank's times count from (Trace::base_ns) by the reference's clock, since the
                              ///< first of all ranks; where `known` is false by its own clock
};

/// A rank that others waited for.
struct Straggler {
  int64_t rank = 0;
  int64_t last_at = 0;   ///< collectives to which it came last
  double waited_ns = 0;  ///< how long the ranks that came before it waited, waits at the same time counted once
};

/// All collectives of one group, type and size, clocks aligned.
struct CollectiveTimes {
  std::string group;
  trace::CommType type = trace::CommType::unknown;
  uint64_t bytes = 0;
  uint32_t members = 0;
  int64_t count = 0;
  double wait_ns = 0;      ///< from each member's start to the last one's, mean over members, summed up
  double transfer_ns = 0;  ///< from the last start to the last end, summed up
};

struct JobTimes {
  std::vector<Clock> clocks;          ///< one per rank, ascending
  std::vector<Straggler> stragglers;  ///< most waited for first; without those nobody waited for
  std::vector<CollectiveTimes> collectives;
};

/// Collectives without measured times are left out. Requires the job's own matching.
/// Clocks: a robust line (least squares, what deviates by more than three times the spread left out)
/// through the differences of ends, rank by rank along the pairs that share most collectives.
JobTimes job_times(const trace::TraceSet& job, const match::Matching& matching);

/// A collective and the group it is in.
struct BarrierGroup {
  trace::RankIndex rank;
  trace::NodeId node;
  std::string group;
};
/// The groups of monitored barriers in the group `open`, which stands for one that the rank's own recording leaves
/// open: the first rank of the right one leaves its barrier at the same time. Those that several fit are not in the
/// list. Cost: O(open barriers x groups x communication).
std::vector<BarrierGroup> find_barrier_groups(const trace::TraceSet& job, const JobTimes& times, std::string_view open);

/// Names the senders (Comm::src) of receives from any source, by the sizes, tags and times of messages that have no
/// other receive. Returns of how many; the others keep none. Findings: analyze.source.unknown.
/// Cost: O(messages x ranks with such receives).
int64_t find_sources(trace::TraceSet& job, const match::Matching& matching, const JobTimes& times, Findings& findings);

// ---- the analyses as tables ------------------------------------------------------------------------------

/// analyze.time if sums of times, of a rank or of all (-1), reached kLongestPs, where they stay.
void find_long_times(Picoseconds sum, int64_t rank, Findings& findings);

/// Which device operations the tables of kernels, operators, launches and queues count. The last two leave out what was
/// launched later, and what has no recorded launch, if the trace has at least two ProfilerSteps.
enum class LaunchScope : uint8_t {
  all,
  steps,             ///< launched before the last ProfilerStep ends
  before_last_step,  ///< launched before it begins: HolisticTraceAnalysis' default
};
inline constexpr std::array<std::string_view, 3> kLaunchScopes{"all", "steps", "before-last-step"};

struct DeviceWorks;

struct Job {
  const trace::TraceSet& traces;  ///< read with texts
  std::vector<Schedule> schedules;
  match::Matching matching;
  LaunchScope scope = LaunchScope::all;
  bool details = true;  ///< false: tables of `detail` that have a row for each operation may stay empty
  std::shared_ptr<DeviceWorks> devices;  ///< what `device_work` has collected, so that tables share it
};
/// Errors: those of schedule_of.
Result<Job> prepare(const trace::TraceSet& traces, const match::GroupTable& groups, Findings& findings);

using result::NamedTable;

struct AnalysisRow {
  std::string_view name;
  std::string_view description;
  Result<std::vector<NamedTable>> (*run)(const Job& job, Findings& findings);
};
extern const std::span<const AnalysisRow> kAnalyses;
/// All tables that they give, in their order, without rows.
std::vector<NamedTable> empty_tables();

/// Findings that say the same of several ranks as one of none. Cost: O(findings log findings).
void join_ranks(Findings& findings);

/// What the parts of a whole must do. Errors: analyze.sum.
Result<void> check_sum(std::string_view what, uint64_t whole, std::span<const uint64_t> parts);

// ---- two jobs --------------------------------------------------------------------------------------------

/// What two jobs have of one kind of node: an operator (CPU), a kernel (device), a collective or message, by name, or
/// by type, group size and bytes. Pieces of an operator count with it, gaps of the host as [chakra|host_gap].
struct DiffRow {
  enum class Kind : uint8_t { op, kernel, comm } kind = Kind::op;
  std::string name;
  int64_t count_a = 0, count_b = 0;
  Picoseconds time_a = 0, time_b = 0;  ///< own time of all of them
  uint64_t bytes_a = 0, bytes_b = 0;   ///< of communication
  int64_t added = 0, removed = 0;      ///< nodes that are there only in b, only in a: the same kind of node may also
  int64_t changed = 0;                 ///< be there with other shapes, types or dependencies
};
inline constexpr std::array<std::string_view, 3> kDiffKinds{"operator", "kernel", "communication"};
struct Diff {
  std::vector<DiffRow> rows;  ///< largest difference of time first, then by kind and name
  int64_t nodes_a = 0, nodes_b = 0, edges_a = 0, edges_b = 0;
  int64_t added = 0, removed = 0, changed = 0;  ///< nodes
  int64_t edges_added = 0, edges_removed = 0;   ///< dependencies, by the kinds of node at their ends
  Picoseconds time_a = 0, time_b = 0;           ///< own times of all nodes
  Picoseconds span_a = 0, span_b = 0;           ///< longest rank, first start to last end
};
/// Errors: analyze.cycle, analyze.sum. Cost: O(nodes + edges) log kinds.
Result<Diff> diff(const trace::TraceSet& a, const trace::TraceSet& b, Findings& findings);

/// What exceeds a relative difference: the span, the structure (nodes added, removed and changed, of a's nodes), and
/// each row that has at least `least_share` of the time of either job, or other bytes. In words.
std::vector<std::string> exceeding(const Diff& diff, double threshold, double least_share);

}  // namespace chakra::analyze
