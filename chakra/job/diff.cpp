#include "chakra/job/diff.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/io/io.h"
#include "chakra/job/answer_rows.h"
#include "chakra/view/view.h"

namespace chakra::job {

using analyze::DiffRow;
using result::Table;
using Kind = Table::Kind;

Result<JobsDiff> diff_jobs(const DiffOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  CHAKRA_ASSIGN(const trace::TraceSet a, read_job(o.a, o.loaded_a, {.texts = true}));
  CHAKRA_ASSIGN(const trace::TraceSet b, read_job(o.b, o.loaded_b, {.texts = true}));
  JobsDiff d{o.a, o.b, a.ranks.size(), b.ranks.size(), {}, o.threshold, {}, {}};
  CHAKRA_ASSIGN(d.diff, analyze::diff(a, b, d.findings));
  analyze::join_ranks(d.findings);
  if (o.threshold) d.exceeding = analyze::exceeding(d.diff, *o.threshold / 100, o.least_share / 100);
  return d;
}

// ---- tables ------------------------------------------------------------------------------------------------

namespace {

constexpr size_t kDifferencesShown = 20;

/// b / a; words where one of them has none.
Table::Cell ratio(int64_t a, int64_t b) {
  if (a == 0) return std::string(b == 0 ? "" : "new");
  if (b == 0) return std::string("gone");
  return static_cast<double>(b) / static_cast<double>(a);
}

Table summary(const analyze::Diff& d) {
  Table t{"", {{"", Kind::text}, {"a", Kind::text}, {"b", Kind::text}, {"ratio", Kind::text}}, {}};
  const auto times = [&](const char* what, Picoseconds a, Picoseconds b) {
    t.rows.push_back({std::string(what), show_time(a), show_time(b), ratio(a, b)});
  };
  const auto counts = [&](const char* what, int64_t a, int64_t b) {
    t.rows.push_back({std::string(what), show_count(a), show_count(b), ratio(a, b)});
  };
  times("span of the longest rank", d.span_a, d.span_b);
  times("time in nodes", d.time_a, d.time_b);
  counts("nodes", d.nodes_a, d.nodes_b);
  counts("dependencies", d.edges_a, d.edges_b);
  return t;
}

bool differs(const DiffRow& row) {
  return row.added || row.removed || row.changed || row.time_a != row.time_b || row.bytes_a != row.bytes_b;
}

}  // namespace

Table JobsDiff::rows(bool all) const {
  Table t{"",
          {{"kind", Kind::text},
           {"name", Kind::text},
           {"count a", Kind::count},
           {"count b", Kind::count},
           {"changed", Kind::count},
           {"time a", Kind::time_ps},
           {"time b", Kind::time_ps},
           {"ratio", Kind::text}},
          {}};
  if (all)
    for (const char* name : {"mean a", "mean b"}) t.columns.push_back({name, Kind::time_ps});
  if (all)
    for (const char* name : {"bytes a", "bytes b"}) t.columns.push_back({name, Kind::bytes});
  for (const DiffRow& row : diff.rows) {
    if (!all && !differs(row)) continue;
    t.rows.push_back({std::string(analyze::kDiffKinds[static_cast<size_t>(row.kind)]), row.name, row.count_a,
                      row.count_b, row.changed, row.time_a, row.time_b, ratio(row.time_a, row.time_b)});
    if (!all) continue;
    t.rows.back().emplace_back(row.count_a ? row.time_a / row.count_a : 0);
    t.rows.back().emplace_back(row.count_b ? row.time_b / row.count_b : 0);
    for (const uint64_t bytes : {row.bytes_a, row.bytes_b})
      t.rows.back().emplace_back(static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)));
  }
  return t;
}

// ---- as text --------------------------------------------------------------------------------------------------

std::string to_text(const JobsDiff& d) {
  const analyze::Diff& all = d.diff;
  std::string text = fmt::format("a: {} ({} rank{})\nb: {} ({} rank{})\n\n", d.a, d.ranks_a, d.ranks_a == 1 ? "" : "s",
                                 d.b, d.ranks_b, d.ranks_b == 1 ? "" : "s") +
                     view::to_text(summary(all));
  text += fmt::format(
      "  {} nodes added, {} removed, {} with other shapes, types or dependencies; {} dependencies added, {} removed\n",
      show_count(all.added), show_count(all.removed), show_count(all.changed), show_count(all.edges_added),
      show_count(all.edges_removed));
  const Table rows = d.rows(false);
  text += rows.rows.empty() ? "  no kind of node differs\n"
                            : view::to_text(result::Report{{result::first_rows(rows, kDifferencesShown, "rows")}});
  if (d.threshold) {
    text += d.exceeding.empty() ? fmt::format("\nnothing differs by more than {:g} %\n", *d.threshold)
                                : fmt::format("\nmore than {:g} %:\n", *d.threshold);
    for (size_t i = 0; i < std::min(d.exceeding.size(), kDifferencesShown); ++i) text += "  " + d.exceeding[i] + "\n";
    if (d.exceeding.size() > kDifferencesShown)
      text += fmt::format("  ... and {} more (--json has all)\n", d.exceeding.size() - kDifferencesShown);
  }
  return text + view::to_text(d.findings, "");
}

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

