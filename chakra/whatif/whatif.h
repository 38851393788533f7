// What-if analysis. A change turns a job into another one by a documented rule (kChanges): less time for a kind
// of node, no nodes of a kind, a slower rank, no overlap, more replicas. Conversely, the sensitivity of a job is
// the time saved by 10 % less of each kind of time: along the critical path in one pass, and simulated. A changed
// job has no measurement; callers should report the error of the simulated unchanged job beside the result.
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
#include "chakra/device/device.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"
#include "chakra/whatif/diagnosis.h"  // IWYU pragma: export
#include "chakra/whatif/jitter.h"     // IWYU pragma: export
#include "chakra/work/work.h"

namespace chakra::whatif {

// ---- kinds of time ---------------------------------------------------------------------------------

/// The kinds of time in a job. Every node is of one kind, and the lags of dependencies are a kind.
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

/// Several kinds with one name.
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
/// The kinds of computation, by WorkKind: parts of Kind::compute. All kinds together are Kind::compute. `copy` is a
/// kind of time already, so a copy within a device is `device_copy` here.
inline constexpr auto kWorks = [] {
  std::array<KindRow, work::kWorkKinds.size()> rows{};
  for (size_t w = 0; w < rows.size(); ++w) rows[w] = {work::kWorkKinds[w].name, work::kWorkKinds[w].meaning};
  rows[static_cast<size_t>(WorkKind::copy)].name = "device_copy";
  return rows;
}();
constexpr uint32_t bit(WorkKind work) { return 1u << static_cast<uint32_t>(work); }

/// A kind of time; for computations and collectives also a part of the kind.
struct TimeClass {
  Kind kind = Kind::compute;
  trace::CommType type = trace::CommType::unknown;  ///< of collectives; unknown: all
  std::string group;                  ///< of collectives, a pattern; "*": all. "" is the group of all ranks
  std::optional<WorkKind> work = {};  ///< of computation; absent: all
  auto operator<=>(const TimeClass&) const = default;
};
/// Return "compute", "all_reduce", "all_reduce:dp".
std::string name(const TimeClass& time);

/// The target of a rule: kinds, or computations of a kind, or collectives of a type, or of a type and a group.
struct Selector {
  uint32_t kinds = 0;  ///< bits, by Kind
  uint32_t works = 0;  ///< of compute: bits, by WorkKind; 0: all
  std::optional<trace::CommType> type;
  std::optional<std::string> group;  ///< a pattern (recorded::matches_pattern)
};
Selector selector_of(const TimeClass& time);
/// Parse a name of kKinds, kWorks or kSums, the name of a collective in
/// small letters ("all_reduce"), or "collective", followed by ":GROUP"
/// for the collectives of one group. Errors: whatif.kind.unknown.
Result<Selector> parse_selector(std::string_view text);

/// Return the kind of time of a piece of the critical path; nullopt if no rule
/// can change the piece (the start of a rank, the initial condition of a stream).
std::optional<TimeClass> class_of(const sim::PathPiece& piece);

/// The nodes and the time that a rule reached.
struct Reached {
  int64_t nodes = 0;        ///< or dependencies with a lag
  Picoseconds time_ps = 0;  ///< time before the change, as far as known from the trace or the recording
  Findings findings = {};   ///< about the changed job
  bool again = false;       ///< the job was generated again
};

/// Multiply the selected time by `factor`: durations, lags, recorded transfers, and communication that the
/// network prices, each round of it. A collective or message counts if one of its nodes is selected. Tiers of
/// storage move at 1 / factor of their rate. Requires a job of traces (not by classes). Cost: O(nodes + edges).
Reached scale(sim::SimInput& input, const Selector& selector, double factor);
/// The same with a separate factor, next(), for each node, lag, collective and message; what tiers move has that many
/// times the bytes, so that their latency stays.
Reached scale_each(sim::SimInput& input, const Selector& selector, const std::function<double()>& next);
/// The same with one factor for nodes whose name matches the pattern (recorded::matches_pattern).
Reached scale_named(sim::SimInput& input, std::string_view pattern, double factor);
/// Remove the time of the selected nodes. No rank waits for another rank at a removed node; the gap of
/// a stream between a removed node and the next one is removed, too. The same requirement and cost.
Reached remove(sim::SimInput& input, const Selector& selector);

// ---- changes ---------------------------------------------------------------------------------------

struct Recipe;

struct ChangeRow {
  std::string_view name;         ///< the option is --name
  std::string_view value;        ///< as in --help
  std::string_view description;  ///< the effect
  std::string_view again;        ///< the effect on a generated job that is generated again; "": such jobs are as others
  std::string_view assumes;      ///< of all other jobs; "": they are rejected
  /// Errors: whatif.rule.nothing if the rule changes no part of the job, and the errors of an invalid value.
  Result<Reached> (*apply)(std::string_view value, sim::SimInput& input);
  bool once = false;  ///< a second use would contradict the first
  /// Set the option in what generates a job. False: the generator has no such option or value. Errors as for `apply`.
  Result<bool> (*generate)(std::string_view value, Recipe& recipe) = nullptr;
  std::optional<device::StepOption> option = {};  ///< of steps that is changed; absent: none that published steps vary
  std::string assumptions() const;                ///< of all jobs
};
/// In the order of application.
extern const std::span<const ChangeRow> kChanges;

// ---- sensitivity -----------------------------------------------------------------------------------

/// The reduction of each kind of time in the sensitivity.
inline constexpr double kLess = 0.10;
/// The difference of slope and simulation, relative to the larger one, above which the path counts as changed.
inline constexpr double kPathChanges = 0.20;

struct Sensitivity {
  struct Row {
    std::string name;               ///< "compute", "all_reduce:dp", "time per byte of dimension 0 (Ring)"
    std::optional<TimeClass> time;  ///< absent: a class of links
    Picoseconds on_path_ps = 0;  ///< of the critical path; of links: in proportion to the latency, or the time per byte
    double slope_ps = 0;         ///< time saved by kLess, by the slope: kLess x on_path_ps
    Picoseconds saved_ps = 0;    ///< the same, simulated
    bool path_changes = false;   ///< slope and simulation differ by more than kPathChanges, and 0.1 % of the total
  };
  Picoseconds total_ps = 0;
  std::vector<Row> rows;  ///< by saved_ps, largest first
};

/// Return the kinds of time on the critical path of a run of `input`, with the time on the path:
/// slopes, if the run had SimInput::decisive_path. Cost: O(pieces + nodes of the ranks on the path).
std::vector<Sensitivity::Row> path_classes(const sim::SimInput& input, const sim::SimReport& report);

/// Return rows of classes of links, if the network prices transfers. Slopes come
/// from pricing the critical path's transfers again. Errors: those of simulate.
Result<std::vector<Sensitivity::Row>> link_rows(const sim::SimInput& input);

/// Return the sensitivity, given `before`, a run of `input`. Classes of links, if the network prices
/// transfers: 10 % less latency, 10 % less time per byte. Errors: those of simulate. Cost: a
/// simulation for each kind of time on the critical path, two for each class of links, and one more.
Result<Sensitivity> sensitivity(const sim::SimInput& input, const sim::SimReport& before);

/// A change that was applied.
struct Applied {
  const ChangeRow* row = nullptr;
  std::string value;
  Reached reached;
};

/// Give all communication the recorded time, for a run without a network; groups are left with the ranks of the job.
/// Findings: whatif.rank.missing, whatif.transfer.own. Errors: whatif.network.
Result<void> give_transfers(sim::SimInput& input, Findings& findings);
/// Give the target device of the system the stack that the job was generated with, unless a stack was `asked` for (by
/// name or file), which the device has. A generated job gets the host times of the stack: between passes of serving,
/// and of a step that has a host. Findings: sim.device.stack, sim.device.stack_keys, sim.device.host. Errors: those of
/// device::use_stack.
Result<void> use_stack_of_job(const std::string& asked, sim::SimInput& input, Findings& findings);
/// Facts from the recipe of a generated job. The device is that of the system, else that of the recipe.
struct RecipeFacts {
  std::string device;                                 ///< "": ranks have several, none, or its file is not at hand
  double device_bytes = 0;                            ///< its memory; 0: unknown
  std::optional<bool> fsdp;                           ///< of a step: as for device::memory_at_most()
  const device::PublishedSteps* published = nullptr;  ///< steps like this one; null: there are none
  /// Complete the memory of a step: the recipe decides the margin, and the device where the run has none. Finding,
  /// unless there is one: sim.device.memory.
  void settle(std::optional<sim::MemoryUse>& use, Findings& findings) const;
};
/// Return nullopt for other jobs. Cost: that of reading the file of the recipe's device, if the system has no device.
std::optional<RecipeFacts> recipe_facts(const trace::Trace& generated, const device::System& system);
/// The time per output token of a generated serving job under load, and the time to its first token, by
/// docs/reference/serving.md.
struct Served {
  int64_t sequences = 0, tokens = 0;       ///< at a time; of an answer
  Picoseconds step_ps = 0, prompt_ps = 0;  ///< a step in the middle of the answers; one prompt
  double prompts = 0;                      ///< of other sequences, that a step waits for
  const device::PublishedSteps *token = nullptr, *first_token = nullptr;  ///< null: none are like it
  Picoseconds token_ps() const;
  Picoseconds first_token_ps() const;
};
/// Ranges of a changed step, by the published steps of its class. Null where none are like it.
struct Likely {
  const device::PublishedSteps *before = nullptr, *after = nullptr;
  const device::PublishedPairs* pairs = nullptr;      ///< of steps that differ in the changed options
  std::optional<Served> served_before, served_after;  ///< of serving; then the others are of times per output token
  std::string device_before, device_after;            ///< names, of generated jobs
  /// Complete them: a step that rules have changed is like no published one, and pairs differ in known options only.
  /// `other_links`: of the networks. Requires jobs with ranks.
  void settle(const std::vector<Applied>& changes, const sim::SimInput& unchanged, const sim::SimInput& changed,
              bool other_links);
};
/// Simulate both passes of a job of `chakra gen serve` with prompts of one length and decode steps, all on the same
/// ranks. Absent for all other jobs, for edited ones, and where a pass cannot run. Cost: that of generating the job,
/// and of two passes, whatever the number of steps.
std::optional<Served> served(const sim::SimInput& input);
/// Give nodes their times on the devices of the system now: rules change these times, not the measured ones. Returns
/// how times came to the devices. Errors: as for sim::retarget.
Result<std::vector<sim::ScaledTime>> bring_to_devices(sim::SimInput& input, Findings& findings);
/// Report collectives that another algorithm does after a change of links. Findings: whatif.algorithm.changed.
void compare_algorithms(const sim::SimReport& before, const sim::SimReport& now, Findings& findings);

/// Apply the changes that the generator of the job has options for, all at once: the job is generated again with them.
/// `changes` has values by row of kChanges. Returns the applied changes; none if the job was edited.
/// Call it before anything else changes the job. Errors: those of the values and of the generator.
Result<std::vector<Applied>> generate_again(const std::vector<std::vector<std::string>>& changes, sim::SimInput& input);

// Parts of answers; null: the part is absent.
/// Add `before_published.`, `after_published.` and `change_published.`, or, of serving, `before_serving.` and
/// `after_serving.` with these ranges; each is absent without published measurements.
void add_likely(const Likely& likely, Picoseconds before_ps, Picoseconds after_ps, answer::Builder& to);
/// `serving.`, or another prefix; null: absent.
void add_served(const std::string& prefix, const Served* served, answer::Builder& to);
void add_changes(const std::vector<Applied>& changes, answer::Builder& to);
void add_sensitivity(const Sensitivity* sensitivity, answer::Builder& to);
void add_noise(const Noise* noise, answer::Builder& to);

}  // namespace chakra::whatif
