#include "chakra/job/check.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/progress.h"
#include "chakra/flight/flight.h"
#include "chakra/io/io.h"
#include "chakra/job/answer_rows.h"
#include "chakra/job/no_effect.h"
#include "chakra/job/ranks.h"

namespace chakra::job {

Result<CheckedJob> check_job(const CheckOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  match::GroupTable groups;
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(groups, match::load_groups(o.groups));
  }
  CheckedJob checked;
  checked.path = o.path;
  trace::TraceSet job;
  match::GroupTable all_groups = groups;
  if (is_class_job(o.path, o.loaded)) {  // says who is in a group, whether the traces do or not
    CHAKRA_ASSIGN(const trace::ClassJob classes, read_class_job(o.path, o.loaded));
    for (const trace::ProcessGroup& group : classes.groups)
      if (!group.ranks.empty()) all_groups.try_emplace(group.name, group.ranks);
    CHAKRA_ASSIGN(job, io::expand(classes, o.path));
  } else {
    CHAKRA_ASSIGN(job, read_job(o.path, o.loaded));
  }
  if (!o.groups.empty()) checked.findings = groups_without_effect(groups, job.ranks);
  CHAKRA_TRY(expand_job(o.expand, job, all_groups, checked.findings));
  checked.ranks = job.ranks.size();
  for (const trace::Trace& t : job.ranks) checked.nodes += t.size();
  for (Finding& finding : check::check(job, all_groups)) checked.findings.push_back(std::move(finding));
  CHAKRA_TRY(keep_going());
  return checked;
}

bool is_dump_path(const std::string& path) { return flight::is_dump_path(path); }

Result<CheckedJob> check_dumps(const std::vector<std::string>& paths) {
  CHAKRA_ASSIGN(flight::Dumps dumps, flight::read_dumps(paths));
  flight::Verdict verdict = flight::find_hang(dumps.ranks);
  CheckedJob checked;
  checked.path = paths.size() == 1 ? paths[0] : fmt::format("{} and {} more", paths[0], paths.size() - 1);
  checked.ranks = dumps.ranks.size();
  checked.findings = std::move(verdict.findings);
  for (Finding& finding : dumps.findings) checked.findings.push_back(std::move(finding));
  for (const flight::Dump& dump : dumps.ranks) checked.nodes += static_cast<int64_t>(dump.entries.size());
  checked.dumps = true;
  checked.where = std::move(verdict.ranks);
  return checked;
}

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

using answer::column;
using answer::Unit;

constexpr auto kOfDumps = [](const CheckedJob& job) { return job.dumps; };
constexpr auto kOfTraces = [](const CheckedJob& job) { return !job.dumps; };
constexpr auto kNodes = [](const CheckedJob& job) { return job.nodes; };
constexpr std::array kAllOk{
    column<bool>("ok", Unit::none, "no finding is an error", [](const bool& ok) { return ok; })};
constexpr std::array kCheckedJobs{
    column<&CheckedJob::path>("path", Unit::none, "the path of the job"),
    column<&CheckedJob::ranks>("ranks", Unit::count, "its ranks"),
    column_if<CheckedJob>(kOfTraces, "nodes", Unit::count, "nodes of all ranks", kNodes),
    column_if<CheckedJob>(kOfDumps, "records", Unit::count, "records of all dumps", kNodes),
    column<CheckedJob>("findings", Unit::count, "its findings, in the order of the jobs",
                       [](const CheckedJob& job) { return job.findings.size(); }),
    answer::rows<CheckedJob>("where", "of dumps: the position of each rank", kOfDumps)};
constexpr std::array kWhere{
    cell<0, int64_t>("rank", Unit::id, "the rank"),
    cell<1, int64_t>("records", Unit::count, "records of its dump"),
    cell<2, std::string>("waits_in", Unit::none, "the call that it has not completed; may be empty"),
    cell<3, std::string>("state", Unit::none, "scheduled or started; empty if all calls are complete"),
    cell<4, std::string>("since", Unit::none, "when that call was made, in UTC"),
    cell<5, std::string>("completed_last", Unit::none, "the last call that it completed; may be empty")};

}  // namespace

answer::Answer answer_of(std::span<const CheckedJob> jobs) {
  Findings all;
  for (const CheckedJob& job : jobs) all.insert(all.end(), job.findings.begin(), job.findings.end());
  const bool ok = !check::any_error(all);
  answer::Builder to("check");
  to.values("", &ok, kAllOk);
  to.table("jobs", "the jobs, in the order of the arguments", jobs, kCheckedJobs);
  to.children(
      "jobs", "where", jobs, [](const CheckedJob& job) -> const auto& { return job.where.rows; }, kWhere);
  return std::move(to).finish(std::move(all));
}

// ---- as text ---------------------------------------------------------------------------------------------------

namespace {

constexpr std::array<view::ShowColumn, 6> kShowWhere{{
    {.key = "rank", .heading = "rank"},
    {.key = "records", .heading = "records"},
    {.key = "waits_in", .heading = "waits in"},
    {.key = "state", .heading = "state"},
    {.key = "since", .heading = "since"},
    {.key = "completed_last", .heading = "completed last"},
}};
constexpr std::array<view::Show, 2> kShowJob{
    {{.table = "where", .first = 16, .columns = kShowWhere}, {.findings = true}}};
constexpr view::Text kInJob{kShowJob};
constexpr std::string_view kJobLine =
    "{path}: {ranks} rank[{?ranks=1}|s], [{nodes} nodes|{records} record[{?records=1}|s]]: "
    "[{?findings=0}nothing found|{findings} finding[{?findings=1}|s]]";
constexpr std::array<view::Show, 1> kCheckText{
    {{.line = kJobLine, .table = "jobs", .inside = &kInJob, .first = view::kAllRows}}};

}  // namespace

view::Text text_of(std::span<const CheckedJob>) { return {kCheckText}; }

}  // namespace chakra::job
