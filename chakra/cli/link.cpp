// chakra link
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "chakra/cli/cli.h"
#include "chakra/cli/job_replay.h"
#include "chakra/cli/link_work.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

constexpr int64_t kMostRanks = 1 << 30;
constexpr int64_t kMostJobs = 256;

struct Options {
  job::LinkJobOptions call;
  std::string json, steps, fit_steps;
};

using job::LinkedRank;

Json constants_json(const link::LinkingReport& report) {
  Json json = Json::object();
  for (const auto& row : report.constants) {
    const std::string at = report.constants.size() > 1 ? fmt::format("@{}", row.device) : "";
    if (row.used_launch) json["launch_latency" + at] = row.launch_ns;
    if (row.used_graph) json["graph_launch_latency" + at] = row.graph_launch_ns;
    if (row.used_gap) json["dispatch_gap" + at] = row.dispatch_gap_ns;
  }
  return json;
}

Json to_json(const LinkedRank& rank) {
  const link::LinkingReport& r = rank.report;
  const sim::SelfReplay& s = rank.replay;
  Json edges = Json::object();
  for (size_t i = 0; i < r.edges.size(); ++i)
    if (r.edges[i] > 0) edges[std::string(trace::kEdgeKinds[i].name)] = r.edges[i];
  Json steps = Json::array();
  for (const auto& step : s.steps)
    steps.push_back({{"name", step.name}, {"measured_ns", json_ns(step.measured_ps)}, {"error", step.error}});
  Json path = Json::object();
  for (size_t i = 0; i < s.critical_path.size(); ++i) path[std::string(sim::kPathParts[i])] = s.critical_path[i];
  return {
      {"rank", rank.rank},
      {"host", rank.input.host.empty() ? Json(nullptr) : Json(rank.input.host)},
      {"device", rank.input.device.empty() ? Json(nullptr) : Json(rank.input.device)},
      {"output", rank.output},
      {"nodes", rank.nodes},
      {"host_ops", r.host_ops},
      {"matched_host_ops", r.has_host_trace && !rank.input.device.empty() ? Json(r.matched_host_ops) : Json(nullptr)},
      {"matched_by",
       !r.has_host_trace || rank.input.device.empty() ? Json(nullptr) : Json(r.by_names ? "names" : "ids")},
      {"iteration", r.iteration < 0 ? Json(nullptr) : Json(r.iteration)},
      {"device_ops", r.device_ops},
      {"attached_device_ops", r.attached_device_ops},
      {"launched_before", r.launched_before},
      {"edges", edges},
      {"inferred_edges", r.inferred_edges},
      {"constants_ns", constants_json(r)},
      {"comm_nodes", r.comm_nodes},
      {"comm_bytes", r.comm_bytes},
      {"work", cli::to_json(r.work)},
      {"measured_ns", json_ns(s.measured_ps)},
      {"replayed_ns", json_ns(s.replayed_ps)},
      {"self_replay_error", s.error},
      {"steps", steps},
      {"step_error", {{"median", s.median_error}, {"worst", s.worst_error}}},
      {"half_device_ns", json_ns(s.half_device_ps)},
      {"half_recorded_ns", json_ns(s.half_recorded_ps)},
      {"unrecorded", {{"count", r.unrecorded}, {"time_ns", r.unrecorded_ns}}},
      {"critical_path", path},
      {"informative", s.informative},
      {"device_start_error_ns", {{"median", json_ns(s.start_error_median_ps)}, {"max", json_ns(s.start_error_max_ps)}}},
      {"stream_stall_share", s.stream_stall_share},
      {"unattributed_sync_ns", r.unattributed_sync_ns},
      {"findings", cli::to_json(r.findings)}};
}

std::string signed_percent(double share) { return fmt::format("{:+.2f} %", share * 100); }

