#include "chakra/job/analyze.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "chakra/io/io.h"
#include "chakra/job/no_effect.h"

namespace chakra::job {
namespace {

constexpr size_t kRowsDrawn = 100;

constexpr std::array<view::Show, 4> kAnalyzeText{{
    {.line = "{subject}: {ranks} rank[{?ranks=1}|s]"},
    {.line = "  {kind}[ at {?place}{place}]: {sentence} ({evidence}, row {row})", .table = "diagnosis"},
    {.table = "*", .first = 12},
    {.findings = true},
}};

std::vector<const analyze::AnalysisRow*> chosen(const std::vector<std::string>& only) {
  std::vector<const analyze::AnalysisRow*> rows;
  for (const analyze::AnalysisRow& row : analyze::kAnalyses)
    if (only.empty() || std::find(only.begin(), only.end(), row.name) != only.end()) rows.push_back(&row);
  return rows;
}

/// Fill Job::made with the tables of the analyses and of those that a diagnosis reads. Findings: first those of what a
/// diagnosis reads.
Result<void> run_side_by_side(const analyze::Job& job, const std::vector<const analyze::AnalysisRow*>& rows,
                              Findings& findings) {
  const auto is_diagnosis = [](const analyze::AnalysisRow* row) { return row->name == analyze::kDiagnosis; };
  const bool diagnoses = std::any_of(rows.begin(), rows.end(), is_diagnosis);
  std::vector<const analyze::AnalysisRow*> run;
  for (const bool source : {true, false})
    for (const analyze::AnalysisRow& row : analyze::kAnalyses) {
      const bool chosen = std::find(rows.begin(), rows.end(), &row) != rows.end() && !is_diagnosis(&row);
      const bool read = diagnoses && std::find(analyze::kDiagnosisSources.begin(), analyze::kDiagnosisSources.end(),
                                               row.name) != analyze::kDiagnosisSources.end();
      if (source ? read : chosen && !read) run.push_back(&row);
    }
  std::vector<std::vector<analyze::NamedTable>> tables(run.size());
  std::vector<Findings> found(run.size());
  CHAKRA_TRY(each_in_parallel(run.size(), [&](size_t i) -> Result<void> {
    CHAKRA_ASSIGN(tables[i], run[i]->run(job, found[i]));
    return {};
  }));
  for (size_t i = 0; i < run.size(); ++i) {
    (*job.made)[run[i]->name] = std::move(tables[i]);
    std::move(found[i].begin(), found[i].end(), std::back_inserter(findings));
  }
  return {};
}

// `analyze.empty` (finding): an analysis that was asked for has no rows for this job
void note_if_empty(std::string_view name, const std::vector<analyze::NamedTable>& tables, Findings& findings) {
  const bool empty = std::all_of(tables.begin(), tables.end(),
                                 [](const analyze::NamedTable& each) { return each.table.rows.empty(); });
  if (empty)
    findings.push_back({"analyze.empty", Severity::note, -1, -1,
                        fmt::format("'{}' has no rows: the traces have nothing that it is about", name)});
}

}  // namespace

Result<AnalyzedJob> analyze_job(const AnalyzeOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  const std::vector<const analyze::AnalysisRow*> rows = chosen(o.only);
  match::GroupTable groups;
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(groups, match::load_groups(o.groups));
  }
  AnalyzedJob analyzed;
  analyzed.path = o.path;
  CHAKRA_ASSIGN(const trace::TraceSet traces, read_job(o.path, o.loaded, {.texts = true}));
  analyzed.ranks = traces.ranks.size();
  if (!o.groups.empty()) analyzed.findings = groups_without_effect(groups, traces.ranks);
  CHAKRA_ASSIGN(analyze::Job job, analyze::prepare(traces, groups, analyzed.findings));
  job.scope = o.scope;
  job.details = o.details;
  CHAKRA_TRY(run_side_by_side(job, rows, analyzed.findings));
  Findings matched;
  if (std::any_of(rows.begin(), rows.end(), [](const analyze::AnalysisRow* row) { return row->compares_ranks; }))
    matched = analyze::findings_of_matching(job.matching);
  for (const analyze::AnalysisRow* const row : rows) {
    CHAKRA_ASSIGN(std::vector<analyze::NamedTable> some, analyze::run_analysis(job, *row, analyzed.findings));
    if (!o.only.empty() && !(row->compares_ranks && !matched.empty()))
      note_if_empty(row->name, some, analyzed.findings);
    std::move(some.begin(), some.end(), std::back_inserter(analyzed.tables));
  }
  analyze::join_ranks(analyzed.findings);
  analyzed.findings.insert(analyzed.findings.begin(), matched.begin(), matched.end());
  if (!o.svg.empty()) analyzed.imbalances = analyze::imbalances(traces, job.matching);
  return analyzed;
}

view::Text text_of(const AnalyzedJob& job) { return {kAnalyzeText, job.path}; }

answer::Answer answer_of(const AnalyzedJob& job) {
  constexpr std::array kJob{answer::column<&AnalyzedJob::path>("path", answer::Unit::none, "the path of the job"),
                            answer::column<&AnalyzedJob::ranks>("ranks", answer::Unit::count, "ranks that were read")};
  answer::Builder to("analyze");
  to.values("", &job, kJob);
  result::add_tables(to, "", analyze::empty_tables(), job.tables);
  return std::move(to).finish(job.findings);
}

view::HeatMap picture_of(const std::vector<analyze::Imbalance>& imbalances) {
  view::HeatMap map{"no collective has sizes that differ from rank to rank", {}, {}};
  if (imbalances.empty()) return map;
  const analyze::Imbalance& worst = imbalances[0];
  map.title =
      fmt::format("{} in group {}: bytes {} by rank; {} of {} collectives unbalanced, worst {:.2f} times the mean",
                  trace::name(worst.type), worst.group.empty() ? "all" : worst.group,
                  worst.received ? "received" : "sent", worst.rows.size(), worst.collectives, worst.worst);
  for (const int64_t rank : worst.ranks) map.columns.push_back(fmt::format("rank {}", rank));
  for (size_t r = 0; r < std::min(worst.rows.size(), kRowsDrawn); ++r)
    map.rows.push_back({fmt::format("collective {}", worst.rows[r].index), worst.rows[r].bytes});
  if (worst.rows.size() > kRowsDrawn) map.title += fmt::format(" (the first {} of them)", kRowsDrawn);
  return map;
}

}  // namespace chakra::job
