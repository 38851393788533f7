// Analyses of traces: bottlenecks, overlap, causes of idle time, traffic, stragglers, differences between two jobs.
// Each analysis has a row in kAnalyses and returns Tables. If an analysis divides a whole into parts, the sum is
// verified.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/analyze/diagnosis.h"    // IWYU pragma: export
#include "chakra/analyze/order.h"        // IWYU pragma: export
#include "chakra/analyze/self_replay.h"  // IWYU pragma: export
#include "chakra/analyze/step_change.h"  // IWYU pragma: export
#include "chakra/analyze/steps.h"        // IWYU pragma: export
#include "chakra/analyze/summary.h"      // IWYU pragma: export
#include "chakra/analyze/timing.h"       // IWYU pragma: export
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

// ---- when nodes ran -----------------------------------------------------------------------------------

/// Start and end of each node: as measured, or (without any measured start) as early as the dependencies allow. In a
/// measured trace, a node without a start takes no time, at the moment when the last dependency ends.
struct Schedule {
  bool measured = false;
  std::vector<Picoseconds> start, end;
  Picoseconds first = 0, last = 0;  ///< of all nodes
};
/// Errors: analyze.cycle. Findings: analyze.not_measured, .partly_measured, .no_time, .time. Cost: O(nodes + edges).
Result<Schedule> schedule_of(const trace::Trace& trace, Findings& findings);

/// The cause that a moment is assigned to.
enum class Bound : uint8_t {
  compute,  ///< a compute node that is not on the CPU
  collective,
  message,
  memory,             ///< a load or store; a copy on a device
  unrecorded,         ///< device work that was not recorded
  host,               ///< a node on the CPU
  host_gap,           ///< host time outside of operators
  sync_remainder,     ///< a blocking call after the end of the awaited work
  initial_condition,  ///< work before the recording began
  lag,                ///< a constant of the device: launch latency, dispatch gap
  unexplained,        ///< all dependencies have ended, but the node has not started
  start,              ///< before the first node of the chain
};
inline constexpr std::array<std::string_view, 12> kBounds{
    "compute",  "collective",     "message",           "memory", "unrecorded",  "host",
    "host_gap", "sync_remainder", "initial_condition", "lag",    "unexplained", "start"};
/// Return the cause for a node. A piece of communication has the cause of the whole; metadata counts as host.
Bound bound_of(const trace::Trace& trace, trace::NodeId node);

// ---- the critical path ----------------------------------------------------------------------------------

/// The path from the first start to the last end of the schedule, without gaps: the chain of dependencies that ends
/// last. Where measured times overlap along the chain, the later node gets the time.
struct CriticalPath {
  struct Piece {
    Bound bound = Bound::start;
    trace::EdgeKind edge = trace::EdgeKind::given;  ///< for lag and unexplained: the dependency of `node`
    trace::NodeId node = trace::kNoNode;            ///< for lag, unexplained, start: the node that begins next
    Picoseconds start_ps = 0, end_ps = 0;
  };
  std::vector<Piece> pieces;                              ///< ascending
  std::array<int64_t, trace::kEdgeKinds.size()> edges{};  ///< of the chain, by kind
  Picoseconds longest_ps = 0;  ///< longest path over dependencies with durations and lags: the time of a self-check
  Picoseconds length_ps() const { return pieces.empty() ? 0 : pieces.back().end_ps - pieces.front().start_ps; }
};
/// Compute the path. Requires the schedule of this trace. Errors: analyze.sum. Cost: O(nodes + edges).
Result<CriticalPath> critical_path(const trace::Trace& trace, const Schedule& schedule);

// ---- where the time goes -----------------------------------------------------------------------------

