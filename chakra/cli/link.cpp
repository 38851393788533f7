// chakra link
#include <fmt/format.h>
#include <sys/resource.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "chakra/analyze/analyze.h"
#include "chakra/cli/cli.h"
#include "chakra/cli/job_replay.h"
#include "chakra/cli/link_work.h"
#include "chakra/cli/max_error.h"
#include "chakra/cli/no_effect.h"
#include "chakra/io/io.h"
#include "chakra/pytorch/pytorch.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

constexpr int64_t kMostRanks = 1 << 30;
constexpr int64_t kMostJobs = 256;

struct Options {
  std::vector<std::string> inputs;
  std::string output, json;
  std::optional<int64_t> rank, iteration, explain;
  std::string steps, fit_steps;
  std::optional<double> max_error;
  bool salvage = false;
  int jobs = 0;
};

/// What is kept of a rank once it is linked.
struct LinkedRank {
  pytorch::RankInput input;
  std::string output;
  pytorch::LinkReport report;
  sim::SelfReplay replay;
  bool replayed = false;
  trace::Trace trace;
  trace::Trace communication;  ///< of a job's rank
  int64_t rank = 0;
  int64_t nodes = 0;
  std::string explanation;  ///< of the node that is asked for
};

Json constants_json(const pytorch::LinkReport& report) {
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
  const pytorch::LinkReport& r = rank.report;
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
  const pytorch::LinkReport& r = rank.report;
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

/// Whether the output names a folder for the traces of a job, or one file.
bool is_job(const Options& options) { return is_directory(options.inputs.front()); }

class LinkCommand {
 public:
  explicit LinkCommand(const Options& options) : o_(options) {}

  Result<void> run() {
    CHAKRA_TRY(keep_apart(o_.inputs, {o_.output}, o_.json));
    options_.rank = o_.rank;
    options_.iteration = o_.iteration;
    options_.salvage = o_.salvage;
    CHAKRA_ASSIGN(options_.steps, read_steps("--steps", o_.steps));
    CHAKRA_ASSIGN(options_.fit_steps, read_steps("--fit-steps", o_.fit_steps));
    CHAKRA_TRY(find_ranks());
    if (is_job(o_)) CHAKRA_TRY(make_directories(o_.output));
    ranks_.resize(inputs_.size());
    std::vector<std::optional<AtomicFile>> files(inputs_.size());
    std::vector<std::optional<Error>> errors(inputs_.size());
    allow_many_files();
    const int jobs = o_.jobs > 0 ? o_.jobs : tbb::this_task_arena::max_concurrency();
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(jobs));
    tbb::task_arena arena(jobs);
    const auto for_each_rank = [&](const auto& work) -> Result<void> {
      arena.execute([&] {
        tbb::parallel_for(size_t{0}, inputs_.size(), [&](size_t i) {
          if (Result<void> done = work(i); !done) errors[i] = done.error();
        });
      });
      for (const auto& error : errors)
        if (error) return tl::unexpected<Error>(*error);
      return {};
    };
    CHAKRA_TRY(for_each_rank([&](size_t i) { return link_rank(i, files[i]); }));
    if (ranks_.size() > 1) {
      trace::TraceSet job = compare_ranks();
      CHAKRA_TRY(for_each_rank([&](size_t i) { return write(job.ranks[i], ranks_[i].output, files[i]); }));
      job_replay_ = replay_linked(std::move(job), findings_);
    }
    const std::vector<Replayed> replays = replays_made();
    for (Finding& finding : max_error_without_effect(o_.max_error, replays)) findings_.push_back(std::move(finding));
    CHAKRA_ASSIGN(std::optional<AtomicFile> json, prepare_json(report_json(), o_.json));
    for (auto& file : files) CHAKRA_TRY(file->commit());  // all of them or none
    if (json) CHAKRA_TRY(json->commit());
    print_report();
    return check_errors(o_.max_error, replays);
  }

 private:
  std::vector<Replayed> replays_made() const {
    std::vector<Replayed> replays;
    for (const LinkedRank& rank : ranks_)
      if (rank.replayed) replays.push_back({fmt::format("rank {}", rank.rank), rank.replay.error});
    for (Replayed& job : replayed_job(job_replay_, findings_)) replays.push_back(std::move(job));
    return replays;
  }

  Result<void> find_ranks() {
    if (is_directory(o_.inputs.front()) != is_directory(o_.inputs.back()))
      return fail(Code::usage, "cli.usage", "two files of one rank or two folders of a job, not one of each");
    if (is_job(o_)) {
      if (o_.explain) return fail(Code::usage, "cli.usage", "--explain is for one rank");
      if (o_.rank) return fail(Code::usage, "cli.usage", "--rank is for one rank; a folder's files say theirs");
      CHAKRA_ASSIGN(pytorch::Pairing pairing, pytorch::pair_folders(o_.inputs));
      inputs_ = std::move(pairing.ranks);
      findings_ = std::move(pairing.findings);
    } else if (o_.inputs.size() == 1) {
      CHAKRA_ASSIGN(pytorch::RankInput input, pytorch::pair_file(o_.inputs[0]));
      inputs_.push_back(std::move(input));
    } else {
      CHAKRA_ASSIGN(pytorch::RankInput input, pytorch::pair_files(o_.inputs[0], o_.inputs[1], o_.rank.has_value()));
      inputs_.push_back(std::move(input));
    }
    return {};
  }

  /// The outputs stay open until all ranks are linked.
  void allow_many_files() const {
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
      limit.rlim_cur = limit.rlim_max;
      (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
  }

  Result<void> link_rank(size_t i, std::optional<AtomicFile>& file) {
    LinkedRank& rank = ranks_[i];
    rank.input = inputs_[i];
    CHAKRA_ASSIGN(pytorch::Linked linked, pytorch::link(inputs_[i], options_));
    rank.rank = linked.trace.rank;
    rank.nodes = linked.trace.size();
    rank.report = std::move(linked.report);
    for (Finding& finding : link_options_without_effect(options_, rank.report)) {
      finding.rank = rank.rank;
      rank.report.findings.push_back(std::move(finding));
    }
    if (o_.explain) {
      const trace::Ids& ids = linked.trace.id;
      const size_t found = ids.find(static_cast<uint64_t>(*o_.explain));
      if (found == ids.size())
        return fail(Code::usage, "cli.usage",
                    fmt::format("there is no node {}; there are 1 to {}", *o_.explain, ids.size()));
      rank.explanation = view::explain(linked.trace, static_cast<trace::NodeId>(found));
    }
    if (is_job(o_)) rank.communication = analyze::communication_of(linked.trace);
    if (auto replay = sim::self_replay(linked.trace)) {
      rank.replay = std::move(*replay);
      rank.replayed = true;
      Findings& findings = rank.report.findings;
      findings.insert(findings.end(), rank.replay.findings.begin(), rank.replay.findings.end());
    } else if (replay.error().tag != "sim.replay.no_times") {
      return tl::unexpected<Error>(replay.error());
    }
    rank.output =
        is_job(o_) ? (std::filesystem::path(o_.output) / fmt::format("trace.{}.et", rank.rank)).string() : o_.output;
    if (is_job(o_)) CHAKRA_TRY(keep_apart({}, {rank.output}, o_.json));
    if (inputs_.size() == 1) return write(linked.trace, rank.output, file);
    rank.trace = std::move(linked.trace);  // what the ranks say together comes into it
    return {};
  }

  static Result<void> write(const trace::Trace& trace, const std::string& path, std::optional<AtomicFile>& file) {
    CHAKRA_ASSIGN(AtomicFile created, AtomicFile::create(path));
    CHAKRA_TRY(io::write_et(trace, created));
    file = std::move(created);
    return {};
  }

  /// What the ranks say together; their traces, each with its start.
  trace::TraceSet compare_ranks() {
    trace::TraceSet communication, job;
    for (LinkedRank& rank : ranks_) {
      communication.ranks.push_back(std::move(rank.communication));
      job.ranks.push_back(std::move(rank.trace));
    }
    match::Matching matching = match::match(communication);
    times_ = analyze::job_times(communication, matching);
    mismatches_ = std::move(matching.findings);
    put_starts(job, times_, findings_);
    return job;
  }

  Json report_json() const {
    Json json;
    json["ranks"] = Json::array();
    for (const LinkedRank& rank : ranks_) json["ranks"].push_back(to_json(rank));
    if (ranks_.size() > 1) json["job"] = to_json(times_, mismatches_);
    if (job_replay_) json["job"]["measured"] = cli::to_json(*job_replay_, "ns");
    json["findings"] = cli::to_json(findings_);
    return json;
  }

  void print_report() const {
    if (o_.json == "-") return print(cli::to_text(report_json()));
    for (const LinkedRank& rank : ranks_) print(rank.explanation.empty() ? to_text(rank) : rank.explanation);
    if (ranks_.size() > 1) print(to_text(times_, mismatches_));
    if (job_replay_) print(cli::to_text(*job_replay_));
    print(cli::to_text(findings_));
  }

  using Steps = std::optional<std::pair<int64_t, int64_t>>;
  /// "3:5", "3:" or "3".
  static Result<Steps> read_steps(const char* option, const std::string& value) {
    if (value.empty()) return Steps();
    const size_t colon = value.find(':');
    const std::string_view text = value;
    int64_t first = 0, last = std::numeric_limits<int64_t>::max();
    const bool good =
        parse_decimal(text.substr(0, colon), first) &&
        (colon == std::string::npos ? (last = first, true)
                                    : colon + 1 == text.size() || parse_decimal(text.substr(colon + 1), last));
    if (!good || first < 0 || last < first)
      return fail(Code::usage, "cli.usage", fmt::format("{} takes A:B, A: or A, not {}", option, quote(value)));
    return Steps({first, last});
  }

  const Options& o_;
  pytorch::LinkOptions options_;
  std::vector<pytorch::RankInput> inputs_;
  std::vector<LinkedRank> ranks_;
  analyze::JobTimes times_;
  std::optional<sim::JobReplay> job_replay_;
  Findings findings_, mismatches_;
};

}  // namespace