std::string to_text(const LinkedRank& rank) {
  const link::LinkingReport& r = rank.report;
  const sim::SelfReplay& s = rank.replay;
  const bool both = !rank.input.host.empty() && !rank.input.device.empty();
  std::string out = fmt::format("rank {}: {}{}{} -> {}\n", rank.rank, rank.input.host, both ? " + " : "",
                                rank.input.device, rank.output);
  const auto line = [&](const char* what, const std::string& text) { out += fmt::format("  {:<15}{}\n", what, text); };
  if (rank.input.device.empty()) line("host ops", fmt::format("{}, from the host trace alone", show_count(r.host_ops)));
  else if (r.has_host_trace)
    line("host ops",
         fmt::format(
             "{} of {} matched by {} ({})", show_count(r.matched_host_ops), show_count(r.host_ops),
             r.by_names ? "the order of names" : "id and name",
             show_percent(r.host_ops ? static_cast<double>(r.matched_host_ops) / static_cast<double>(r.host_ops) : 1)));
  else line("host ops", fmt::format("{}, from the Kineto trace alone", show_count(r.host_ops)));
  if (r.device_ops > 0)
    line("device ops", fmt::format("{} of {} attached to the operator that launched them{}",
                                   show_count(r.attached_device_ops), show_count(r.device_ops),
                                   r.launched_before ? fmt::format("; {} launched before the recording",
                                                                   show_count(r.launched_before))
                                                     : ""));
  std::string edges;
  int64_t total = 0;
  for (size_t i = 0; i < r.edges.size(); ++i) {
    total += r.edges[i];
    if (r.edges[i] > 0)
      edges += fmt::format("{}{} {}", edges.empty() ? "" : ", ", trace::kEdgeKinds[i].name, show_count(r.edges[i]));
  }
  line("graph", fmt::format("{} nodes, {} edges: {}; {} inferred", show_count(rank.nodes), show_count(total), edges,
                            show_count(r.inferred_edges)));
  for (const auto& row : r.constants) {
    std::string text;
    const auto constant = [&](const char* what, bool used, int64_t ns, int64_t samples) {
      if (used)
        text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", what, show_time(ns * kPsPerNs),
                            samples ? fmt::format("{} samples", show_count(samples)) : std::string("default"));
    };
    constant("launch latency", row.used_launch, row.launch_ns, row.launch_samples);
    constant("graph launch latency", row.used_graph, row.graph_launch_ns, row.graph_samples);
    constant("dispatch gap", row.used_gap, row.dispatch_gap_ns, row.gap_samples);
    line(r.constants.size() > 1 ? fmt::format("device {}", row.device).c_str() : "constants", text);
  }
  if (r.unrecorded > 0)
    line("unrecorded", fmt::format("{} times device work that the recording lacks, {} in all", show_count(r.unrecorded),
                                   show_time(r.unrecorded_ns * kPsPerNs)));
  if (r.comm_nodes > 0)
    line("communication",
         fmt::format("{} nodes, {}", show_count(r.comm_nodes), show_bytes(static_cast<double>(r.comm_bytes))));
  const std::vector<std::string> work = work_lines(r.work);
  for (size_t i = 0; i < work.size(); ++i) line(i == 0 ? "work" : "", work[i]);
  if (!rank.replayed) return out + cli::to_text(r.findings);
  line("self-replay", fmt::format("{} measured, {} replayed: error {}", show_time(s.measured_ps),
                                  show_time(s.replayed_ps), signed_percent(s.error)));
  const size_t shown = std::min<size_t>(s.steps.size(), 6);
  for (size_t i = 0; i < shown; ++i)
    line("", fmt::format("{}: {}, error {}", s.steps[i].name, show_time(s.steps[i].measured_ps),
                         signed_percent(s.steps[i].error)));
  if (shown < s.steps.size())
    line("", fmt::format("... and {} more steps; median error {}, worst {}", s.steps.size() - shown,
                         show_percent(s.median_error), signed_percent(s.worst_error)));
  std::string path;
  for (size_t i = 0; i < s.critical_path.size(); ++i)
    if (s.critical_path[i] > 0)
      path += fmt::format("{}{} {}", path.empty() ? "" : ", ", sim::kPathParts[i], show_percent(s.critical_path[i]));
  line("critical path", path);
  if (r.device_ops > 0) {
    const auto halved = [&](Picoseconds span) {
      const double change = s.replayed_ps ? static_cast<double>(span) / static_cast<double>(s.replayed_ps) - 1 : 0;
      return fmt::format("{} ({})", show_time(span), signed_percent(change));
    };
    line("half as long",
         fmt::format("device operations would give {}{}", halved(s.half_device_ps),
                     r.unrecorded > 0 ? "; those that were recorded alone " + halved(s.half_recorded_ps) : ""));
    line("device starts",
         fmt::format("off by {} (median), {} (most); worst stream stalls {} of the time without a known reason",
                     show_time(s.start_error_median_ps), show_time(s.start_error_max_ps),
                     show_percent(s.stream_stall_share)));
    if (r.unattributed_sync_ns > 0)
      line("", fmt::format("{} in blocking calls for which nothing to wait for was found",
                           show_time(r.unattributed_sync_ns * kPsPerNs)));
  }
  if (!s.informative && r.device_ops > 0)
    line("note", "the host alone explains the time: the replay says little about the device's edges");
  else if (!s.informative && s.replayed_ps == s.measured_ps)
    line("note", "no device operations: the replay of one rank is an identity");
  return out + cli::to_text(r.findings);
}