using analyze::Diff;
using answer::column;
using answer::Unit;

constexpr std::array kJobs{
    column<&JobsDiff::a>("a", Unit::none, "one job"),
    column<&JobsDiff::b>("b", Unit::none, "the other job"),
    column<&JobsDiff::ranks_a>("ranks.a", Unit::count, "ranks of a"),
    column<&JobsDiff::ranks_b>("ranks.b", Unit::count, "ranks of b"),
};
constexpr std::array kDiff{
    time_column<&Diff::span_a>("span_ps.a", "of the longest rank of a, from its first start to its last end"),
    time_column<&Diff::span_b>("span_ps.b", "of the longest rank of b"),
    time_column<&Diff::time_a>("time_ps.a", "own times of all nodes of a"),
    time_column<&Diff::time_b>("time_ps.b", "own times of all nodes of b"),
    column<&Diff::nodes_a>("nodes.a", Unit::count, "nodes of a"),
    column<&Diff::nodes_b>("nodes.b", Unit::count, "nodes of b"),
    column<&Diff::added>("nodes.added", Unit::count, "nodes that only b has"),
    column<&Diff::removed>("nodes.removed", Unit::count, "nodes that only a has"),
    column<&Diff::changed>("nodes.changed", Unit::count, "nodes with other shapes, types or dependencies"),
    column<&Diff::edges_a>("edges.a", Unit::count, "dependencies of a"),
    column<&Diff::edges_b>("edges.b", Unit::count, "dependencies of b"),
    column<&Diff::edges_added>("edges.added", Unit::count, "dependencies that only b has"),
    column<&Diff::edges_removed>("edges.removed", Unit::count, "dependencies that only a has")};
constexpr std::array kThreshold{
    column<&JobsDiff::threshold>("threshold_percent", Unit::percent, "what may differ; null: all")};
constexpr std::array kDiffRows{
    column<DiffRow>("kind", Unit::none, "operator, kernel or communication",
                    [](const DiffRow& row) { return analyze::kDiffKinds[static_cast<size_t>(row.kind)]; }),
    column<&DiffRow::name>("name", Unit::none, "its name; of communication type, group and size"),
    column<&DiffRow::count_a>("count_a", Unit::count, "nodes of a"),
    column<&DiffRow::count_b>("count_b", Unit::count, "nodes of b"),
    column<&DiffRow::changed>("changed", Unit::count, "nodes with other shapes, types or dependencies"),
    time_column<&DiffRow::time_a>("time_a_ps", "own time of those of a"),
    time_column<&DiffRow::time_b>("time_b_ps", "own time of those of b"),
    column<DiffRow>("ratio", Unit::none, "time of b by time of a; or new, gone, or empty where both are 0",
                    [](const DiffRow& row) { return ratio(row.time_a, row.time_b); }),
    time_column<DiffRow>("mean_a_ps", "own time of one of a",
                         [](const DiffRow& row) { return row.count_a ? row.time_a / row.count_a : 0; }),
    time_column<DiffRow>("mean_b_ps", "own time of one of b",
                         [](const DiffRow& row) { return row.count_b ? row.time_b / row.count_b : 0; }),
    column<&DiffRow::bytes_a>("bytes_a", Unit::bytes, "what communication of a moves"),
    column<&DiffRow::bytes_b>("bytes_b", Unit::bytes, "what communication of b moves")};

}  // namespace

answer::Answer answer_of(const JobsDiff& d) {
  answer::Builder to("diff");
  to.values("", &d, kJobs);
  to.values("", &d.diff, kDiff);
  to.values("", &d, kThreshold);
  to.table("exceeding", "what differs by more than the threshold, in words", d.exceeding, kTextRows);
  to.table("rows", "what the jobs do, the largest difference of time first", d.diff.rows, kDiffRows);
  return std::move(to).finish(d.findings);
}

}  // namespace chakra::job
