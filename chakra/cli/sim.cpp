// chakra sim
#include <fmt/core.h>
#include <atomic>
#include <ctime>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

struct SimAsked : With<SimulateOptions> {
  std::string workload;                                            ///< the job, by ASTRA-sim's own option
  std::string compute_scale, comm_scale, logging, logging_folder;  ///< likewise, without effect
};

options::Options sim_rows(SimAsked& o) {
  options::Options rows = rows_of(o.options, {{"path", &o.path}});
  rows.push_back({"--workload-configuration",
                  &o.workload,
                  "The job, under the name of ASTRA-sim's option",
                  "PREFIX",
                  {},
                  "Equivalent to PATH, --compat astra-sim and --astra-output."});
  add(rows, table_options(o.files));
  for (const auto& [name, text] :
       {std::pair("--compute-scale", &o.compute_scale), std::pair("--comm-scale", &o.comm_scale),
        std::pair("--logging-configuration", &o.logging), std::pair("--logging-folder", &o.logging_folder)})
    rows.push_back({.names = name, .target = text, .help = "ASTRA-sim option; without effect", .hidden = true});
  return rows;
}

/// ASTRA-sim's own command line means its rules and its lines.
Result<void> settle_sim(SimAsked& o) {
  if (!o.workload.empty()) {
    if (!o.path.empty()) return fail(Code::usage, "cli.usage", "the job is given twice");
    o.path = o.workload;
    o.options.compat = Compat::astra_sim;
    o.options.astra_output = true;
  }
  if (o.path.empty()) return fail(Code::usage, "cli.usage", "the job is missing: give a prefix, a folder or one trace");
  if (contains(o.options.groups, "empty")) o.options.groups.clear();  // ASTRA-sim's name for no file
  return {};
}

/// ASTRA-sim's options that are accepted without effect.
void report_ignored(const SimAsked& o) {
  std::vector<Finding> findings;
  for (const auto& [flag, value] :
       {std::pair("--compute-scale", o.compute_scale), std::pair("--comm-scale", o.comm_scale)})
    if (!value.empty() && value != "1")
      findings.push_back({"sim.compat.ignored", Severity::warning, -1, -1,
                          fmt::format("{} {} has no effect here, nor in ASTRA-sim", flag, value)});
  for (const auto& [flag, value] :
       {std::pair("--logging-configuration", o.logging), std::pair("--logging-folder", o.logging_folder)})
    if (!value.empty()) findings.push_back(options::no_effect(flag, "there is no log; use --json for details"));
  if (!findings.empty()) print_error(facade::to_text(findings));
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

/// From the beginning of the run on, Ctrl-C ends the run.
struct Watch {
  ProgressLine line{"nodes"};
  bool has_begun = false;

  static bool at(void* user, double share) {
    Watch& watch = *static_cast<Watch*>(user);
    if (!watch.has_begun) std::signal(SIGINT, stop);
    watch.has_begun = true;
    watch.line.show(share);
    return true;
  }
};

Result<int> run_sim(const SimAsked& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Job job, open(o.path, {.keep = false}));
  Watch watch;
  Control control = globals.control(o.files);
  control.progress = Watch::at;
  control.user = &watch;
  control.stop = &stop_asked;
  const Result<Answer> answer = job.simulate(o.options, control);
  report_ignored(o);
  return show(globals, answer);
}

}  // namespace

Syntax sim_syntax() {
  auto o = std::make_shared<SimAsked>();
  return {.rows = sim_rows(*o),
          .run = [o](const Globals& globals) { return run_sim(*o, globals); },
          .settle = [o] { return settle_sim(*o); }};
}

}  // namespace chakra::cli
