#include "chakra/job/diff.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/io/io.h"
#include "chakra/view/view.h"

namespace chakra::job {

using analyze::DiffRow;
using result::Json;
using result::json_ns;
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

// ---- as text and as JSON -------------------------------------------------------------------------------------

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

Json to_json(const JobsDiff& d) {
  const analyze::Diff& all = d.diff;
  const auto both = [](const auto& a, const auto& b) { return Json{{"a", a}, {"b", b}}; };
  return {
      {"a", d.a},
      {"b", d.b},
      {"ranks", both(d.ranks_a, d.ranks_b)},
      {"span_ns", both(json_ns(all.span_a), json_ns(all.span_b))},
      {"time_ns", both(json_ns(all.time_a), json_ns(all.time_b))},
      {"nodes",
       {{"a", all.nodes_a},
        {"b", all.nodes_b},
        {"added", all.added},
        {"removed", all.removed},
        {"changed", all.changed}}},
      {"edges", {{"a", all.edges_a}, {"b", all.edges_b}, {"added", all.edges_added}, {"removed", all.edges_removed}}},
      {"threshold_percent", d.threshold ? Json(*d.threshold) : Json(nullptr)},
      {"exceeding", d.exceeding},
      {"rows", result::to_json(d.rows(true))},
      {"findings", result::to_json(d.findings)}};
}

}  // namespace chakra::job