/// The time from the first start to the last end of the schedule, each moment counted once. In a trace without device
/// nodes, CPU nodes count as compute.
struct TimeBudget {
  Picoseconds total = 0;
  Picoseconds compute_alone = 0, overlapped = 0;  ///< compute runs, without and with communication
  Picoseconds exposed = 0;                        ///< communication without compute
  Picoseconds memory = 0;                         ///< otherwise: memory nodes, copies on devices
  Picoseconds unrecorded = 0;                     ///< otherwise: device work that was not recorded
  Picoseconds host = 0, sync_remainder = 0, host_gap = 0, initial = 0;  ///< otherwise, in this order
  struct Idle {
    bool lag = false;   ///< the cause is a lag of `edge`; false: no recorded cause explains the idle time
    bool waits = true;  ///< false: the next node has no dependency
    trace::EdgeKind edge = trace::EdgeKind::given;  ///< dependency of the next node to begin
    int64_t count = 0;
    Picoseconds time = 0;
  };
  std::vector<Idle> idle;  ///< otherwise, by cause
  struct Exposed {
    trace::CommType type = trace::CommType::unknown;  ///< for a collective
    std::string group;                                ///< for a collective
    bool message = false;
    Picoseconds time = 0;
  };
  /// Their sum is `exposed`. A moment of several communications belongs to the one that the next computation waits for:
  /// the chain of its dependencies that end last has it. Otherwise it belongs to the one that ends last before that
  /// computation begins, or else began first.
  std::vector<Exposed> exposed_by;
};
/// Compute the budget. Requires the schedule of this trace. Errors: analyze.sum. Cost: O(nodes log nodes).
Result<TimeBudget> time_budget(const trace::Trace& trace, const Schedule& schedule);

// ---- traffic ------------------------------------------------------------------------------------------

/// Collectives of one group and type where members contribute, or receive, different numbers of bytes.
struct Imbalance {
  std::string group;
  trace::CommType type = trace::CommType::unknown;
  bool received = false;       ///< output bytes (comm_out_bytes) instead of input bytes (comm_size)
  std::vector<int64_t> ranks;  ///< members
  int64_t collectives = 0;     ///< of the group and type, including balanced collectives
  struct Row {
    uint32_t index = 0;           ///< position among the collectives of the group
    std::vector<uint64_t> bytes;  ///< parallel to ranks
    double ratio = 1;             ///< largest / mean
  };
  std::vector<Row> rows;             ///< unbalanced collectives
  std::vector<uint64_t> rank_bytes;  ///< parallel to ranks, over all collectives
  double worst = 1;                  ///< largest ratio of a row
};
/// Find imbalances, worst first. Cost: O(members of all collectives).
std::vector<Imbalance> imbalances(const trace::TraceSet& job, const match::Matching& matching);

/// Live bytes of tensors over time, by device. A storage counts as live from the first node that uses the storage (from
/// the beginning, if that node reads) to the last. Storages are identified by ids, which PyTorch derives from
/// addresses: a reused address counts as one storage. Tensors with strides span their storage only.
struct LiveBytes {
  bool known = false;  ///< false: the trace has no tensors
  struct Device {
    std::string name;
    int64_t storages = 0;
    uint64_t peak = 0;
    Picoseconds peak_ps = 0;
    trace::NodeId peak_node = trace::kNoNode;  ///< the peak begins with the start of this node
    uint64_t at_start = 0;
    std::vector<std::pair<Picoseconds, uint64_t>> points;  ///< live bytes from this time on; ascending
  };
  std::vector<Device> devices;  ///< by name
};
/// Compute the live bytes from the texts of tensors: unknown if the trace was read without texts. Requires the schedule
/// of this trace. Cost: O(text of tensors).
LiveBytes live_bytes(const trace::Trace& trace, const Schedule& schedule);

// ---- clocks, waiting, stragglers --------------------------------------------------------------------------

/// Return the communication of a trace with measured times (pieces of an operator merged), in order, and no other
/// nodes: small enough to keep for every rank of a job. Cost: O(nodes + edges).
trace::Trace communication_of(const trace::Trace& trace);