Json to_json(const analyze::JobTimes& times, const Findings& mismatches) {
  Json clocks = Json::array(), stragglers = Json::array(), collectives = Json::array();
  for (const analyze::Clock& c : times.clocks)
    clocks.push_back({{"rank", c.rank},
                      {"reference", c.known ? Json(c.reference) : Json(nullptr)},
                      {"offset_ns", c.known ? Json(c.offset_ns) : Json(nullptr)},
                      {"drift_ppm", c.known ? Json(c.drift_ppm) : Json(nullptr)},
                      {"uncertainty_ns", c.known ? Json(c.uncertainty_ns) : Json(nullptr)},
                      {"collectives", c.collectives},
                      {"messages", c.messages}});
  for (const analyze::Straggler& s : times.stragglers)
    stragglers.push_back({{"rank", s.rank}, {"last_at", s.last_at}, {"waited_ns", s.waited_ns}});
  for (const analyze::CollectiveTimes& c : times.collectives)
    collectives.push_back({{"group", c.group},
                           {"type", trace::name(c.type)},
                           {"bytes", c.bytes},
                           {"members", c.members},
                           {"count", c.count},
                           {"wait_ns", c.wait_ns},
                           {"transfer_ns", c.transfer_ns}});
  return {{"mismatches", cli::to_json(mismatches)},
          {"clock", clocks},
          {"stragglers", stragglers},
          {"collectives", collectives}};
}

std::string show_ns(double ns) { return show_time(std::llround(ns * static_cast<double>(kPsPerNs))); }

std::string to_text(const analyze::JobTimes& times, const Findings& mismatches) {
  std::string out = "job\n";
  const auto line = [&](const char* what, const std::string& text) { out += fmt::format("  {:<15}{}\n", what, text); };
  for (const analyze::Clock& c : times.clocks)
    if (!c.known || c.rank != c.reference)
      line("clock",
           !c.known ? fmt::format("rank {}: unknown, it shares no collective with another rank, nor messages both ways",
                                  c.rank)
                    : fmt::format("rank {}: {} {} rank {} (+- {}), drift {:.2f} ppm, from {} {}", c.rank,
                                  show_ns(std::abs(c.offset_ns)), c.offset_ns < 0 ? "behind" : "ahead of", c.reference,
                                  show_ns(c.uncertainty_ns), c.drift_ppm, c.messages ? c.messages : c.collectives,
                                  c.messages ? "messages" : "collectives"));
  for (const analyze::CollectiveTimes& c : times.collectives)
    line("collectives", fmt::format("{} {} of {} in group {}: {} waiting for the last of {} members, {} transfer",
                                    c.count, trace::name(c.type), show_bytes(static_cast<double>(c.bytes)),
                                    quote(c.group), show_ns(c.wait_ns), c.members, show_ns(c.transfer_ns)));
  for (size_t i = 0; i < std::min<size_t>(times.stragglers.size(), 4); ++i)
    line("straggler", fmt::format("rank {} came last to {} collectives and was waited for {}", times.stragglers[i].rank,
                                  times.stragglers[i].last_at, show_ns(times.stragglers[i].waited_ns)));
  return out + cli::to_text(mismatches);
}

Json to_json(const job::LinkedJob& linked) {
  Json json;
  json["ranks"] = Json::array();
  for (const LinkedRank& rank : linked.ranks) json["ranks"].push_back(to_json(rank));
  if (linked.ranks.size() > 1) json["job"] = to_json(linked.times, linked.mismatches);
  if (linked.replay) json["job"]["measured"] = cli::to_json(*linked.replay, "ns");
  json["findings"] = cli::to_json(linked.findings);
  return json;
}

