// The tables of a simulation.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chakra/job/report_parts.h"

namespace chakra::job {

using result::Table;

namespace {

/// "0", or "0 (and 127 alike)" where one was simulated for all of them.
std::string rank_label(const sim::SimReport& report, const sim::RankReport& r) {
  const int64_t alike = report.actors.empty() ? 1 : report.actors[r.actor].ranks;
  return alike > 1 ? fmt::format("{} (and {} alike)", r.rank, show_count(alike - 1)) : fmt::format("{}", r.rank);
}

/// "direct, near", and why: "asked for", or the next best algorithm and how much longer it would take alone.
std::pair<std::string, std::string> algorithm_text(const sim::CollectiveReport& c) {
  if (c.fitted)
    return {fmt::format("{} {}", c.fitted->algorithm, c.fitted->protocol),
            c.fitted->from_parts                             ? "fitted, from parts"
            : c.fitted->other_ranks || c.fitted->other_bytes ? "fitted, extrapolated"
            : c.fitted->error_percent < 0                    ? "fitted"
                                          : fmt::format("fitted +-{:.1f} %", c.fitted->error_percent)};
  if (!c.algorithm) return {};
  std::string name = fmt::format("{}{}", c.algorithm->name, c.near ? ", near" : "");
  if (c.by_rule) return {std::move(name), "asked for"};
  const coll::Candidate *taken = nullptr, *next = nullptr;
  for (const coll::Candidate& other : c.candidates) {
    if (other.algorithm == c.algorithm && (other.near || other.by_grid) == c.near &&
        (!taken || !taken->predicted_ps || (other.predicted_ps && *other.predicted_ps < *taken->predicted_ps)))
      taken = &other;
    else if (other.algorithm != c.algorithm && other.predicted_ps &&
             (!next || *other.predicted_ps < *next->predicted_ps))
      next = &other;
  }
  if (!taken || !taken->predicted_ps) return {std::move(name), "too large to compare"};
  if (!next || *taken->predicted_ps == 0) return {std::move(name), "no other"};
  const double more = static_cast<double>(*next->predicted_ps) / static_cast<double>(*taken->predicted_ps) - 1;
  if (std::abs(more) < 0.005) return {std::move(name), fmt::format("{}, as fast", next->algorithm->name)};
  return {std::move(name), fmt::format("{} {:+.1f} %", next->algorithm->name, 100 * more)};
}

}  // namespace

Table rank_table(const sim::SimReport& report, bool all) {
  using Part = std::pair<const char*, Picoseconds sim::RankReport::*>;
  std::vector<Part> parts{{"compute", &sim::RankReport::compute_ps},
                          {"exposed comm", &sim::RankReport::exposed_comm_ps}};
  if (!report.tiers.empty()) parts.push_back({"exposed storage", &sim::RankReport::exposed_storage_ps});
  for (const Part& part : {Part{"bubble", &sim::RankReport::bubble_ps}, Part{"host", &sim::RankReport::host_ps}})
    if (all || std::any_of(report.ranks.begin(), report.ranks.end(), [&](const auto& r) { return r.*part.second > 0; }))
      parts.push_back(part);
  parts.push_back({"idle", &sim::RankReport::idle_ps});
  const bool folded = !all && std::any_of(report.actors.begin(), report.actors.end(),
                                          [](const sim::ActorReport& actor) { return actor.ranks > 1; });
  Table table{"", {{"rank", folded ? Table::Kind::text : Table::Kind::count}, {"finish", Table::Kind::time_ps}}, {}};
  for (const Part& part : parts) {
    table.columns.push_back({part.first, Table::Kind::time_ps});
    if (!all) table.columns.push_back({"", Table::Kind::share});
  }
  std::vector<char> seen(report.actors.size(), 0);
  for (const sim::RankReport& r : report.ranks) {
    if (!all && !report.actors.empty() && std::exchange(seen[r.actor], 1)) continue;
    std::vector<Table::Cell> row{folded ? Table::Cell(rank_label(report, r)) : Table::Cell(r.rank), r.finish_ps};
    for (const Part& part : parts) {
      row.push_back(r.*part.second);
      if (!all)
        row.push_back(r.finish_ps ? static_cast<double>(r.*part.second) / static_cast<double>(r.finish_ps) : 0.0);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table collective_table(const sim::SimReport& report, bool all) {
  Table table{"",
              {{"collective", Table::Kind::text},
               {"group", Table::Kind::text},
               {"members", Table::Kind::count},
               {"size", Table::Kind::bytes},
               {"count", Table::Kind::count},
               {"time", Table::Kind::time_ps},
               {"waiting", Table::Kind::time_ps},
               {"algorithm", Table::Kind::rate_bytes_per_s},
               {"bus", Table::Kind::rate_bytes_per_s}},
              {}};
  const bool native = std::any_of(report.collectives.begin(), report.collectives.end(),
                                  [](const sim::CollectiveReport& c) { return c.algorithm || c.fitted; });
  if (native) {
    table.columns.push_back({"taken", Table::Kind::text});
    table.columns.push_back({"next best", Table::Kind::text});
  }
  std::map<std::vector<int64_t>, std::pair<size_t, int64_t>> alike;  // what is said -> its row, and groups
  for (const sim::CollectiveReport& c : report.collectives) {
    const std::vector<int64_t> said{
        static_cast<int64_t>(c.type), c.members, static_cast<int64_t>(c.bytes), c.count, c.total_ps, c.wait_ps};
    const auto [found, added] = alike.try_emplace(said, table.rows.size(), 0);
    ++found->second.second;
    if (!added && !all) continue;
    table.rows.push_back({std::string(trace::name(c.type)), c.group.empty() ? "all" : c.group, int64_t{c.members},
                          static_cast<double>(c.bytes), c.count, c.total_ps, c.wait_ps, c.algorithm_bytes_per_s,
                          c.bus_bytes_per_s});
    if (!native) continue;
    auto [name, why] = algorithm_text(c);
    table.rows.back().emplace_back(std::move(name));
    table.rows.back().emplace_back(std::move(why));
  }
  for (const auto& [said, row] : alike)
    if (!all && row.second > 1)
      std::get<std::string>(table.rows[row.first][1]) += fmt::format(" (and {} alike)", show_count(row.second - 1));
  return table;
}

Table link_table(const sim::SimReport& report) {
  Table table{"",
              {{"from", Table::Kind::text},
               {"to", Table::Kind::text},
               {"carried", Table::Kind::bytes},
               {"busy", Table::Kind::time_ps},
               {"", Table::Kind::share}},
              {}};
  for (const sim::LinkReport& l : report.links)
    table.rows.push_back(
        {l.from, l.to, static_cast<double>(l.bytes), l.busy_ps,
         report.makespan_ps ? static_cast<double>(l.busy_ps) / static_cast<double>(report.makespan_ps) : 0.0});
  return table;
}

Table path_table(const sim::SimReport& report) {
  std::map<std::string, std::pair<Picoseconds, int64_t>> sums;
  for (const sim::PathPiece& p : report.critical_path) {
    std::string text(sim::kPathKindNames[static_cast<size_t>(p.kind)]);
    if (p.kind == sim::PathPiece::Kind::collective)
      text = fmt::format("{} of group {}", trace::name(p.type), p.group.empty() ? "all" : p.group);
    if (p.kind == sim::PathPiece::Kind::storage) text = fmt::format("storage, tier {}", p.tier);
    auto& [time, count] = sums[text];
    time += p.end_ps - p.start_ps;
    ++count;
  }
  Table table{"",
              {{"critical path", Table::Kind::text},
               {"pieces", Table::Kind::count},
               {"time", Table::Kind::time_ps},
               {"", Table::Kind::share}},
              {}};
  for (const auto& [text, sum] : sums)
    table.rows.push_back(
        {text, sum.second, sum.first,
         static_cast<double>(sum.first) / static_cast<double>(std::max<Picoseconds>(1, report.makespan_ps))});
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& x, const auto& y) { return std::get<int64_t>(x[2]) > std::get<int64_t>(y[2]); });
  return table;
}

}  // namespace chakra::job
