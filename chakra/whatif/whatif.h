// What if? A change makes a job another one by a documented rule (kChanges): less time for a kind of node, no nodes of
// a kind, a slower rank, no overlap, more replicas. The sensitivity of a job says the other way round what 10 % less of
// each kind of time would save: along the critical path in one pass, and simulated. No measurement stands behind a
// changed job; how far the simulation of the unchanged one is off is for the caller to say beside it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"
#include "chakra/whatif/jitter.h"  // IWYU pragma: export
#include "chakra/work/work.h"

namespace chakra::whatif {

// ---- kinds of time ---------------------------------------------------------------------------------

/// What time of a job is spent on. Every node is of one kind, and the lags of dependencies are a kind.
enum class Kind : uint8_t {
  compute,
  copy,
  unrecorded,
  host,
  host_gap,
  sync_remainder,
  lag,
  memory,
  storage,
  message,
  collective
};
struct KindRow {
  std::string_view name, description;
};
inline constexpr std::array<KindRow, 11> kKinds{{
    {"compute", "kernels of devices; of a rank that has none, the work of its CPU"},
    {"copy", "copies between host and device"},
    {"unrecorded", "device work that the recording lacks"},
    {"host", "operations of the CPU, on a rank that has a device"},
    {"host_gap", "time of a CPU thread between operations"},
    {"sync_remainder", "the rest of a blocking call after the device operation that it waited for"},
    {"lag", "launch latencies, and gaps between operations of a stream"},
    {"memory", "loads and stores that no tier of storage is charged with"},
    {"storage", "loads and stores of tiers of storage"},
    {"message", "sends and receives, from the time when both ends have come"},
    {"collective", "collectives, from the time when the last member has come"},
}};

/// Several kinds under one name.
struct SumRow {
  std::string_view name, description;
  uint32_t kinds;  ///< bits, by Kind
};
constexpr uint32_t bit(Kind kind) { return 1u << static_cast<uint32_t>(kind); }
inline constexpr std::array<SumRow, 3> kSums{{
    {"device", "compute, copy and unrecorded", bit(Kind::compute) | bit(Kind::copy) | bit(Kind::unrecorded)},
    {"cpu", "host, host_gap and sync_remainder", bit(Kind::host) | bit(Kind::host_gap) | bit(Kind::sync_remainder)},
    {"communication", "message and collective", bit(Kind::message) | bit(Kind::collective)},
}};

using work::WorkKind;
/// What is computed, by WorkKind: kinds of Kind::compute, which all of them together are. `copy` is a kind of time
/// already, so a copy within a device is `device_copy` here.
inline constexpr auto kWorks = [] {
  std::array<KindRow, work::kWorkKinds.size()> rows{};
  for (size_t w = 0; w < rows.size(); ++w) rows[w] = {work::kWorkKinds[w].name, work::kWorkKinds[w].meaning};
  rows[static_cast<size_t>(WorkKind::copy)].name = "device_copy";
  return rows;
}();
constexpr uint32_t bit(WorkKind work) { return 1u << static_cast<uint32_t>(work); }

/// A kind of time; of computation and collectives also which ones.
struct TimeClass {
  Kind kind = Kind::compute;
  trace::CommType type = trace::CommType::unknown;  ///< of collectives; unknown: all
  std::string group;                  ///< of collectives, a pattern; "*": all. "" is the group of all ranks
  std::optional<WorkKind> work = {};  ///< of computation; none: all
  auto operator<=>(const TimeClass&) const = default;
};
/// "compute", "all_reduce", "all_reduce:dp".
std::string name(const TimeClass& time);

/// What a rule is for: kinds, or computations of a kind, or collectives of a type, or of a type and a group.
struct Selector {
  uint32_t kinds = 0;  ///< bits, by Kind
  uint32_t works = 0;  ///< of compute: bits, by WorkKind; 0: all
  std::optional<trace::CommType> type;
  std::optional<std::string> group;  ///< a pattern (sim::matches_pattern)
};
Selector selector_of(const TimeClass& time);
/// A name of kKinds, kWorks or kSums, the name of a collective in small letters ("all_reduce"), or "collective",
/// followed by
/// ":GROUP" for those of one group. Errors: whatif.kind.unknown.
Result<Selector> parse_selector(std::string_view text);

/// What the time of a piece of the critical path is; nothing for what no rule can change (the start of a rank, the
/// initial condition of a stream).
std::optional<TimeClass> class_of(const sim::PathPiece& piece);

/// What a rule reached.
struct Reached {
  int64_t nodes = 0;        ///< or dependencies with a lag
  Picoseconds time_ps = 0;  ///< their time before, as far as the trace or the recording says it
  Findings findings = {};   ///< about the changed job
};

/// The selected time takes `factor` of itself: durations, lags, recorded transfers, and communication that the network
/// prices, each round of it. A collective or message counts where one of its nodes is selected. Tiers of storage move
/// at 1 / factor of their rate. Requires a job of traces (not by classes). Cost: O(nodes + edges).
Reached scale(sim::SimInput& input, const Selector& selector, double factor);
/// The same with a factor of its own, next(), for each node, lag, collective and message, and one for all tiers.
Reached scale_each(sim::SimInput& input, const Selector& selector, const std::function<double()>& next);
/// The same for nodes whose name matches the pattern (sim::matches_pattern).
Reached scale_named(sim::SimInput& input, std::string_view pattern, double factor);
/// The selected nodes take no time, and no rank waits for another at them; what a stream leaves between a node that is
/// gone and the next one is gone, too. The same requirement and cost.
Reached remove(sim::SimInput& input, const Selector& selector);

// ---- changes ---------------------------------------------------------------------------------------

struct ChangeRow {
  std::string_view name;         ///< the option is --name
  std::string_view value;        ///< as --help calls it
  std::string_view description;  ///< what it does
  std::string_view assumes;
  /// Errors: those of the value, and those of a rule that the job has nothing for (whatif.rule.nothing).
  Result<Reached> (*apply)(std::string_view value, sim::SimInput& input);
  bool once = false;  ///< a second one would contradict the first
};
/// In the order in which they are applied.
extern const std::span<const ChangeRow> kChanges;

// ---- sensitivity -----------------------------------------------------------------------------------

/// How much less of a kind of time the sensitivity asks for.
inline constexpr double kLess = 0.10;
/// By how much slope and simulation may differ, of the larger one, before the path is said to change.
inline constexpr double kPathChanges = 0.20;

struct Sensitivity {
  struct Row {
    std::string name;               ///< "compute", "all_reduce:dp", "time per byte of dimension 0 (Ring)"
    std::optional<TimeClass> time;  ///< none: a class of links
    Picoseconds on_path_ps = 0;  ///< of the critical path; of links: in proportion to their latency, or time per byte
    double slope_ps = 0;         ///< what kLess saves by the slope: kLess x on_path_ps
    Picoseconds saved_ps = 0;    ///< the same, simulated
    bool path_changes = false;   ///< the two differ by more than kPathChanges, and by more than 0.1 % of the total
  };
  Picoseconds total_ps = 0;
  std::vector<Row> rows;  ///< by saved_ps, the most first
};

/// The kinds of time of the critical path of a run of `input`, with their time on it: slopes, if the run had
/// SimInput::decisive_path. Cost: O(pieces + nodes of the ranks on the path).
std::vector<Sensitivity::Row> path_classes(const sim::SimInput& input, const sim::SimReport& report);

/// Rows of classes of links, where the network prices transfers; the slopes by pricing the critical path's transfers
/// again. Errors: those of simulate.
Result<std::vector<Sensitivity::Row>> link_rows(const sim::SimInput& input);

/// Of `before`, a run of `input`. Classes of links where the network prices transfers: 10 % less latency, 10 % less
/// time per byte. Errors: those of simulate. Cost: a simulation for each kind of time that the critical path has, two
/// for each class of links, and one more.
Result<Sensitivity> sensitivity(const sim::SimInput& input, const sim::SimReport& before);

/// The same job again; what only one run is for (timeline, progress, waits) is left out. Cost: O(ranks); the columns of
/// the traces are shared.
sim::SimInput copy_of(const sim::SimInput& input);

}  // namespace chakra::whatif