Syntax link_syntax() {
  auto options = std::make_shared<Options>();
  return {
      .options =
          {{.names = "inputs",
            .target = &options->inputs,
            .help = "A PyTorch execution trace and a Kineto trace of one rank, in any order; one of them alone; or the "
                    "folder with those of a job, or two folders with its host traces and its Kineto traces",
            .value = "HOST DEVICE | DEVICE | DIR [DIR]",
            .required = true,
            .most = 2},
           {.names = "-o,--output",
            .target = &options->output,
            .help = "The trace to write; for folders, the folder for trace.<rank>.et",
            .value = "PATH",
            .required = true},
           {.names = "--rank",
            .target = &options->rank,
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
            .target = &options->iteration,
            .help = "Where a Kineto trace of many iterations meets a host trace of one: which to link, from 0 "
                    "(default: the "
                    "one of median length)",
            .value = "N",
            .accepted = whole_number(0, kMostRanks)},
           {.names = "--salvage",
            .target = &options->salvage,
            .help = "Leave damaged records out, and keep what is whole of files that were cut; the report says what "
                    "was lost"},
           max_error_option(options->max_error),
           {.names = "--explain",
            .target = &options->explain,
            .help = "Instead of the report, why each edge of a node is there",
            .value = "NODE",
            .accepted = whole_number(0, INT64_MAX)},
           {.names = "--jobs",
            .target = &options->jobs,
            .help = "Ranks to link at the same time (default: one per core)",
            .value = "N",
            .accepted = whole_number(1, kMostJobs)},
           json_option(options->json)},
      .run = exits_with_zero([options] { return LinkCommand(*options).run(); })};
}

}  // namespace chakra::cli
