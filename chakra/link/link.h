// PyTorch's recordings -> Trace. A host trace (what ran, with its tensors) and a Kineto trace (when it
// ran, and what ran on the device) of one process become one dependency graph, in which every edge
// says from which record or rule it comes. docs/linking.md explains the graph and its rules.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/link/work.h"
#include "chakra/trace/trace.h"

namespace chakra::pytorch {

struct FormatRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
};
inline constexpr std::array<FormatRow, 2> kFormats{{
    {"host", "*.json, packed as .gz, .zst, .tar.gz",
     "PyTorch execution trace (ExecutionTraceObserver), schemas 1.0.1 to 1.1.1; read by link"},
    {"kineto", "*.json, packed as .gz, .zst, .tar.gz",
     "Kineto trace (torch.profiler), NVIDIA, AMD and CPU, 2021 to 2026; read by link"},
}};

/// The schemas of host traces that are known; others are read by the names of their fields.
inline constexpr std::array<std::string_view, 7> kHostSchemas{
    "1.0.1",
    "1.0.2-chakra.0.0.4",
    "1.0.3-chakra.0.0.4",
    "1.0.4-chakra.0.0.4",
    "1.1.0-chakra.0.0.4",
    "1.1.1-chakra.0.0.4",
    "1.1.1-chakra.1.0.0",
};

/// Where the records of a rank are. Without a host trace, the operators are Kineto's; without a Kineto trace
/// there are no times.
struct RankInput {
  int64_t rank = 0;
  bool rank_known = false;  ///< the files or their names say it
  std::string host;         ///< PyTorch execution trace; may be empty
  std::string device;       ///< Kineto trace; may be empty
};

/// What linking found out beside the graph.
struct LinkReport {
  int64_t host_ops = 0;          ///< of the host trace but roots and process groups; Kineto's if alone
  int64_t matched_host_ops = 0;  ///< found in the Kineto trace by record-function id and name
  bool by_names = false;         ///< by the order of names instead: the Kineto trace has no ids
  bool has_host_trace = false;
  int64_t iteration = -1;  ///< the one that was linked, of several; -1: all of the recording
  int64_t cut = -1;        ///< records that LinkOptions::steps left out; -1: they were not given
  int64_t left_out = 0;    ///< damaged records, with LinkOptions::salvage
  int64_t device_ops = 0;
  int64_t attached_device_ops = 0;  ///< to the operator that encloses their launch
  int64_t launched_before = 0;      ///< device operations launched before the recording began
  int64_t host_spins = 0;           ///< waits for what a kernel writes, which no call records
  int64_t unrecorded = 0;           ///< times that device work is assumed which was not recorded
  int64_t unrecorded_ns = 0;        ///< and how long that took
  int64_t inferred_edges = 0;
  std::array<int64_t, trace::kEdgeKinds.size()> edges{};  ///< by kind
  int64_t comm_nodes = 0;
  uint64_t comm_bytes = 0;
  int64_t unattributed_sync_ns = 0;  ///< time in blocking calls for which nothing to wait for was found
  struct Constants {
    int64_t device = 0;
    int64_t launch_ns = 0;  ///< from the end of the call; negative: before it
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
  LinkReport report;
};

struct LinkOptions {
  bool salvage = false;              ///< leave damaged records out, keep what is whole of a file that was cut
  std::optional<int64_t> rank;       ///< overrides what the files say
  std::optional<int64_t> iteration;  ///< of those that match the host trace, from 0
  std::optional<std::pair<int64_t, int64_t>> steps;  ///< ProfilerStep numbers, both included
  /// Only operations launched in these steps tell the constants, so that the other steps judge them.
  std::optional<std::pair<int64_t, int64_t>> fit_steps;
};

/// Links one rank. Cost: O(records log records).
/// Errors: those of read_host_trace and read_kineto; pytorch.host.nothing; pytorch.match.low;
/// pytorch.scope.*; pytorch.pair.rank; pytorch.pair.process.
Result<Linked> link(const RankInput& input, const LinkOptions& options = {});
/// The same from sources that are open already, at least one of them; `input` says the rank.
Result<Linked> link(std::optional<ByteSource> host, std::optional<ByteSource> device, const RankInput& input,
                    const LinkOptions& options);

/// Finds out which of two files is which; both orders are understood. The rank is what the files
/// say, else 0. Ranks of one job share names and ids, so files that say different ranks are refused. Errors:
/// pytorch.pair.kind, pytorch.pair.rank, and those of ByteSource.
Result<RankInput> pair_files(const std::string& first, const std::string& second, bool ranks_may_differ = false);
/// One file: a Kineto trace alone, or a host trace alone.
Result<RankInput> pair_file(const std::string& path);

/// The ranks of a job, from folders with host traces and Kineto traces, or one kind alone; their subfolders count.
struct Pairing {
  std::vector<RankInput> ranks;  ///< ascending
  Findings findings;  ///< pytorch.pair.other_file: files that are neither, with the fact files (one path a line)
};
/// The rank of a file is distributedInfo's, else the number after rank, worker, host, device or kineto
/// in the name, else the number after rank in the name of a folder around it, else the only number in the name or in
/// that of a folder; one pair alone needs none.
/// Errors: pytorch.pair.none, pytorch.pair.pipe, pytorch.pair.rank, pytorch.pair.rank_twice, pytorch.pair.incomplete,
/// and those of ByteSource.
Result<Pairing> pair_folder(const std::string& folder);
Result<Pairing> pair_folders(const std::vector<std::string>& folders);

}  // namespace chakra::pytorch
