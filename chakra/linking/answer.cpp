// The answer of linking a job.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/job/parts.h"
#include "chakra/linking/link.h"
#include "chakra/work/work.h"

namespace chakra::linking {
namespace {

using answer::by_key;
using answer::ByKey;
using answer::column_if;
using answer::kTextRows;
using answer::time_column;

using analyze::Clock;
using analyze::CollectiveTimes;
using analyze::SelfReplay;
using analyze::Straggler;
using answer::column;
using answer::Missing;
using answer::rows;
using answer::Unit;
using link::LinkingReport;
using link::WorkReport;

// ---- a rank --------------------------------------------------------------------------------------------------

template <auto Member>
constexpr auto linking(std::string_view key, Unit unit, std::string_view meaning) {
  return column<LinkedRank>(key, unit, meaning, [](const LinkedRank& r) { return r.report.*Member; });
}
template <auto Member>
constexpr auto work(std::string_view key, Unit unit, std::string_view meaning) {
  return column<LinkedRank>(key, unit, meaning, [](const LinkedRank& r) { return r.report.work.*Member; });
}
template <auto Member>
constexpr auto replayed(std::string_view key, Unit unit, std::string_view meaning) {
  return column<LinkedRank>(key, unit, meaning, [](const LinkedRank& r) { return r.replay.*Member; });
}
template <auto Member>
constexpr auto replay_time(std::string_view key, std::string_view meaning) {
  return also_ns(replayed<Member>(key, Unit::ps, meaning));
}
template <std::string recording::RankInput::*Member>
constexpr auto recorded(std::string_view key, std::string_view meaning) {
  return column_if<LinkedRank>([](const LinkedRank& r) { return !(r.input.*Member).empty(); }, key, Unit::none, meaning,
                               [](const LinkedRank& r) { return r.input.*Member; }, Missing::null);
}
constexpr auto kOfBoth = [](const LinkedRank& r) { return r.report.has_host_trace && !r.input.device.empty(); };
constexpr std::array kRankRows{
    column<&LinkedRank::rank>("rank", Unit::id, "the rank"),
    recorded<&recording::RankInput::host>("host", "the PyTorch execution trace"),
    recorded<&recording::RankInput::device>("device", "the Kineto trace, or the profile of XLA"),
    column<&LinkedRank::output>("output", Unit::none, "the linked trace"),
    column<&LinkedRank::nodes>("nodes", Unit::count, "its nodes"),
    column_if<LinkedRank>([](const LinkedRank& r) { return r.events > 0; }, "events", Unit::count,
                          "executed instructions of XLA, one node each", [](const LinkedRank& r) { return r.events; },
                          Missing::left_out),
    linking<&LinkingReport::host_ops>("host_ops", Unit::count, "operators of the host"),
    column_if<LinkedRank>(
        kOfBoth, "matched_host_ops", Unit::count, "those that both recordings have",
        [](const LinkedRank& r) { return r.report.matched_host_ops; }, Missing::null),
    column_if<LinkedRank>(
        kOfBoth, "matched_by", Unit::none, "ids or names",
        [](const LinkedRank& r) { return std::string(r.report.by_names ? "names" : "ids"); }, Missing::null),
    column_if<LinkedRank>([](const LinkedRank& r) { return r.report.iteration >= 0; }, "iteration", Unit::id,
                          "which was linked, of several that match the host trace",
                          [](const LinkedRank& r) { return r.report.iteration; }, Missing::null),
    linking<&LinkingReport::device_ops>("device_ops", Unit::count, "operations of devices"),
    linking<&LinkingReport::attached_device_ops>("attached_device_ops", Unit::count,
                                                 "those that the operator around their launch is known of"),
    linking<&LinkingReport::launched_before>("launched_before", Unit::count,
                                             "those launched before the recording began"),
    rows<LinkedRank>("edges", "dependencies by kind"),
    linking<&LinkingReport::inferred_edges>("inferred_edges", Unit::count,
                                            "dependencies that a rule says, not a record"),
    rows<LinkedRank>("constants_ns", "constants that were used, with @DEVICE where there are several devices"),
    rows<LinkedRank>("constants", "the same, and where each comes from",
                     [](const LinkedRank& r) { return !r.report.constants.empty(); }),
    linking<&LinkingReport::comm_nodes>("comm_nodes", Unit::count, "nodes that communicate"),
    linking<&LinkingReport::comm_bytes>("comm_bytes", Unit::bytes, "what they move"),
    work<&WorkReport::operations>("work.operations", Unit::flop, "operations of operators whose work is known"),
    work<&WorkReport::bytes>("work.bytes", Unit::bytes, "bytes that they read and write"),
    work<&WorkReport::operators>("work.operators", Unit::count, "operators whose work is known"),
    work<&WorkReport::estimated>("work.estimated", Unit::count, "of those, by an assumption"),
    work<&WorkReport::impossible>("work.impossible", Unit::count, "operators with shapes that cannot be"),
    work<&WorkReport::device_ns>("work.device_ns", Unit::ns, "of device operations but communication"),
    work<&WorkReport::communication_ns>("work.communication_ns", Unit::ns, "of kernels that communicate"),
    work<&WorkReport::covered_ns>("work.covered_ns", Unit::ns, "of device_ns, where the work is known"),
    work<&WorkReport::aten_ns>("work.aten_with_shapes_ns", Unit::ns, "launched under aten operators with shapes"),
    work<&WorkReport::aten_covered_ns>("work.aten_covered_ns", Unit::ns, "of those, where the work is known"),
    rows<LinkedRank>("work.kinds", "known work by kind"),
    rows<LinkedRank>("work.rest", "device time without known work, longest first"),
    replay_time<&SelfReplay::measured_ps>("measured_ps", "from its first start to its last end"),
    replay_time<&SelfReplay::replayed_ps>("replayed_ps", "the same, replayed: the longest path"),
    replayed<&SelfReplay::error>("self_check_error", Unit::share, "replayed / measured - 1"),
    replayed<&SelfReplay::error>("self_replay_error", Unit::share, "old name of self_check_error, for one release"),
    rows<LinkedRank>("steps", "its training steps"),
    replayed<&SelfReplay::median_error>("step_error.median", Unit::share,
                                        "median of the errors of steps, without sign"),
    replayed<&SelfReplay::worst_error>("step_error.worst", Unit::share, "the error that is largest without its sign"),
    replay_time<&SelfReplay::half_device_ps>("half_device_ps", "replayed with half of all device time"),
    replay_time<&SelfReplay::half_recorded_ps>("half_recorded_ps",
                                               "the same, but device work that was not recorded takes its time"),
    linking<&LinkingReport::unrecorded>("unrecorded.count", Unit::count,
                                        "how often device work is assumed that was not recorded"),
    linking<&LinkingReport::unrecorded_ns>("unrecorded.time_ns", Unit::ns, "how long it took"),
    rows<LinkedRank>("critical_path", "shares of the longest path"),
    replayed<&SelfReplay::informative>("informative", Unit::none, "devices and constants make 10 % of that path"),
    replay_time<&SelfReplay::start_error_median_ps>("device_start_error_ps.median",
                                                    "by how much starts on devices are off, median"),
    replay_time<&SelfReplay::start_error_max_ps>("device_start_error_ps.max", "the same, largest"),
    replayed<&SelfReplay::stream_stall_share>("stream_stall_share", Unit::share,
                                              "of the time of all steps: a stream stood still without a reason"),
    linking<&LinkingReport::unattributed_sync_ns>("unattributed_sync_ns", Unit::ns,
                                                  "time in blocking calls that nothing to wait for was found for"),
    rows<LinkedRank>("findings", "findings about it"),
    rows<LinkedRank>("explanation", "why a node has its edges (--explain), by lines",
                     [](const LinkedRank& r) { return !r.explanation.empty(); })};

using Kind = std::pair<std::string, WorkReport::Kind>;
constexpr std::array kKinds{
    column<Kind>("", Unit::none, "the kind", [](const Kind& kind) { return kind.first; }),
    column<Kind>("operations", Unit::flop, "its operations", [](const Kind& kind) { return kind.second.operations; }),
    column<Kind>("bytes", Unit::bytes, "what it reads and writes", [](const Kind& kind) { return kind.second.bytes; }),
    column<Kind>("device_ns", Unit::ns, "its device time", [](const Kind& kind) { return kind.second.device_ns; })};
constexpr std::array kRest{column<&WorkReport::Rest::name>("name", Unit::none, "the operator or kernel"),
                           column<&WorkReport::Rest::reason>("reason", Unit::none, "why its work is not known"),
                           column<&WorkReport::Rest::device_ns>("device_ns", Unit::ns, "its device time"),
                           column<&WorkReport::Rest::count>("count", Unit::count, "how many")};
constexpr std::array kSteps{column<&SelfReplay::Step::name>("name", Unit::none, "the name of the step"),
                            time_column<&SelfReplay::Step::measured_ps>("measured_ps", "its measured time"),
                            column<&SelfReplay::Step::error>("error", Unit::share, "replayed / measured - 1")};

struct UsedConstant {
  std::string name;
  std::optional<int64_t> device;
  int64_t ns = 0, samples = 0;
};
constexpr std::array kUsedConstants{
    column<&UsedConstant::name>("constant", Unit::none, "its name"),
    column<&UsedConstant::device>("device", Unit::id, "the device, where there are several", Missing::left_out),
    column<&UsedConstant::ns>("time_ns", Unit::ns, "its value"),
    column<&UsedConstant::samples>("samples", Unit::count, "how often it was measured; 0: the documented default")};

ByKey<int64_t> edges(const LinkedRank& rank) {
  ByKey<int64_t> kinds;
  for (size_t i = 0; i < rank.report.edges.size(); ++i)
    if (rank.report.edges[i] > 0) kinds.emplace_back(trace::kEdgeKinds[i].name, rank.report.edges[i]);
  return kinds;
}
std::vector<UsedConstant> constants(const LinkedRank& rank) {
  std::vector<UsedConstant> used;
  for (const auto& row : rank.report.constants) {
    const auto device = rank.report.constants.size() > 1 ? std::optional(row.device) : std::nullopt;
    if (row.used_launch) used.push_back({"launch latency", device, row.launch_ns, row.launch_samples});
    if (row.used_graph) used.push_back({"graph launch latency", device, row.graph_launch_ns, row.graph_samples});
    if (row.used_gap) used.push_back({"dispatch gap", device, row.dispatch_gap_ns, row.gap_samples});
  }
  return used;
}
ByKey<int64_t> constants_by_key(const LinkedRank& rank) {
  ByKey<int64_t> used;
  for (const UsedConstant& constant : constants(rank)) {
    std::string key = constant.name + (constant.device ? fmt::format("@{}", *constant.device) : "");
    std::replace(key.begin(), key.end(), ' ', '_');
    used.emplace_back(std::move(key), constant.ns);
  }
  return used;
}
std::vector<std::string> explanation(const LinkedRank& rank) {
  std::vector<std::string> lines;
  for (std::string_view text = rank.explanation; !text.empty();) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}
std::vector<Kind> kinds_of_work(const LinkedRank& rank) {
  std::vector<Kind> kinds;
  for (size_t i = 0; i < rank.report.work.kinds.size(); ++i)
    if (const WorkReport::Kind& kind = rank.report.work.kinds[i]; kind.bytes > 0 || kind.operations > 0)
      kinds.emplace_back(work::kWorkKinds[i].name, kind);
  return kinds;
}
ByKey<double> critical_path(const LinkedRank& rank) {
  ByKey<double> parts;
  for (size_t i = 0; i < rank.replay.critical_path.size(); ++i)
    parts.emplace_back(analyze::kPathParts[i], rank.replay.critical_path[i]);
  return parts;
}

void add_ranks(const std::vector<LinkedRank>& ranks, answer::Builder& to) {
  to.table("ranks", "ranks, ascending", ranks, kRankRows);
  to.children("ranks", "edges", ranks, edges, by_key<int64_t>(Unit::count));
  to.children("ranks", "constants_ns", ranks, constants_by_key, by_key<int64_t>(Unit::ns));
  to.children("ranks", "constants", ranks, constants, kUsedConstants);
  to.children("ranks", "work.kinds", ranks, kinds_of_work, kKinds);
  to.children(
      "ranks", "work.rest", ranks, [](const LinkedRank& r) -> const auto& { return r.report.work.rest; }, kRest);
  to.children(
      "ranks", "steps", ranks, [](const LinkedRank& r) -> const auto& { return r.replay.steps; }, kSteps);
  to.children("ranks", "critical_path", ranks, critical_path, by_key<double>(Unit::share));
  to.child_findings(
      "ranks", "findings", ranks, [](const LinkedRank& r) -> const auto& { return r.report.findings; });
  to.children("ranks", "explanation", ranks, explanation, kTextRows);
}

// ---- several ranks -------------------------------------------------------------------------------------------

template <auto Member>
constexpr auto of_known(std::string_view key, Unit unit, std::string_view meaning) {
  return column_if<Clock>([](const Clock& c) { return c.known; }, key, unit, meaning,
                          [](const Clock& c) { return c.*Member; }, Missing::null);
}
constexpr std::array kClocks{
    column<&Clock::rank>("rank", Unit::id, "the rank"),
    of_known<&Clock::reference>("reference", Unit::id, "the rank against whose clock; null: not known"),
    of_known<&Clock::offset_ns>("offset_ns", Unit::ns, "by how much its clock is ahead"),
    of_known<&Clock::drift_ppm>("drift_ppm", Unit::none, "by how much it runs faster, in millionths"),
    of_known<&Clock::uncertainty_ns>("uncertainty_ns", Unit::ns, "how far ends of collectives still differ"),
    column_if<Clock>([](const Clock& c) { return !c.known; }, "unknown", Unit::none, "why its clock is not known",
                     [](const Clock& c) {
                       return std::string(c.unaligned ? "which part of the job it recorded is not known"
                                                      : "no collective with another rank, nor messages both ways");
                     }),
    column<&Clock::collectives>("collectives", Unit::count, "collectives that it was told from"),
    column<&Clock::messages>("messages", Unit::count, "messages that it was told from")};
constexpr std::array kStragglers{
    column<&Straggler::rank>("rank", Unit::id, "the rank"),
    column<&Straggler::last_at>("last_at", Unit::count,
                                "collectives to which it came last, alone or with at most half of the members"),
    column<&Straggler::waited_ns>("waited_ns", Unit::ns, "how long the members that were not late waited for it")};
constexpr std::array kTimedCollectives{
    column<&CollectiveTimes::group>("group", Unit::none, "the process group"),
    column<CollectiveTimes>("type", Unit::none, "the operation", [](const auto& c) { return trace::name(c.type); }),
    column<&CollectiveTimes::bytes>("bytes", Unit::bytes, "of one"),
    column<&CollectiveTimes::members>("members", Unit::count, "ranks of the group"),
    column<&CollectiveTimes::count>("count", Unit::count, "how many there are"),
    column<&CollectiveTimes::wait_ns>("wait_ns", Unit::ns, "from the start of a member to the last one, mean, summed"),
    column<&CollectiveTimes::transfer_ns>("transfer_ns", Unit::ns, "from the last start to the last end, summed")};

}  // namespace

answer::Answer answer_of(const LinkedJob& linked) {
  answer::Builder to("link");
  add_ranks(linked.ranks, to);
  job::add_programs(linked.programs, to);
  const std::string job = "job.";
  const bool several = linked.ranks.size() > 1;
  to.findings(job + "mismatches", "communication of several ranks that does not match", linked.mismatches, several);
  to.table(job + "clock", "clocks of ranks", linked.times.clocks, kClocks, several);
  to.table(job + "stragglers", "ranks that others waited for, the most first", linked.times.stragglers, kStragglers,
           several);
  to.table(job + "collectives", "collectives by group, type and size", linked.times.collectives, kTimedCollectives,
           several);
  recorded::add_measured(job + "measured.", linked.replay, to, true);
  return std::move(to).finish(linked.findings);
}

}  // namespace chakra::linking