/// A clock shows t + offset + drift * (t - zero) when the reference clock shows t; zero is the end of the first
/// collective. Reference: the lowest rank among ranks connected by collectives, or by messages in both directions.
struct Clock {
  int64_t rank = 0;
  int64_t reference = 0;
  bool known = true;       ///< false: no collective with another rank, and no messages in both directions
  bool unaligned = false;  ///< unknown because the recorded part of the job could not be identified
  double offset_ns = 0;
  double drift_ppm = 0;       ///< 0 if the collectives span too little time
  double uncertainty_ns = 0;  ///< remaining difference of collective ends: 1.48 times the median deviation; at least
                              ///< 100, or the microsecond if all times are written in microseconds
  int64_t collectives = 0;    ///< number of collectives used
  int64_t messages = 0;       ///< or messages used: uncertainty is then half of the range that causality permits
  double start_ns = 0;        ///< origin of the rank's times (Trace::base_ns) on the clock of the reference, relative
                              ///< to the first of all ranks; if not `known`, on the clock of the rank
};

/// A rank that delayed other ranks.
struct Straggler {
  int64_t rank = 0;
  int64_t last_at = 0;   ///< collectives where the rank arrived after the longest gap between arrivals, with at most
                         ///< half of the members
  double waited_ns = 0;  ///< time from before these gaps until this rank arrived; simultaneous waits counted once
};

/// All collectives of one group, type and size, with aligned clocks.
struct CollectiveTimes {
  std::string group;
  trace::CommType type = trace::CommType::unknown;
  uint64_t bytes = 0;
  uint32_t members = 0;
  int64_t count = 0;
  double wait_ns = 0;      ///< from the start of each member to the last start, mean over members, summed up
  double transfer_ns = 0;  ///< from the last start to the last end, summed up
};

struct JobTimes {
  std::vector<Clock> clocks;          ///< one per rank, ascending
  std::vector<Straggler> stragglers;  ///< sorted by caused waiting, largest first; only ranks with waiting
  std::vector<CollectiveTimes> collectives;
};

/// Align clocks and measure waiting. Requires the matching of this job. Collectives without measured times are ignored.
/// A clock is a robust line through differences of ends (least squares; deviations above three times the spread are
/// ignored), rank by rank along the pairs with the most common collectives.
JobTimes job_times(const trace::TraceSet& job, const match::Matching& matching);

/// A collective and the group of the collective.
struct BarrierGroup {
  trace::RankIndex rank;
  trace::NodeId node;
  std::string group;
};
/// Find the groups of monitored barriers in the group `open`, a placeholder for a group that the recording of the rank
/// leaves open. Criterion: the first rank of the right group leaves the barrier at the same time. Ambiguous barriers
/// are not in the list. Cost: O(open barriers x groups x communication).
std::vector<BarrierGroup> find_barrier_groups(const trace::TraceSet& job, const JobTimes& times, std::string_view open);

/// Set the senders (Comm::src) of receives from any source, from the sizes, tags and times of messages without another
/// receive. Returns the number of senders set; the other receives stay unknown. Findings: analyze.source.unknown.
/// Cost: O(messages x ranks with such receives).
int64_t find_sources(trace::TraceSet& job, const match::Matching& matching, const JobTimes& times, Findings& findings);

// ---- the analyses as tables ------------------------------------------------------------------------------

/// Report analyze.time if sums of times, of a rank or of all (-1), saturated at kLongestPs.
void find_long_times(Picoseconds sum, int64_t rank, Findings& findings);

/// Device operations that the tables of kernels, operators, launches and queues count. The last two values exclude
/// later launches and operations without a recorded launch, if the trace has at least two ProfilerSteps.
enum class LaunchScope : uint8_t {
  all,
  steps,             ///< launched before the end of the last ProfilerStep
  before_last_step,  ///< launched before the start of the last ProfilerStep: default of HolisticTraceAnalysis
};
inline constexpr std::array<std::string_view, 3> kLaunchScopes{"all", "steps", "before-last-step"};

struct DeviceWorks;

