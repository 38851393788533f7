#include "chakra/job/diff.h"

#include <algorithm>
#include <variant>

#include "chakra/io/io.h"
#include "chakra/job/answer_rows.h"

namespace chakra::job {

using analyze::DiffRow;

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

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

using analyze::Diff;
using answer::column;
using answer::Unit;
using view::Show;
using view::ShowColumn;

/// b / a; words where one of them has none.
std::variant<std::string, double> ratio(int64_t a, int64_t b) {
  if (a == 0) return std::string(b == 0 ? "" : "new");
  if (b == 0) return std::string("gone");
  return static_cast<double>(b) / static_cast<double>(a);
}
constexpr auto kDiffers = [](const DiffRow& row) {
  return row.added || row.removed || row.changed || row.time_a != row.time_b || row.bytes_a != row.bytes_b;
};

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
    column<&Diff::edges_removed>("edges.removed", Unit::count, "dependencies that only a has"),
    column<Diff>("differing_rows", Unit::count, "of `rows`: those that differ",
                 [](const Diff& d) { return std::count_if(d.rows.begin(), d.rows.end(), kDiffers); })};
constexpr std::array kThreshold{
    column<&JobsDiff::threshold>("threshold_percent", Unit::percent, "allowed difference; null: any")};
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
    column<&DiffRow::bytes_a>("bytes_a", Unit::bytes, "traffic of a"),
    column<&DiffRow::bytes_b>("bytes_b", Unit::bytes, "traffic of b"),
    column<DiffRow>("differs", Unit::none, "nodes, times or bytes differ", kDiffers)};

}  // namespace

answer::Answer answer_of(const JobsDiff& d) {
  answer::Builder to("diff");
  to.values("", &d, kJobs);
  to.values("", &d.diff, kDiff);
  to.values("", &d, kThreshold);
  to.table("exceeding", "differences above the threshold, in words", d.exceeding, kTextRows);
  to.table("rows", "operators, kernels and communication, the largest difference of time first", d.diff.rows,
           kDiffRows);
  return std::move(to).finish(d.findings);
}

// ---- as text ---------------------------------------------------------------------------------------------------

namespace {

constexpr std::array<ShowColumn, 4> show_both(std::string_view what) {
  return {{{.key = what},
           {.key = "a", .heading = "a"},
           {.key = "b", .heading = "b"},
           {.key = "{b/a}", .heading = "b / a"}}};
}
constexpr auto kShowSpan = show_both("[span of the longest rank]"), kShowTime = show_both("[time in nodes]"),
               kShowNodes = show_both("[nodes]"), kShowEdges = show_both("[dependencies]");
constexpr std::array<ShowColumn, 8> kShowRows{{
    {.key = "kind", .heading = "kind"},
    {.key = "name", .heading = "name"},
    {.key = "count_a", .heading = "count a"},
    {.key = "count_b", .heading = "count b"},
    {.key = "changed", .heading = "changed"},
    {.key = "time_a_ps", .heading = "time a"},
    {.key = "time_b_ps", .heading = "time b"},
    {.key = "[{?ratio=gone}gone|{time_b_ps/time_a_ps}|{ratio}]", .heading = "b / a"},
}};
constexpr std::string_view kCountsLine =
    "  {nodes.added} nodes added, {nodes.removed} removed, {nodes.changed} with other shapes, types or dependencies; "
    "{edges.added} dependencies added, {edges.removed} removed";
constexpr std::array<Show, 11> kDiffText{{
    {.line = "a: {a} ({ranks.a} rank[{?ranks.a=1}|s])\nb: {b} ({ranks.b} rank[{?ranks.b=1}|s])"},
    {.table = "span_ps.", .columns = kShowSpan},
    {.table = "time_ps.", .joined = true, .columns = kShowTime},
    {.table = "nodes.", .joined = true, .columns = kShowNodes},
    {.table = "edges.", .joined = true, .columns = kShowEdges},
    {.line = kCountsLine},
    {.line = "  {?differing_rows=0}no kind of node differs"},
    {.table = "rows", .first = 20, .only = "differs", .columns = kShowRows},
    {.line = "\n[!{?#exceeding}more than {threshold_percent}:|no difference exceeds {threshold_percent}]"},
    {.line = "  {}", .table = "exceeding", .first = 20},
    {.findings = true},
}};

}  // namespace

view::Text text_of(const JobsDiff&) { return {kDiffText}; }

}  // namespace chakra::job
