#include "chakra/job/analyze.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "chakra/io/io.h"
#include "chakra/job/no_effect.h"

namespace chakra::job {
namespace {

Result<std::vector<const analyze::AnalysisRow*>> chosen(const std::vector<std::string>& only) {
  for (const std::string& name : only)
    if (std::none_of(analyze::kAnalyses.begin(), analyze::kAnalyses.end(),
                     [&](const auto& row) { return row.name == name; }))
      return fail(Code::usage, "cli.usage",
                  fmt::format("there is no analysis {}; 'chakra list analyses' shows them", quote(name)));
  std::vector<const analyze::AnalysisRow*> rows;
  for (const analyze::AnalysisRow& row : analyze::kAnalyses)
    if (only.empty() || std::find(only.begin(), only.end(), row.name) != only.end()) rows.push_back(&row);
  return rows;
}

}  // namespace

Result<AnalyzedJob> analyze_job(const AnalyzeOptions& o) {
  CHAKRA_ASSIGN(const std::vector<const analyze::AnalysisRow*> rows, chosen(o.only));
  match::GroupTable groups;
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(groups, match::load_groups(o.groups));
  }
  AnalyzedJob analyzed;
  CHAKRA_ASSIGN(const trace::TraceSet traces, io::read_job(o.path, {.texts = true}));
  analyzed.ranks = traces.ranks.size();
  if (!o.groups.empty()) analyzed.findings = groups_without_effect(groups, traces.ranks);
  CHAKRA_ASSIGN(analyze::Job job, analyze::prepare(traces, groups, analyzed.findings));
  job.scope = o.scope;
  job.details = o.details;
  for (const analyze::AnalysisRow* row : rows) {
    CHAKRA_ASSIGN(std::vector<analyze::NamedTable> some, row->run(job, analyzed.findings));
    std::move(some.begin(), some.end(), std::back_inserter(analyzed.tables));
  }
  analyze::join_ranks(analyzed.findings);
  if (o.imbalances) analyzed.imbalances = analyze::imbalances(traces, job.matching);
  return analyzed;
}

}  // namespace chakra::job
