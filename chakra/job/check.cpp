#include "chakra/job/check.h"

#include "chakra/io/io.h"
#include "chakra/job/no_effect.h"
#include "chakra/job/ranks.h"

namespace chakra::job {

Result<CheckedJob> check_job(const CheckOptions& o) {
  match::GroupTable groups;
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(groups, match::load_groups(o.groups));
  }
  CheckedJob checked;
  trace::TraceSet job;
  match::GroupTable all_groups = groups;
  if (io::is_class_job(o.path)) {  // says who is in a group, whether the traces do or not
    CHAKRA_ASSIGN(const trace::ClassJob classes, io::read_class_job(o.path));
    for (const trace::ProcessGroup& group : classes.groups)
      if (!group.ranks.empty()) all_groups.try_emplace(group.name, group.ranks);
    CHAKRA_ASSIGN(job, io::expand(classes, o.path));
  } else {
    CHAKRA_ASSIGN(job, io::read_job(o.path));
  }
  if (!o.groups.empty()) checked.findings = groups_without_effect(groups, job.ranks);
  CHAKRA_TRY(expand_job(o.expand, job, all_groups, checked.findings));
  checked.ranks = job.ranks.size();
  for (const trace::Trace& t : job.ranks) checked.nodes += t.size();
  for (Finding& finding : check::check(job, all_groups)) checked.findings.push_back(std::move(finding));
  return checked;
}

}  // namespace chakra::job
