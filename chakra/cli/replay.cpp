// chakra replay
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

struct ReplayOptions {
  job::ReplayOptions call;
  job::ReplayOutputs outputs;
  job::FlowsOptions flows;
  std::string flows_file;
};

options::Options rows_of(ReplayOptions& o) {
  options::Options rows = job::rows_of(o.call);
  options::Options outputs{
      {"-o,--output", &o.outputs.traces, "Write the traces with the times of the last run as PREFIX.<rank>.et",
       "PREFIX"},
      {"--timeline",
       &o.outputs.timeline,
       "Write a timeline for https://ui.perfetto.dev",
       "FILE",
       {},
       "In file names, {rank} stands for the rank of a process. Under a launcher, each rank needs a separate file."},
      {"--csv", &o.outputs.csv, "Write the tables as PREFIX.<table>.csv", "PREFIX"}};
  for (options::Option& row : outputs) row.excludes = "--flows";
  outputs[0].excludes = outputs[1].excludes = "--flows, --dry-run";
  for (options::Option& row : rows) {
    if (row.names == "--dry-run") row.excludes = "--flows";
    if (row.names == "--compare") row.excludes = "--flows, --dry-run";
  }
  add(rows, std::move(outputs));
  rows.push_back({"--flows",
                  &o.flows_file,
                  "Write the flows between ranks, without running the job",
                  "FILE",
                  {},
                  "Each flow lists the flows that it depends on. The file is CSV, or JSON if its name ends in .json."});
  options::Options flows = job::rows_of(o.flows);
  for (options::Option& row : flows) row.needs = "--flows";
  add(rows, std::move(flows));
  return rows;
}

/// The schedule of flows instead of a run.
Result<void> run_flows(const ReplayOptions& o) {
  if (!o.outputs.json.empty())
    return fail(Code::usage, "cli.usage", "--json has no result with --flows: the job does not run");
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.path));
  files.insert(files.end(), {o.call.groups, o.flows.network, o.flows.collectives});
  CHAKRA_TRY(keep_apart(files, {o.flows_file}));
  CHAKRA_ASSIGN(const replay::FlowSchedule schedule, job::job_flows(o.call, o.flows));
  CHAKRA_TRY(job::write_flows(schedule, o.flows_file));
  print(job::flows_line(schedule, o.flows_file));
  return {};
}

Result<void> run_replay(ReplayOptions& o, const Globals& globals) {
  o.outputs.json = globals.json;
  if (!o.flows_file.empty()) return run_flows(o);
  CHAKRA_ASSIGN(const job::ReplayOutputs outputs, job::replay_outputs(o.call, o.outputs));
  o.call.timeline = !outputs.timeline.empty();
  CHAKRA_ASSIGN(const job::ReplayedJob job, job::replay_job(o.call));
  CHAKRA_ASSIGN(job::Outputs made, job::made_outputs(job, outputs));
  return show(
      outputs.json, [&] { return answer_of(job); }, [&] { return view::to_text(report_of(job)); }, std::move(made));
}

}  // namespace

Syntax replay_syntax() {
  return syntax_of<ReplayOptions>([](ReplayOptions& o, const Globals& globals) -> Result<int> {
    CHAKRA_TRY(run_replay(o, globals));
    return 0;
  });
}

}  // namespace chakra::cli
