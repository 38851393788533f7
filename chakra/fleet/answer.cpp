// The report of a fleet, as text and as an answer.
#include <algorithm>
#include <map>

#include "chakra/answer/rows.h"
#include "chakra/fleet/fleet.h"

namespace chakra::fleet {
namespace {

using answer::column;
using answer::Unit;
using Job = FleetJobState;

constexpr std::array kReport{column<&FleetReport::verb>("fleet", Unit::none, "link or analyze"),
                             column<&FleetReport::output>("output", Unit::none, "folder of the results"),
                             column<FleetReport>("done", Unit::count, "jobs with a result",
                                                 [](const FleetReport& r) { return r.count(FleetState::done); }),
                             column<FleetReport>("failed", Unit::count, "jobs with an error",
                                                 [](const FleetReport& r) { return r.count(FleetState::failed); }),
                             column<FleetReport>("open", Unit::count, "jobs with tasks that are not finished",
                                                 [](const FleetReport& r) { return r.count(FleetState::open); }),
                             column<FleetReport>("ok", Unit::none, "whether no job failed", [](const FleetReport& r) {
                               return r.count(FleetState::failed) == 0;
                             })};
constexpr std::array kJobRows{
    column<&Job::name>("job", Unit::none, "name of the results: jobs/<job>, answers/<job>.json"),
    column<&Job::path>("path", Unit::none, "path of the job"),
    column<Job>("state", Unit::none, "done, failed or open",
                [](const Job& j) { return kFleetStates[static_cast<size_t>(j.state)]; }),
    column<&Job::ranks>("ranks", Unit::count, "ranks of the job; null: not known yet"),
    column<&Job::nodes>("nodes", Unit::count, "nodes of the linked traces"),
    column<&Job::measured_ps>("measured_ps", Unit::ps, "measured time, from the first start to the last end"),
    column<&Job::self_check_error>("self_check_error", Unit::share,
                                   "self-check of the linked traces: simulated / measured - 1"),
    column<&Job::diagnosis>("diagnosis", Unit::none, "kind of the most costly problem; none: no problem"),
    column<&Job::place>("place", Unit::none, "rank, link or group of the problem"),
    column<&Job::cost_ps>("cost_ps", Unit::ps, "time of a step that the problem costs"),
    column<&Job::share>("share", Unit::share, "share of the step"),
    column<&Job::warnings>("warnings", Unit::count, "findings of the job that are warnings or errors"),
    column<&Job::tasks>("tasks", Unit::count, "tasks of the job"),
    column<&Job::tasks_done>("tasks_done", Unit::count, "finished tasks of the job"),
    column<Job>("wall_ps", Unit::ps, "wall time of the tasks, summed up",
                [](const Job& j) { return multiply_saturated(kPsPerUs, j.wall_us); })};
constexpr std::array kFailures{
    column<&Job::name>("job", Unit::none, "name of the job"),
    column<&Job::task>("task", Unit::none, "rank of a job whose ranks are tasks; empty: the whole job"),
    column<&Job::tag>("error", Unit::none, "tag of the error"),
    column<&Job::text>("text", Unit::none, "place and text of the error")};

/// Jobs with the same most costly problem.
struct Problem {
  std::string kind;
  int64_t jobs = 0;
  double share = 0;  ///< summed up
};
constexpr std::array kProblems{
    column<&Problem::kind>("diagnosis", Unit::none, "kind of the most costly problem of a job"),
    column<&Problem::jobs>("jobs", Unit::count, "jobs with this problem"),
    column<Problem>("share", Unit::share, "share of the step that the problem costs, mean of these jobs",
                    [](const Problem& p) { return p.share / static_cast<double>(p.jobs); })};

std::vector<Problem> problems_of(const FleetReport& report) {
  std::map<std::string, Problem> by_kind;
  for (const Job& job : report.jobs) {
    if (!job.diagnosis) continue;
    Problem& problem = by_kind[*job.diagnosis];
    problem.kind = *job.diagnosis;
    ++problem.jobs;
    problem.share += job.share.value_or(0);
  }
  std::vector<Problem> problems;
  for (auto& [kind, problem] : by_kind) problems.push_back(std::move(problem));
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.jobs > b.jobs; });
  return problems;
}

constexpr std::array<view::ShowColumn, 7> kJobsText{
    {{.key = "job", .heading = "job"},
     {.key = "state", .heading = "state"},
     {.key = "ranks", .heading = "ranks"},
     {.key = "measured_ps", .heading = "measured", .hide = view::Hide::missing},
     {.key = "+self_check_error", .heading = "self-check", .hide = view::Hide::missing},
     {.key = "diagnosis", .heading = "diagnosis", .hide = view::Hide::missing},
     {.key = "warnings", .heading = "warnings", .hide = view::Hide::missing}}};
constexpr std::array<view::ShowColumn, 3> kProblemsText{{{.key = "diagnosis", .heading = "diagnosis"},
                                                         {.key = "jobs", .heading = "jobs"},
                                                         {.key = "share", .heading = "share of the step"}}};
constexpr std::array<view::ShowColumn, 4> kFailuresText{{{.key = "job", .heading = "failed"},
                                                         {.key = "task", .heading = "task"},
                                                         {.key = "error", .heading = "error"},
                                                         {.key = "text", .heading = "reason"}}};
constexpr std::array<view::Show, 5> kText{{{.line = "jobs: {done} done, {failed} failed, {open} open"},
                                           {.table = "jobs", .first = 20, .columns = kJobsText},
                                           {.table = "problems", .first = view::kAllRows, .columns = kProblemsText},
                                           {.table = "failures", .first = 20, .columns = kFailuresText},
                                           {.findings = true}}};

}  // namespace

answer::Answer answer_of(const FleetReport& report) {
  std::vector<Job> failures;
  for (const Job& job : report.jobs)
    if (job.state == FleetState::failed) failures.push_back(job);
  answer::Builder to("fleet");
  to.values("", &report, kReport);
  to.table("jobs", "jobs, ascending by path", report.jobs, kJobRows);
  to.table("problems", "most costly problems of the jobs, most jobs first", problems_of(report), kProblems);
  to.table("failures", "jobs with an error, and the first error of each", failures, kFailures);
  return std::move(to).finish(report.findings);
}

view::Text text_of(const FleetReport&) { return {kText}; }

}  // namespace chakra::fleet
