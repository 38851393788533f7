#include "chakra/job/link_parts.h"

#include <fmt/core.h>

#include <filesystem>

#include "chakra/job/no_effect.h"

namespace chakra::job {

void note_options(link::Linked& linked, const link::LinkOptions& options) {
  for (Finding& finding : link_options_without_effect(options, linked.report)) {
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

}  // namespace chakra::job
