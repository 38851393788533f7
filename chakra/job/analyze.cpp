#include "chakra/job/analyze.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "chakra/base/progress.h"
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
  for (size_t i = 0; i < rows.size(); ++i) {
    CHAKRA_TRY(keep_going(i + 1, rows.size() + 1));  // before them all: the traces were read and matched
    CHAKRA_ASSIGN(std::vector<analyze::NamedTable> some, analyze::run_analysis(job, *rows[i], analyzed.findings));
    std::move(some.begin(), some.end(), std::back_inserter(analyzed.tables));
  }
  analyze::join_ranks(analyzed.findings);
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
