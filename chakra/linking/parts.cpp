#include "chakra/linking/parts.h"

#include <fmt/core.h>

#include <filesystem>

#include "chakra/options/options.h"

namespace chakra::linking {
namespace {

/// One finding for each option without effect on a rank.
Findings options_without_effect(const link::LinkOptions& options, const link::LinkingReport& report) {
  Findings findings;
  const auto none = [&](const char* option, const char* why) { findings.push_back(options::no_effect(option, why)); };
  const auto used = [](const link::LinkingReport::Constants& c) { return c.used_launch || c.used_graph || c.used_gap; };
  if (options.iteration && report.iteration < 0) none("--iteration", "only one iteration can be linked");
  if (options.steps && report.cut == 0) none("--steps", "all records are in these steps");
  if (options.fit_steps && std::none_of(report.constants.begin(), report.constants.end(), used))
    none("--fit-steps", "no device operation needs a launch latency or a dispatch gap");
  if (options.salvage && std::none_of(report.findings.begin(), report.findings.end(),
                                      [](const Finding& f) { return f.tag == "pytorch.salvaged"; }))
    none("--salvage", "no record is damaged");
  return findings;
}

}  // namespace

void note_options(link::Linked& linked, const link::LinkOptions& options) {
  for (Finding& finding : options_without_effect(options, linked.report)) {
    finding.rank = linked.trace.rank;
    linked.report.findings.push_back(std::move(finding));
  }
}

LinkedRank linked_rank(const recording::RankInput& input, link::Linked& linked) {
  LinkedRank rank;
  rank.input = input;
  rank.rank = linked.trace.rank;
  rank.nodes = linked.trace.size();
  rank.report = std::move(linked.report);
  return rank;
}

Result<void> self_check(LinkedRank& rank, const trace::Trace& trace) {
  if (auto replay = analyze::self_replay(trace)) {
    rank.replay = std::move(*replay);
    rank.replayed = true;
    Findings& findings = rank.report.findings;
    findings.insert(findings.end(), rank.replay.findings.begin(), rank.replay.findings.end());
  } else if (replay.error().tag != "sim.replay.no_times") {
    return Failure(replay.error());
  }
  return {};
}

recorded::RankFacts facts_of(const trace::Trace& trace, const link::LinkingReport& report) {
  recorded::RankFacts facts = recorded::RankFacts::of(trace);
  facts.iteration = report.iteration;
  facts.window.counted = report.counted_groups;
  facts.window.open = report.open_groups.names;
  facts.window.choices = report.open_groups.choices;
  facts.window.peers = report.open_peers;
  return facts;
}

std::string trace_in(const std::string& folder, int64_t rank) {
  return (std::filesystem::path(folder) / fmt::format("trace.{}.et", rank)).string();
}

void self_check(LinkedJob& job, trace::TraceSet&& traces, std::optional<double> max_error) {
  if (traces.ranks.size() > 1) job.replay = recorded::replay_linked(std::move(traces), job.findings);
  for (const LinkedRank& rank : job.ranks)
    if (rank.replayed) job.replays.push_back({fmt::format("rank {}", rank.rank), rank.replay.error});
  for (recorded::Replayed& all : recorded::replayed_job(job.replay, job.findings))
    job.replays.push_back(std::move(all));
  for (Finding& finding : recorded::max_error_without_effect(max_error, job.replays))
    job.findings.push_back(std::move(finding));
}

}  // namespace chakra::linking
