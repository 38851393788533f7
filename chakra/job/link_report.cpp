// What people read of a linked job.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/job/link.h"
#include "chakra/job/report_parts.h"

namespace chakra::job {
namespace {

using result::Report;

constexpr size_t kStepsShown = 6;
constexpr size_t kStragglersShown = 4;

std::string signed_percent(double share) { return fmt::format("{:+.2f} %", share * 100); }
std::string show_ns(double ns) { return show_time(std::llround(ns * static_cast<double>(kPsPerNs))); }

void add_fact(Report& report, std::string label, std::string text) {
  report.parts.emplace_back(Report::Fact{std::move(label), std::move(text)});
}

/// Text between two others, which are not there at first.
void append(std::string& text, const std::string& more) { text += (text.empty() ? "" : ", ") + more; }

std::string host_ops(const link::LinkingReport& r, bool has_device) {
  if (!has_device) return fmt::format("{}, from the host trace alone", show_count(r.host_ops));
  if (!r.has_host_trace) return fmt::format("{}, from the Kineto trace alone", show_count(r.host_ops));
  return fmt::format(
      "{} of {} matched by {} ({})", show_count(r.matched_host_ops), show_count(r.host_ops),
      r.by_names ? "the order of names" : "id and name",
      show_percent(r.host_ops ? static_cast<double>(r.matched_host_ops) / static_cast<double>(r.host_ops) : 1));
}

std::string device_ops(const link::LinkingReport& r) {
  return fmt::format(
      "{} of {} attached to the operator that launched them{}", show_count(r.attached_device_ops),
      show_count(r.device_ops),
      r.launched_before ? fmt::format("; {} launched before the recording", show_count(r.launched_before)) : "");
}

std::string graph(const LinkedRank& rank) {
  const link::LinkingReport& r = rank.report;
  std::string edges;
  int64_t total = 0;
  for (size_t i = 0; i < r.edges.size(); ++i) {
    total += r.edges[i];
    if (r.edges[i] > 0) append(edges, fmt::format("{} {}", trace::kEdgeKinds[i].name, show_count(r.edges[i])));
  }
  return fmt::format("{} nodes, {} edges: {}; {} inferred", show_count(rank.nodes), show_count(total), edges,
                     show_count(r.inferred_edges));
}

/// A fact for each device.
void add_constants(const link::LinkingReport& r, Report& report) {
  for (const auto& row : r.constants) {
    std::string text;
    const auto constant = [&](const char* what, bool used, int64_t ns, int64_t samples) {
      if (used)
        append(text, fmt::format("{} {} ({})", what, show_time(ns * kPsPerNs),
                                 samples ? fmt::format("{} samples", show_count(samples)) : std::string("default")));
    };
    constant("launch latency", row.used_launch, row.launch_ns, row.launch_samples);
    constant("graph launch latency", row.used_graph, row.graph_launch_ns, row.graph_samples);
    constant("dispatch gap", row.used_gap, row.dispatch_gap_ns, row.gap_samples);
    add_fact(report, r.constants.size() > 1 ? fmt::format("device {}", row.device) : "constants", std::move(text));
  }
}

/// What came out of the recording.
void add_linking(const LinkedRank& rank, Report& report) {
  const link::LinkingReport& r = rank.report;
  add_fact(report, "host ops", host_ops(r, !rank.input.device.empty()));
  if (r.device_ops > 0) add_fact(report, "device ops", device_ops(r));
  add_fact(report, "graph", graph(rank));
  add_constants(r, report);
  if (r.unrecorded > 0)
    add_fact(report, "unrecorded",
             fmt::format("{} times device work that the recording lacks, {} in all", show_count(r.unrecorded),
                         show_time(r.unrecorded_ns * kPsPerNs)));
  if (r.comm_nodes > 0)
    add_fact(report, "communication",
             fmt::format("{} nodes, {}", show_count(r.comm_nodes), show_bytes(static_cast<double>(r.comm_bytes))));
  const char* label = "work";
  for (std::string& line : work_lines(r.work)) add_fact(report, std::exchange(label, ""), std::move(line));
}

void add_steps(const analyze::SelfReplay& s, Report& report) {
  const size_t shown = std::min(s.steps.size(), kStepsShown);
  for (size_t i = 0; i < shown; ++i)
    add_fact(report, "",
             fmt::format("{}: {}, error {}", s.steps[i].name, show_time(s.steps[i].measured_ps),
                         signed_percent(s.steps[i].error)));
  if (shown < s.steps.size())
    add_fact(report, "",
             fmt::format("... and {} more steps; median error {}, worst {}", s.steps.size() - shown,
                         show_percent(s.median_error), signed_percent(s.worst_error)));
}

/// How the replay treats device operations.
void add_device_replay(const link::LinkingReport& r, const analyze::SelfReplay& s, Report& report) {
  const auto halved = [&](Picoseconds span) {
    const double change = s.replayed_ps ? static_cast<double>(span) / static_cast<double>(s.replayed_ps) - 1 : 0;
    return fmt::format("{} ({})", show_time(span), signed_percent(change));
  };
  add_fact(report, "half as long",
           fmt::format("device operations would give {}{}", halved(s.half_device_ps),
                       r.unrecorded > 0 ? "; those that were recorded alone " + halved(s.half_recorded_ps) : ""));
  add_fact(report, "device starts",
           fmt::format("off by {} (median), {} (most); worst stream stalls {} of the time without a known reason",
                       show_time(s.start_error_median_ps), show_time(s.start_error_max_ps),
                       show_percent(s.stream_stall_share)));
  if (r.unattributed_sync_ns > 0)
    add_fact(report, "",
             fmt::format("{} in blocking calls for which nothing to wait for was found",
                         show_time(r.unattributed_sync_ns * kPsPerNs)));
}

/// The trace, run again on its own graph.
void add_replay(const link::LinkingReport& r, const analyze::SelfReplay& s, Report& report) {
  add_fact(report, "self-replay",
           fmt::format("{} measured, {} replayed: error {}", show_time(s.measured_ps), show_time(s.replayed_ps),
                       signed_percent(s.error)));
  add_steps(s, report);
  std::string path;
  for (size_t i = 0; i < s.critical_path.size(); ++i)
    if (s.critical_path[i] > 0)
      append(path, fmt::format("{} {}", analyze::kPathParts[i], show_percent(s.critical_path[i])));
  add_fact(report, "critical path", std::move(path));
  if (r.device_ops > 0) add_device_replay(r, s, report);
  if (!s.informative && r.device_ops > 0)
    add_fact(report, "note", "the host alone explains the time: the replay says little about the device's edges");
  else if (!s.informative && s.replayed_ps == s.measured_ps)
    add_fact(report, "note", "no device operations: the replay of one rank is an identity");
}

void add_rank(const LinkedRank& rank, Report& report) {
  const bool both = !rank.input.host.empty() && !rank.input.device.empty();
  report.parts.emplace_back(fmt::format("rank {}: {}{}{} -> {}\n", rank.rank, rank.input.host, both ? " + " : "",
                                        rank.input.device, rank.output));
  add_linking(rank, report);
  if (rank.replayed) add_replay(rank.report, rank.replay, report);
  report.parts.emplace_back(Report::Found{rank.report.findings});
}

std::string clock_text(const analyze::Clock& c) {
  if (c.unaligned) return fmt::format("rank {}: unknown, which part of the job it recorded cannot be told", c.rank);
  if (!c.known)
    return fmt::format("rank {}: unknown, it shares no collective with another rank, nor messages both ways", c.rank);
  return fmt::format("rank {}: {} {} rank {} (+- {}), drift {:.2f} ppm, from {} {}", c.rank,
                     show_ns(std::abs(c.offset_ns)), c.offset_ns < 0 ? "behind" : "ahead of", c.reference,
                     show_ns(c.uncertainty_ns), c.drift_ppm, c.messages ? c.messages : c.collectives,
                     c.messages ? "messages" : "collectives");
}

/// What several ranks say together.
void add_times(const analyze::JobTimes& times, Report& report) {
  report.parts.emplace_back("job\n");
  for (const analyze::Clock& c : times.clocks)
    if (!c.known || c.rank != c.reference) add_fact(report, "clock", clock_text(c));
  for (const analyze::CollectiveTimes& c : times.collectives)
    add_fact(report, "collectives",
             fmt::format("{} {} of {} in group {}: {} waiting for the last of {} members, {} transfer", c.count,
                         trace::name(c.type), show_bytes(static_cast<double>(c.bytes)), quote(c.group),
                         show_ns(c.wait_ns), c.members, show_ns(c.transfer_ns)));
  for (size_t i = 0; i < std::min(times.stragglers.size(), kStragglersShown); ++i)
    add_fact(report, "straggler",
             fmt::format("rank {} came last to {} collectives and was waited for {}", times.stragglers[i].rank,
                         times.stragglers[i].last_at, show_ns(times.stragglers[i].waited_ns)));
}

}  // namespace

Report report_of(const LinkedJob& linked) {
  Report report;
  for (const LinkedRank& rank : linked.ranks)
    if (rank.explanation.empty()) add_rank(rank, report);
    else report.parts.emplace_back(rank.explanation);
  if (linked.ranks.size() > 1) {
    add_times(linked.times, report);
    report.parts.emplace_back(Report::Found{linked.mismatches});
  }
  if (linked.replay) report.parts.emplace_back(rows_of(*linked.replay));
  report.parts.emplace_back(Report::Found{linked.findings});
  return report;
}

}  // namespace chakra::job