struct Job {
  const trace::TraceSet& traces;  ///< read with texts
  std::vector<Schedule> schedules;
  match::Matching matching;
  LaunchScope scope = LaunchScope::all;
  bool details = true;  ///< false: tables of `detail` that have one row for each operation may remain empty
  std::shared_ptr<DeviceWorks> devices;  ///< cache of `device_work`, shared by tables
  std::shared_ptr<std::map<std::string_view, std::vector<result::NamedTable>>> made = {};  ///< tables by analysis
};
/// Prepare the analyses. Errors: as for schedule_of.
Result<Job> prepare(const trace::TraceSet& traces, const match::GroupTable& groups, Findings& findings);

using result::NamedTable;

struct AnalysisRow {
  std::string_view name;
  std::string_view description;
  Result<std::vector<NamedTable>> (*run)(const Job& job, Findings& findings);
  bool compares_ranks = false;  ///< its numbers need the same communication on all ranks: findings_of_matching()
};
extern const std::span<const AnalysisRow> kAnalyses;
inline constexpr std::string_view kDiagnosis = "diagnosis";  ///< the analysis that reads the tables of others
/// Return the findings of the matching that bear on the numbers, and what the analyses leave out because of them.
/// Findings: analyze.doubtful.
Findings findings_of_matching(const match::Matching& matching);
/// Run the analyses of kDiagnosisSources, unless the job has their tables, keep their tables in the job, and read their
/// numbers.
Result<DiagnosisNumbers> diagnosis_numbers(const Job& job, Findings& findings);
/// Run an analysis, or move its tables out of the job. AnalysisRow::run may be called by several threads, but for the
/// diagnosis.
Result<std::vector<NamedTable>> run_analysis(const Job& job, const AnalysisRow& row, Findings& findings);
/// Return all tables of the analyses, in order, without rows.
std::vector<NamedTable> empty_tables();

/// Merge findings with the same text on several ranks into one finding without a rank. Cost: O(findings log findings).
void join_ranks(Findings& findings);

/// Check that the parts add up to the whole. Errors: analyze.sum.
Result<void> check_sum(std::string_view what, uint64_t whole, std::span<const uint64_t> parts);

// ---- two jobs --------------------------------------------------------------------------------------------

/// Comparison of one kind of node in two jobs: an operator (CPU), a kernel (device), a collective or message, by name,
/// or by type, group size and bytes. Pieces count as part of the operator, gaps of the host as [chakra|host_gap].
struct DiffRow {
  enum class Kind : uint8_t { op, kernel, comm } kind = Kind::op;
  std::string name;
  int64_t count_a = 0, count_b = 0;
  Picoseconds time_a = 0, time_b = 0;  ///< exclusive time, summed up
  uint64_t bytes_a = 0, bytes_b = 0;   ///< of communication
  int64_t added = 0, removed = 0;      ///< difference of counts: surplus in b, surplus in a
  int64_t changed = 0;                 ///< nodes with other shapes, types or dependencies
};
inline constexpr std::array<std::string_view, 3> kDiffKinds{"operator", "kernel", "communication"};
struct Diff {
  std::vector<DiffRow> rows;  ///< largest difference of time first, then by kind and name
  int64_t nodes_a = 0, nodes_b = 0, edges_a = 0, edges_b = 0;
  int64_t added = 0, removed = 0, changed = 0;  ///< nodes
  int64_t edges_added = 0, edges_removed = 0;   ///< dependencies, by the kinds of the two nodes
  Picoseconds time_a = 0, time_b = 0;           ///< exclusive times of all nodes
  Picoseconds span_a = 0, span_b = 0;           ///< longest rank, first start to last end
};
/// Compare two jobs. Errors: analyze.cycle, analyze.sum. Cost: O(nodes + edges) log kinds.
Result<Diff> diff(const trace::TraceSet& a, const trace::TraceSet& b, Findings& findings);

/// Return differences above a relative threshold, as text. Covers the span, the structure (added, removed and changed
/// nodes, relative to a), and each row that has at least `least_share` of the time of either job, or different bytes.
std::vector<std::string> exceeding(const Diff& diff, double threshold, double least_share);

/// Add the totals of both jobs; add the table `rows`. Cost: O(rows).
void add_totals(const Diff& diff, answer::Builder& to);
void add_rows(const Diff& diff, answer::Builder& to);

}  // namespace chakra::analyze
