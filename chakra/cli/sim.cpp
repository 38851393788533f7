// chakra sim
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

struct SimOptions {
  job::SimulateOptions call;
  std::string csv, timeline;
  std::string workload;                                            ///< the job, by ASTRA-sim's own option
  std::string compute_scale, comm_scale, logging, logging_folder;  ///< likewise, without effect
  bool astra_output = false;
};

options::Options rows_of(SimOptions& o) {
  options::Options rows = job::rows_of(o.call);
  rows.push_back({"--workload-configuration",
                  &o.workload,
                  "The job, under the name of ASTRA-sim's option",
                  "PREFIX",
                  {},
                  "Equivalent to PATH, --compat astra-sim and --astra-output."});
  options::Option lines{"--astra-output", &o.astra_output, "With --compat: print ASTRA-sim's output lines"};
  lines.needs = "--compat astra-sim";
  rows.push_back(std::move(lines));
  rows.push_back({"--csv", &o.csv, "Write the tables as PREFIX.ranks.csv, PREFIX.collectives.csv, ...", "PREFIX"});
  options::Option timeline{"--timeline", &o.timeline,
                           "Write a timeline for https://ui.perfetto.dev; .pftrace is smaller", "FILE.json"};
  timeline.excludes = "--compat astra-sim";
  rows.push_back(std::move(timeline));
  for (const auto& [name, text] :
       {std::pair("--compute-scale", &o.compute_scale), std::pair("--comm-scale", &o.comm_scale),
        std::pair("--logging-configuration", &o.logging), std::pair("--logging-folder", &o.logging_folder)})
    rows.push_back({.names = name, .target = text, .help = "ASTRA-sim option; without effect", .hidden = true});
  return rows;
}

/// ASTRA-sim's own command line means its rules and its lines.
Result<void> settle(SimOptions& o) {
  if (!o.workload.empty()) {
    if (!o.call.path.empty()) return fail(Code::usage, "cli.usage", "the job is given twice");
    o.call.path = o.workload;
    o.call.rules = job::Rules::astra_sim;
    o.astra_output = true;
  }
  if (o.call.path.empty())
    return fail(Code::usage, "cli.usage", "the job is missing: give a prefix, a folder or one trace");
  if (contains(o.call.groups, "empty")) o.call.groups.clear();  // ASTRA-sim's name for no file
  o.call.timeline = !o.timeline.empty();
  return {};
}

/// Options that are accepted without effect, most of ASTRA-sim's command.
Findings ignored_options(const SimOptions& o, const Globals& globals) {
  Findings findings;
  if (!globals.all.empty() && globals.json == "-")
    findings.push_back(job::no_effect("--all", "--json - prints the whole answer"));
  for (const auto& [flag, value] :
       {std::pair("--compute-scale", o.compute_scale), std::pair("--comm-scale", o.comm_scale)})
    if (!value.empty() && value != "1")
      findings.push_back({"sim.compat.ignored", Severity::warning, -1, -1,
                          fmt::format("{} {} has no effect here, nor in ASTRA-sim", flag, value)});
  for (const auto& [flag, value] :
       {std::pair("--logging-configuration", o.logging), std::pair("--logging-folder", o.logging_folder)})
    if (!value.empty()) findings.push_back(job::no_effect(flag, "there is no log; use --json for details"));
  return findings;
}

/// Set by Ctrl-C: the run ends with what there is.
std::atomic<bool> stop_asked{false};

/// The first Ctrl-C ends the run, and what there is by then is written; one that comes seconds later also ends that.
void stop(int signal) {
  static std::time_t first = 0;
  const std::time_t now = std::time(nullptr);
  if (!stop_asked) first = now;
  stop_asked = true;
  if (now <= first + 1) return;
  end_on_signals();
  std::raise(signal);
}

/// On a terminal, and only past a second: how far a run is and how long it may still take.
std::function<void(const sim::Progress&)> progress_line() {
  if (!isatty(STDERR_FILENO)) return {};
  using Clock = std::chrono::steady_clock;
  return [begun = Clock::now(), last = Clock::now()](const sim::Progress& p) mutable {
    const auto now = Clock::now();
    const double passed = std::chrono::duration<double>(now - begun).count();
    if (passed < 1 || now - last < std::chrono::milliseconds(250)) return;
    last = now;
    const double done = p.nodes ? static_cast<double>(p.nodes_done) / static_cast<double>(p.nodes) : 0;
    print_error(fmt::format("\r{:.0f} M events, {:.1f} M/s, {} simulated, {:.0f} % of the nodes done, {:.0f} s left  ",
                            static_cast<double>(p.events) / 1e6, static_cast<double>(p.events) / 1e6 / passed,
                            show_time(p.now_ps), 100 * done, done > 0 ? passed / done - passed : 0.0));
  };
}

Result<void> check_outputs(const SimOptions& o, const std::string& json) {
  std::vector<std::string> files{o.call.network, o.call.system, o.call.memory, o.call.groups};
  if (const auto ranks =
          job_files(o.call.path))  // the errors in the job are reported later, after the errors in the system
    files.insert(files.end(), ranks->begin(), ranks->end());
  std::vector<std::string> outputs;
  if (!o.csv.empty()) outputs = job::csv_files(o.csv, job::answer_of(job::SimulateResult{}));
  outputs.push_back(o.timeline);
  return keep_apart(files, outputs, json);
}

Result<void> run_sim(const SimOptions& o, const Globals& globals) {
  const std::string& json_path = globals.json;
  CHAKRA_TRY(check_outputs(o, json_path));
  std::vector<sim::Wait> waits;
  Result<job::SimulateResult> run = job::simulate_job(
      o.call,
      {.begins = [] { std::signal(SIGINT, stop); }, .progress = progress_line(), .stop = &stop_asked, .waits = &waits});
  if (!run && !json_path.empty() && !waits.empty())
    CHAKRA_TRY(show_words(json_path, answer_of(run.error(), waits), ""));
  CHAKRA_ASSIGN(job::SimulateResult result, std::move(run));
  sim::SimReport& report = result.report;
  const Findings ignored = ignored_options(o, globals);
  report.findings.insert(report.findings.begin(), ignored.begin(), ignored.end());
  job::Outputs files;
  const bool all = !json_path.empty() || !o.csv.empty() || !globals.all.empty();
  const answer::Answer answer = answer_of(result, all ? job::Tables::all : job::Tables::shown);
  CHAKRA_TRY(add_answer(files, json_path, answer));
  if (!o.timeline.empty()) {
    view::add_queue_counters(report.timeline);
    CHAKRA_TRY(view::write_timeline(report.timeline, o.timeline));
  }
  CHAKRA_TRY(add_csv(files, o.csv, answer));
  CHAKRA_TRY(files.commit());
  if (json_path == "-") CHAKRA_TRY(print_json(answer));
  else if (o.astra_output && globals.all.empty()) print(job::astra_text_of(result));
  else CHAKRA_TRY(print_answer(answer, text_of(result), globals.all));
  if (report.interrupted)
    return fail(Code::interrupted, "sim.interrupted", "stopped; the result covers the run up to that point");
  return recorded::check_errors(o.call.max_error, result.replays);
}

}  // namespace

Syntax sim_syntax() {
  auto o = std::make_shared<SimOptions>();
  return {.rows = rows_of(*o),
          .run = exits_with_zero([o](const Globals& globals) { return run_sim(*o, globals); }),
          .settle = [o] { return settle(*o); }};
}

}  // namespace chakra::cli
