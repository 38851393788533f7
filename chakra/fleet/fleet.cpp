#include "chakra/fleet/fleet.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/fleet/jobs.h"
#include "chakra/fleet/tasks.h"
#include "chakra/job/parts.h"
#include "chakra/seal/seal.h"

namespace chakra::fleet {

using options::Options;
using options::required;
using options::whole_number;

// `fleet.other` (2): the output has a fleet of other jobs or options
// `fleet.failed` (error): jobs without a result
// `fleet.open` (warning): tasks that are not finished
// `fleet.left_out` (note): paths that are no recordings
// `fleet.twice` (note): other paths of the same jobs are left out
// `fleet.journal.damaged` (warning): lines of journals that are not outcomes

namespace {

constexpr std::array<std::string_view, 2> kAnalyzeOptions{"--only", "--launched"};

std::string text_of_analyze(FleetAnalyzeOptions o) {
  return "analyze\n" + job::text_of_all(job::named_rows(rows_of(o.analyze), kAnalyzeOptions));
}

std::string key_of_arguments(const FleetVerb& verb) {
  std::string all = verb.text;
  std::vector<std::string> paths;
  for (const std::string& path : verb.options.paths) paths.push_back(identity_of(path));
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) all += path + '\n';
  return seal::digest_of(all);
}

/// Take the work list of the folder, or make one.
Result<WorkList> take_work(const FleetVerb& verb, const std::string& path) {
  const std::string key = key_of_arguments(verb);
  if (is_file(path) && !verb.options.plan) {
    CHAKRA_ASSIGN(WorkList work, read_work(path));
    if (work.verb == verb.name && work.key == key) return work;
    return fail(Code::usage, "fleet.other",
                "the output belongs to a fleet of other jobs or options; use another output, or --plan for a new work "
                "list",
                {path});
  }
  CHAKRA_ASSIGN(WorkList work, verb.find_work());
  work.key = key;
  CHAKRA_TRY(write_work(work, path));
  return work;
}

FleetReport report_of(const WorkList& work, const TasksOf& tasks_of, const Journals& journals,
                      const std::string& output) {
  FleetReport report{work.verb, output, states_of(work, tasks_of, journals), {}};
  const auto find = [&](const char* tag, Severity severity, std::string text) {
    report.findings.push_back({tag, severity, -1, -1, std::move(text)});
  };
  if (!work.left_out.empty())
    find("fleet.left_out", Severity::note,
         fmt::format("{} left out, such as {}: no recording", show_count(std::ssize(work.left_out), "path"),
                     quote(work.left_out[0], 200)));
  if (work.twice > 0)
    find("fleet.twice", Severity::note,
         fmt::format("{} left out: other paths of the same jobs", show_count(work.twice, "path")));
  if (journals.damaged() > 0)
    find("fleet.journal.damaged", Severity::warning,
         fmt::format("the journals have {} without an outcome", show_count(journals.damaged(), "line")));
  int64_t open = 0;
  for (const FleetJobState& job : report.jobs)
    if (job.state == FleetState::open) open += job.tasks - job.tasks_done;
  if (open > 0)
    find("fleet.open", Severity::warning,
         fmt::format("{} of {} not finished; run the same call again", show_count(open, "task"),
                     show_count(report.count(FleetState::open), "job")));
  if (const int64_t failed = report.count(FleetState::failed); failed > 0)
    find("fleet.failed", Severity::error,
         fmt::format("{} of {} failed", show_count(failed), show_count(std::ssize(report.jobs), "job")));
  return report;
}

Result<TaskDone> analyze_one(const FleetAnalyzeOptions& o, const FleetJob& job) {
  job::AnalyzeOptions call = o.analyze;
  call.path = job.path;
  CHAKRA_ASSIGN(const job::AnalyzedJob analyzed, job::analyze_job(call));
  const answer::Answer answer = answer_of(analyzed);
  job::Outputs outputs;
  CHAKRA_TRY(job::add_answer(outputs, FleetPaths(o.fleet.output).answer(job), answer));
  CHAKRA_TRY(outputs.commit());
  TaskDone done;
  auto& values = done.values;
  values["ranks"] = fmt::format("{}", analyzed.ranks);
  values["warnings"] = fmt::format("{}", warnings_in(analyzed.findings));
  if (const answer::Table* const diagnosis = answer.table("diagnosis"); diagnosis && diagnosis->rows > 0) {
    values["diagnosis"] = diagnosis->column("kind")->text(0);
    values["place"] = diagnosis->column("place")->text(0);
    values["cost_ps"] = fmt::format("{}", diagnosis->column("cost_ps")->whole(0));
    values["share"] = fmt::format("{}", diagnosis->column("share")->real(0));
  }
  return done;
}

}  // namespace

