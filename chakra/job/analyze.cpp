#include "chakra/job/analyze.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "chakra/io/io.h"
#include "chakra/job/no_effect.h"

namespace chakra::job {
namespace {

using result::Table;

constexpr size_t kTableRowsShown = 12;
constexpr size_t kRowsDrawn = 100;

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
  for (const analyze::AnalysisRow* row : rows) {
    CHAKRA_ASSIGN(std::vector<analyze::NamedTable> some, row->run(job, analyzed.findings));
    std::move(some.begin(), some.end(), std::back_inserter(analyzed.tables));
  }
  analyze::join_ranks(analyzed.findings);
  if (o.imbalances) analyzed.imbalances = analyze::imbalances(traces, job.matching);
  return analyzed;
}

result::Report report_of(const AnalyzedJob& job) {
  result::Report report;
  report.parts.emplace_back(fmt::format("{}: {} rank{}\n", job.path, job.ranks, job.ranks == 1 ? "" : "s"));
  for (const result::NamedTable& t : job.tables)
    if (!t.table.rows.empty() && !t.detail)
      report.parts.emplace_back(result::first_rows(t.table, kTableRowsShown, "rows"));
  if (job.findings.empty()) return report;
  report.parts.emplace_back("\n");
  report.parts.emplace_back(result::Report::Found{job.findings, false});
  return report;
}

answer::Answer answer_of(const AnalyzedJob& job) {
  constexpr std::array kJob{answer::column<&AnalyzedJob::path>("path", answer::Unit::none, "the path of the job"),
                            answer::column<&AnalyzedJob::ranks>("ranks", answer::Unit::count, "ranks that were read")};
  answer::Builder to("analyze");
  to.values("", &job, kJob);
  for (const result::NamedTable& none : analyze::empty_tables()) {
    const auto made = std::find_if(job.tables.begin(), job.tables.end(),
                                   [&](const result::NamedTable& t) { return t.name == none.name; });
    const bool present = made != job.tables.end();
    result::add_table(to, none.name, present ? made->table : none.table, present);
  }
  return std::move(to).finish(job.findings);
}

Table picture_of(const std::vector<analyze::Imbalance>& imbalances) {
  Table table{"no collective has sizes that differ from rank to rank", {{"", Table::Kind::text}}, {}};
  if (imbalances.empty()) return table;
  const analyze::Imbalance& worst = imbalances[0];
  const std::string type(trace::name(worst.type));
  table.title =
      fmt::format("{} in group {}: bytes {} by rank; {} of {} collectives unbalanced, worst {:.2f} times the mean",
                  type, worst.group.empty() ? "all" : worst.group, worst.received ? "received" : "sent",
                  worst.rows.size(), worst.collectives, worst.worst);
  for (const int64_t rank : worst.ranks) table.columns.push_back({fmt::format("rank {}", rank), Table::Kind::bytes});
  for (size_t r = 0; r < std::min(worst.rows.size(), kRowsDrawn); ++r) {
    std::vector<Table::Cell> row{fmt::format("collective {}", worst.rows[r].index)};
    for (const uint64_t bytes : worst.rows[r].bytes)
      row.emplace_back(static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)));
    table.rows.push_back(std::move(row));
  }
  if (worst.rows.size() > kRowsDrawn) table.title += fmt::format(" (the first {} of them)", kRowsDrawn);
  return table;
}

}  // namespace chakra::job
