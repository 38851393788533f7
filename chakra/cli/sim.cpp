// chakra sim
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>

#include "chakra/cli/sim_options.h"

namespace chakra::cli {
namespace {

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

Result<void> check_outputs(const SimOptions& o) {
  std::vector<std::string> files{o.call.network, o.call.system, o.call.memory, o.call.groups};
  if (const auto ranks =
          job_files(o.call.path))  // the errors in the job are reported later, after the errors in the system
    files.insert(files.end(), ranks->begin(), ranks->end());
  std::vector<std::string> outputs{o.timeline};
  if (!o.csv.empty())
    for (const char* name : {"ranks", "collectives", "links", "tiers", "critical_path"})
      outputs.push_back(fmt::format("{}.{}.csv", o.csv, name));
  return keep_apart(files, outputs, o.json);
}

Result<void> run_sim(SimOptions o) {
  CHAKRA_TRY(settle(o));
  CHAKRA_TRY(check_outputs(o));
  std::vector<sim::Wait> waits;
  Result<job::SimulateResult> run = job::simulate_job(
      o.call,
      {.begins = [] { std::signal(SIGINT, stop); }, .progress = progress_line(), .stop = &stop_asked, .waits = &waits});
  if (!run && !o.json.empty() && !waits.empty()) CHAKRA_TRY(write_json(job::waits_json(run.error(), waits), o.json));
  CHAKRA_ASSIGN(job::SimulateResult result, std::move(run));
  sim::SimReport& report = result.report;
  const Findings ignored = ignored_options(o);
  report.findings.insert(report.findings.begin(), ignored.begin(), ignored.end());
  const Json as_json = json_if_asked(o.json, [&] { return to_json(result); });
  job::Outputs files;
  CHAKRA_TRY(add_json(files, o.json, as_json));
  if (!o.timeline.empty()) CHAKRA_TRY(view::write_chrome_trace(report.timeline, o.timeline));
  if (!o.csv.empty()) CHAKRA_TRY(add_csv(files, o.csv, tables_of(result)));
  CHAKRA_TRY(files.commit());
  if (o.json == "-") print(to_text(as_json));
  else print(view::to_text(o.astra_output ? astra_report_of(result) : report_of(result)));
  if (report.interrupted)
    return fail(Code::interrupted, "sim.interrupted", "stopped; the result is what there was by then");
  return job::check_errors(o.call.max_error, result.replays);
}

}  // namespace

Syntax sim_syntax() {
  auto options = std::make_shared<SimOptions>();
  return {.options = sim_rows(*options), .run = exits_with_zero([options] { return run_sim(*options); })};
}

}  // namespace chakra::cli
