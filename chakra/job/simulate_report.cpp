// What people read of a simulation.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/job/report_parts.h"
#include "chakra/job/simulate.h"

namespace chakra::job {
namespace {

using result::Report;
using result::Table;

constexpr size_t kRanksShown = 16;
constexpr size_t kCollectivesShown = 24;
constexpr size_t kRowsShown = 10;

/// A bar per link, as long as the busiest link is busy.
void add_bars(Table& links) {
  constexpr double kLongest = 20;
  links.columns.push_back({"", Table::Kind::text});
  const auto busy = [](const std::vector<Table::Cell>& row) { return static_cast<double>(std::get<int64_t>(row[3])); };
  const double most = links.rows.empty() ? 1 : std::max(1.0, busy(links.rows.front()));
  for (auto& row : links.rows)
    row.emplace_back(std::string(static_cast<size_t>(kLongest * busy(row) / most + 0.5), '#'));
}

/// How evenly links are used: one that carries what eight should stands out.
std::string link_summary(const sim::SimReport& report) {
  std::vector<Picoseconds> busy;
  for (const sim::LinkReport& l : report.links) busy.push_back(l.busy_ps);
  std::sort(busy.begin(), busy.end());
  return fmt::format("  {} links carried something; the busiest for {}, half of them for {} or less\n",
                     show_count(static_cast<int64_t>(busy.size())), show_time(busy.back()),
                     show_time(busy[busy.size() / 2]));
}

/// The busiest links first.
void add_links(const sim::SimReport& report, Report& out) {
  Table links = link_table(report);
  std::stable_sort(links.rows.begin(), links.rows.end(),
                   [](const auto& x, const auto& y) { return std::get<int64_t>(x[3]) > std::get<int64_t>(y[3]); });
  add_bars(links);
  out.parts.emplace_back(result::first_rows(links, kRowsShown, "links"));
  out.parts.emplace_back(link_summary(report));
}

}  // namespace

Report report_of(const SimulateResult& result) {
  const sim::SimReport& report = result.report;
  Report out;
  const auto add_rows = [&out](const Table& table, size_t most, std::string_view of) {
    if (!table.rows.empty()) out.parts.emplace_back(result::first_rows(table, most, of));
  };
  out.parts.emplace_back(fmt::format("{}: {} ranks on a {}{}{}\n{} after {}\n", result.path, report.ranks.size(),
                                     result.network, result.compat ? ", by the rules of astra-sim" : "",
                                     result.recorded_transfers ? ", transfers as recorded" : "",
                                     report.interrupted ? "stopped" : "finished", show_time(report.makespan_ps)));
  if (!result.compat)
    out.parts.emplace_back(fmt::format("congestion {}: {}\n",
                                       sim::kCongestionNames[static_cast<size_t>(report.congestion)],
                                       report.congestion_reason));
  out.parts.emplace_back(reliability_line(report));
  if (result.delays) add_parts(*result.delays, out);
  out.parts.emplace_back(result::first_rows(rank_table(report, false), kRanksShown, "ranks"));
  out.parts.emplace_back(rates_line(report));
  out.parts.emplace_back(throughput_line(result));
  add_rows(device_table(report), kRowsShown, "rows");
  add_rows(collective_table(report, false), kCollectivesShown, "rows");
  if (!report.links.empty()) add_links(report, out);
  add_rows(tier_table(report), kRowsShown, "tiers");
  add_rows(path_table(report), kRowsShown, "rows");
  if (result.replay) out.parts.emplace_back(rows_of(*result.replay));
  out.parts.emplace_back(Report::Found{report.findings, false});
  return out;
}

Report astra_report_of(const SimulateResult& result) {
  Report out;
  for (const sim::RankReport& r : result.report.ranks)
    out.parts.emplace_back(fmt::format("sys[{}] finished, {} cycles, exposed communication {} cycles.\n", r.rank,
                                       r.finish_ps / kPsPerNs, r.exposed_comm_ps / kPsPerNs));
  out.parts.emplace_back(Report::Found{result.report.findings, false});
  return out;
}

std::vector<result::NamedTable> tables_of(const SimulateResult& result) {
  const sim::SimReport& report = result.report;
  std::vector<result::NamedTable> tables{{"ranks", rank_table(report, true)},
                                         {"collectives", collective_table(report, true)}};
  if (!report.links.empty()) tables.push_back({"links", link_table(report)});
  if (!report.tiers.empty()) tables.push_back({"tiers", tier_table(report)});
  if (!report.critical_path.empty()) tables.push_back({"critical_path", path_table(report)});
  return tables;
}

}  // namespace chakra::job
