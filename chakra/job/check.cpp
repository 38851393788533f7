#include "chakra/job/check.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/flight/flight.h"
#include "chakra/io/io.h"
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

result::Report report_of(const CheckedJob& job) {
  constexpr size_t kMostRanks = 16;
  const size_t found = job.findings.size();
  result::Report report;
  report.parts.emplace_back(
      fmt::format("{}: {} rank{}, {} {}: {}\n", job.path, job.ranks, job.ranks == 1 ? "" : "s", show_count(job.nodes),
                  job.dumps ? (job.nodes == 1 ? "record" : "records") : "nodes",
                  found == 0 ? "nothing found" : fmt::format("{} finding{}", found, found == 1 ? "" : "s")));
  if (job.dumps) report.parts.emplace_back(result::first_rows(job.where, kMostRanks, "ranks"));
  report.parts.emplace_back(result::Report::Found{job.findings});
  return report;
}

result::Json to_json(std::span<const CheckedJob> jobs) {
  result::Json list = result::Json::array();
  Findings all;
  for (const CheckedJob& job : jobs) {
    list.push_back({{"path", job.path}, {"ranks", job.ranks}, {job.dumps ? "records" : "nodes", job.nodes}});
    if (job.dumps) list.back()["where"] = result::to_json(job.where);
    all.insert(all.end(), job.findings.begin(), job.findings.end());
  }
  return {{"ok", !check::any_error(all)}, {"jobs", std::move(list)}, {"findings", result::to_json(all)}};
}

}  // namespace chakra::job
