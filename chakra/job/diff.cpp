#include "chakra/job/diff.h"

#include "chakra/io/io.h"
#include "chakra/job/answer_rows.h"

namespace chakra::job {

Result<JobsDiff> diff_jobs(const DiffOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  CHAKRA_ASSIGN(const trace::TraceSet a, read_job(o.a, o.loaded_a, {.texts = true}));
  CHAKRA_ASSIGN(const trace::TraceSet b, read_job(o.b, o.loaded_b, {.texts = true}));
  JobsDiff d{o.a, o.b, a.ranks.size(), b.ranks.size(), {}, o.threshold, {}, {}, {}, {}};
  CHAKRA_ASSIGN(d.diff, analyze::diff(a, b, d.findings));
  analyze::join_ranks(d.findings);
  if (o.threshold) d.exceeding = analyze::exceeding(d.diff, *o.threshold / 100, o.least_share / 100);
  if (o.fail_over || o.markdown || o.steps) {
    CHAKRA_ASSIGN(const analyze::DiagnosedJob before, analyze::diagnose_job(a));
    CHAKRA_ASSIGN(const analyze::DiagnosedJob after, analyze::diagnose_job(b));
    d.steps = analyze::step_change(before, after, o.fail_over);
  }
  if (o.markdown) d.markdown = analyze::markdown_of(*d.steps, d.exceeding);
  return d;
}

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

using answer::column;
using answer::Unit;
using view::Show;
using view::ShowColumn;

constexpr std::array kJobs{
    column<&JobsDiff::a>("a", Unit::none, "one job"),
    column<&JobsDiff::b>("b", Unit::none, "the other job"),
    column<&JobsDiff::ranks_a>("ranks.a", Unit::count, "ranks of a"),
    column<&JobsDiff::ranks_b>("ranks.b", Unit::count, "ranks of b"),
};
constexpr std::array kThreshold{
    column<&JobsDiff::threshold>("threshold_percent", Unit::percent, "allowed difference; null: any")};
}  // namespace

answer::Answer answer_of(const JobsDiff& d) {
  answer::Builder to("diff");
  to.values("", &d, kJobs);
  analyze::add_totals(d.diff, to);
  to.values("", &d, kThreshold);
  to.table("exceeding", "differences above the threshold, in words", d.exceeding, kTextRows);
  analyze::add_rows(d.diff, to);
  analyze::add_steps(d.steps, to);
  to.table("markdown", "lines of the text for a pull request, with --markdown", d.markdown, kTextRows,
           !d.markdown.empty());
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
constexpr std::array<Show, 13> kDiffText{{
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
    {.line = "\nstep: {step.a_ps} -> {step.b_ps} ({+step.change})[; limit {step.limit}][, exceeded{?step.longer}]"},
    {.line = "  {change}: {sentence}", .table = "diagnosis_changes", .first = 20},
    {.findings = true},
}};
constexpr std::array<Show, 2> kMarkdownText{{
    {.line = "{}", .table = "markdown", .first = view::kAllRows},
    {.findings = true},
}};

}  // namespace

view::Text text_of(const JobsDiff& d) {
  return {d.markdown.empty() ? std::span<const Show>(kDiffText) : kMarkdownText};
}

}  // namespace chakra::job