Options fleet_rows(FleetOptions& o, const char* paths_help) {
  return {
      required({"paths", &o.paths, paths_help, "PATH..."}),
      required({"-o,--output",
                &o.output,
                "Folder for the results, which all processes share",
                "DIR",
                {},
                "A later call with the same arguments continues the work."}),
      shard_option(o.shard),
      {"--wait", &o.wait_s, "Seconds to wait for tasks of other shards without progress", "S",
       whole_number(0, 1'000'000), "Without waiting, a call ends when all other tasks of its shard are finished."},
      {"--memory",
       options::bytes_form(o.memory),
       "Memory for tasks that run together (default: 80 % of the free memory)",
       "BYTES",
       {},
       "The estimates are rules of thumb: the unpacked bytes of the input files, times 4 for analyses."},
      {"--plan",
       &o.plan,
       "Write the work list only",
       {},
       {},
       "The work list names the jobs, and the ranks of large ones. A new work list takes new and changed files; "
       "finished tasks of unchanged jobs stay finished."},
      {"--again",
       &o.again,
       "Run failed tasks again",
       {},
       {},
       "Without this option, a later call runs tasks again that could not read or write a file, and no other failed "
       "tasks."}};
}

int64_t warnings_in(const Findings& findings) {
  return std::count_if(findings.begin(), findings.end(),
                       [](const Finding& finding) { return finding.severity >= Severity::warning; });
}

Options rows_of(FleetAnalyzeOptions& o) {
  Options rows = fleet_rows(o.fleet, "Jobs, and folders of jobs");
  options::add(rows, job::named_rows(rows_of(o.analyze), kAnalyzeOptions));
  return rows;
}
Options rows_of(FleetMergeOptions& o) { return {required({"-o,--output", &o.output, "Folder of a fleet", "DIR"})}; }

int64_t FleetReport::count(FleetState state) const {
  return std::count_if(jobs.begin(), jobs.end(), [&](const FleetJobState& job) { return job.state == state; });
}

std::vector<FleetTask> analyze_tasks(const FleetJob& job, size_t index) {
  return {{index, 0, 0, job.key, multiply_bytes(job.bytes, 4)}};
}

Result<FleetReport> run_fleet(const FleetVerb& verb) {
  const FleetOptions& o = verb.options;
  const FleetPaths paths(o.output);
  CHAKRA_TRY(make_directories(paths.state()));
  CHAKRA_ASSIGN(const WorkList work, take_work(verb, paths.work_list()));
  CHAKRA_ASSIGN(Journals journals, o.plan ? Journals::look(paths.state()) : Journals::open(paths.state(), o.shard));
  if (!o.plan) CHAKRA_TRY(run_tasks(work, verb.tasks_of, verb.run, o, journals));
  return report_of(work, verb.tasks_of, journals, o.output);
}

Result<FleetReport> fleet_analyze(const FleetAnalyzeOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  const auto find_work = [&]() -> Result<WorkList> {
    WorkList work{.verb = "analyze", .key = {}, .jobs = {}, .left_out = {}};
    CHAKRA_ASSIGN(const Fleet fleet, fleet_of(o.fleet.paths));
    for (const std::string& path : fleet.jobs) {
      FleetJob& job = work.jobs.emplace_back();
      job.path = absolute_path(path);
      const auto files = job::job_files(job.path);
      const std::vector<std::string> all = files ? *files : std::vector<std::string>{job.path};
      for (const std::string& file : all) job.bytes = add_bytes(job.bytes, file_size(file));
      job.key = key_of_files(text_of_analyze(o), all);
    }
    work.twice = static_cast<int64_t>(fleet.twice);
    name_jobs(work);
    return work;
  };
  return run_fleet({"analyze", o.fleet, text_of_analyze(o), analyze_tasks, find_work,
                    [&](const FleetJob& job, const FleetTask&) { return analyze_one(o, job); }});
}

Result<FleetReport> fleet_merge(const FleetMergeOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  const FleetPaths paths(o.output);
  CHAKRA_ASSIGN(const WorkList work, read_work(paths.work_list()));
  CHAKRA_ASSIGN(const Journals journals, Journals::look(paths.state()));
  return report_of(work, work.verb == "link" ? link_tasks : analyze_tasks, journals, o.output);
}

}  // namespace chakra::fleet