void print_report(const job::LinkedJob& linked) {
  for (const LinkedRank& rank : linked.ranks) print(rank.explanation.empty() ? to_text(rank) : rank.explanation);
  if (linked.ranks.size() > 1) print(to_text(linked.times, linked.mismatches));
  if (linked.replay) print(cli::to_text(*linked.replay));
  print(cli::to_text(linked.findings));
}

/// "3:5", "3:" or "3".
Result<std::optional<std::pair<int64_t, int64_t>>> read_steps(const char* option, const std::string& value) {
  if (value.empty()) return std::nullopt;
  const size_t colon = value.find(':');
  const std::string_view text = value;
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();
  const bool good =
      parse_decimal(text.substr(0, colon), first) &&
      (colon == std::string::npos ? (last = first, true)
                                  : colon + 1 == text.size() || parse_decimal(text.substr(colon + 1), last));
  if (!good || first < 0 || last < first)
    return fail(Code::usage, "cli.usage", fmt::format("{} takes A:B, A: or A, not {}", option, quote(value)));
  return std::pair(first, last);
}

Result<void> run_link(Options o) {
  CHAKRA_TRY(keep_apart(o.call.inputs, {o.call.output}, o.json));
  CHAKRA_ASSIGN(o.call.link.steps, read_steps("--steps", o.steps));
  CHAKRA_ASSIGN(o.call.link.fit_steps, read_steps("--fit-steps", o.fit_steps));
  CHAKRA_ASSIGN(job::LinkedJob linked, job::link_job(o.call));
  if (o.call.of_folders())
    for (const LinkedRank& rank : linked.ranks) CHAKRA_TRY(keep_apart({}, {rank.output}, o.json));
  const Json as_json = json_if_asked(o.json, [&] { return to_json(linked); });
  CHAKRA_ASSIGN(std::optional<AtomicFile> json, prepare_json(as_json, o.json));
  CHAKRA_TRY(linked.commit());
  if (json) CHAKRA_TRY(json->commit());
  if (o.json == "-") print(cli::to_text(as_json));
  else print_report(linked);
  return job::check_errors(o.call.max_error, linked.replays);
}

}  // namespace

Syntax link_syntax() {
  auto options = std::make_shared<Options>();
  return {
      .options =
          {{.names = "inputs",
            .target = &options->call.inputs,
            .help = "A PyTorch execution trace and a Kineto trace of one rank, in any order; one of them alone; or the "
                    "folder with those of a job, or two folders with its host traces and its Kineto traces",
            .value = "HOST DEVICE | DEVICE | DIR [DIR]",
            .required = true,
            .most = 2},
           {.names = "-o,--output",
            .target = &options->call.output,
            .help = "The trace to write; for folders, the folder for trace.<rank>.et",
            .value = "PATH",
            .required = true},
           {.names = "--rank",
            .target = &options->call.link.rank,
            .help = "The rank, where the files do not say it or say it wrongly",
            .value = "N",
            .accepted = whole_number(0, kMostRanks)},
           {.names = "--steps",
            .target = &options->steps,
            .help = "Link only the ProfilerSteps A to B, both included",
            .value = "A:B"},
           {.names = "--fit-steps",
            .target = &options->fit_steps,
            .help =
                "Estimate launch latency and dispatch gap from the ProfilerSteps A to B only, so that the other steps "
                "judge them",
            .value = "A:B"},
           {.names = "--iteration",
            .target = &options->call.link.iteration,
            .help = "Where a Kineto trace of many iterations meets a host trace of one: which to link, from 0 "
                    "(default: the "
                    "one of median length)",
            .value = "N",
            .accepted = whole_number(0, kMostRanks)},
           {.names = "--salvage",
            .target = &options->call.link.salvage,
            .help = "Leave damaged records out, and keep the whole records of files that were cut; the report names "
                    "the lost part"},
           max_error_option(options->call.max_error),
           {.names = "--explain",
            .target = &options->call.explain,
            .help = "Instead of the report, why each edge of a node is there",
            .value = "NODE",
            .accepted = whole_number(0, INT64_MAX)},
           {.names = "--jobs",
            .target = &options->call.jobs,
            .help = "Ranks to link at the same time (default: one per core)",
            .value = "N",
            .accepted = whole_number(1, kMostJobs)},
           json_option(options->json)},
      .run = exits_with_zero([options] { return run_link(*options); })};
}

}  // namespace chakra::cli
