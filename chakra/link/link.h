// Recording -> Trace. The operators with tensors, their times, and the device operations
// become one dependency graph of a process, in which every edge names its record or
// rule. docs/explanation/linking.md explains the graph and the rules.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/link/from_recording.h"
#include "chakra/recording/recording.h"
#include "chakra/trace/trace.h"
#include "chakra/work/work.h"

namespace chakra::link {

/// The name for the group of a monitored barrier if one rank's recording does not determine the group.
inline constexpr std::string_view kOpenBarrier = "monitored barrier";
/// Communication whose group one rank's recording does not determine. Each of its threads has a unique name as group.
struct OpenGroups {
  std::vector<std::string> names;                 ///< of the threads, in the trace
  std::vector<std::vector<std::string>> choices;  ///< each: a group for each of the names
};

/// Results of linking about work. Times are those of device operations, in nanoseconds.
struct WorkReport {
  struct Kind {
    uint64_t operations = 0, bytes = 0;
    int64_t device_ns = 0;
  };
  /// Device time without known work, by operator or kernel.
  struct Rest {
    std::string name;
    std::string_view reason;
    int64_t device_ns = 0;
    int64_t count = 0;
  };
  uint64_t operations = 0, bytes = 0;
  int64_t device_ns = 0;         ///< of all device operations but communication
  int64_t communication_ns = 0;  ///< of kernels that communicate
  int64_t covered_ns = 0;        ///< of operations with known work
  int64_t aten_ns = 0;           ///< launched under aten:: operators with recorded tensor shapes
  int64_t aten_covered_ns = 0;
  int64_t operators = 0;                            ///< with known work
  int64_t estimated = 0;                            ///< of these, by an assumption
  int64_t impossible = 0;                           ///< operators with impossible shapes
  std::array<Kind, work::kWorkKinds.size()> kinds;  ///< by WorkKind
  std::vector<Rest> rest;                           ///< longest first
};

/// A part of the Kineto trace that the host trace fits.
struct Iteration {
  int64_t duration_ns = 0;
  int64_t other_shapes = 0;  ///< operators with inputs of other sizes than in the host trace
  bool whole = true;         ///< operators on threads of a pool match, too; else it cannot be linked
};

/// Results of linking beside the graph.
struct LinkingReport {
  int64_t host_ops = 0;          ///< of the host trace except roots and process groups; Kineto's without host trace
  int64_t matched_host_ops = 0;  ///< found in the Kineto trace by record-function id and name
  bool by_names = false;         ///< by the order of names instead: the Kineto trace has no ids
  bool has_host_trace = false;
  int64_t iteration = -1;             ///< the linked iteration, of several; -1: all of the recording
  std::vector<Iteration> iterations;  ///< of several, those in which the calling threads match
  int64_t cut = -1;                   ///< records that LinkOptions::steps left out; -1: no steps given
  int64_t left_out = 0;               ///< damaged records, with LinkOptions::salvage
  int64_t device_ops = 0;
  int64_t attached_device_ops = 0;  ///< to the operator that encloses their launch
  int64_t launched_before = 0;      ///< device operations launched before the recording began
  int64_t host_spins = 0;           ///< waits for values that a kernel writes, which no call records
  int64_t unrecorded = 0;           ///< number of times that unrecorded device work is assumed
  int64_t unrecorded_ns = 0;        ///< total time of that work
  int64_t inferred_edges = 0;
  std::array<int64_t, trace::kEdgeKinds.size()> edges{};  ///< by kind
  int64_t comm_nodes = 0;
  uint64_t comm_bytes = 0;
  int64_t comm_without_size = 0, comm_without_group = 0;  ///< nodes that pytorch.comm.*_unknown report
  std::vector<std::string> counted_groups;  ///< groups with collectives numbered from the beginning of the recording
  OpenGroups open_groups;
  std::map<uint64_t, std::vector<int64_t>> open_peers;  ///< messages with several possible peers, by their node's id
  int64_t unattributed_sync_ns = 0;                     ///< time in blocking calls without any known dependency
  struct Constants {
    int64_t device = 0;
    int64_t launch_ns = 0;  ///< from the end of the call; negative: before the end
    int64_t graph_launch_ns = 0, dispatch_gap_ns = 0;
    int64_t launch_samples = 0, graph_samples = 0, gap_samples = 0;  ///< 0: a documented default
    bool used_launch = false, used_graph = false, used_gap = false;
  };
  std::vector<Constants> constants;  ///< one row per device
  WorkReport work;
  Findings findings;
};

struct Linked {
  trace::Trace trace;
  LinkingReport report;
};

struct LinkOptions {
  bool salvage = false;              ///< leave damaged records out, keep the intact part of a truncated file
  std::optional<int64_t> rank;       ///< overrides the rank in the files
  std::optional<int64_t> iteration;  ///< among those that match the host trace, from 0
  std::optional<std::pair<int64_t, int64_t>> steps;  ///< ProfilerStep numbers, both included
  /// Only operations launched in these steps determine the constants, so that the other steps can test the constants.
  std::optional<std::pair<int64_t, int64_t>> fit_steps;
};

/// Return the iteration of median duration among those that are whole and have the fewest other shapes; of two in the
/// middle, the shorter one. Requires an iteration. Cost: O(n log n).
size_t choose_iteration(const std::vector<Iteration>& iterations);

/// Read and link the recordings of one rank. Cost: O(records log records).
/// Errors: those of read_recording; pytorch.match.*; pytorch.scope.*; pytorch.pair.rank; pytorch.pair.process;
/// pytorch.kineto.time.
Result<Linked> link_rank(const RankInput& input, const LinkOptions& options = {});
/// Link sources that are open already, at least one of the two; `input` contains the rank.
Result<Linked> link_rank(std::optional<ByteSource> host, std::optional<ByteSource> device, const RankInput& input,
                         const LinkOptions& options);

}  // namespace chakra::link
