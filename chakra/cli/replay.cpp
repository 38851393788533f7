// chakra replay
#include "chakra/cli/replay_options.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

/// The schedule of flows instead of a run.
Result<void> run_flows(const ReplayOptions& o) {
  const job::ReplayOutputs& others = o.outputs;
  if (!others.traces.empty() || !others.timeline.empty() || !others.csv.empty() || !others.json.empty() ||
      o.call.dry_run || o.call.compare)
    return fail(
        Code::usage, "cli.usage",
        "with --flows nothing runs: --output, --timeline, --csv, --json, --compare and --dry-run have no meaning");
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.path));
  files.insert(files.end(), {o.call.groups, o.flows.network, o.flows.collectives});
  CHAKRA_TRY(keep_apart(files, {o.flows_file}));
  CHAKRA_ASSIGN(const replay::FlowSchedule schedule, job::job_flows(o.call, o.flows));
  CHAKRA_TRY(job::write_flows(schedule, o.flows_file));
  print(job::flows_line(schedule, o.flows_file));
  return {};
}

Result<void> run_replay(ReplayOptions o) {
  o.call.check = !o.no_check;
  if (!o.flows_file.empty()) return run_flows(o);
  if (!o.flows.network.empty() || !o.flows.collectives.empty())
    return fail(Code::usage, "cli.usage", "--network and --collectives are for --flows");
  if (o.call.dry_run && (!o.outputs.traces.empty() || !o.outputs.timeline.empty() || o.call.compare))
    return fail(Code::usage, "cli.usage",
                "--dry-run runs nothing, so there is nothing for --output, --timeline and --compare");
  CHAKRA_ASSIGN(const job::ReplayOutputs outputs, job::replay_outputs(o.call, o.outputs));
  o.call.timeline = !outputs.timeline.empty();
  CHAKRA_ASSIGN(const job::ReplayedJob job, job::replay_job(o.call));
  const Json json = json_if_asked(outputs.json, [&] { return to_json(job); });
  CHAKRA_TRY(write_outputs(job, outputs, json));
  print(outputs.json == "-" ? to_text(json) : view::to_text(report_of(job)));
  return {};
}

}  // namespace

Syntax replay_syntax() {
  auto o = std::make_shared<ReplayOptions>();
  return {.options = replay_rows(*o), .run = exits_with_zero([o] { return run_replay(*o); })};
}

}  // namespace chakra::cli
