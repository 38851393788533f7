// chakra diff
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/analyze/analyze.h"
#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

using analyze::DiffRow;
using table::Table;
using Kind = Table::Kind;

constexpr size_t kRowsShown = 20;

struct Options {
  std::string a, b, json, csv;
  std::optional<double> threshold;
  double least_share = 1;
};

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

Table row_table(const analyze::Diff& d, bool all) {
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
  for (const DiffRow& row : d.rows) {
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

Result<int> run_diff(const Options& o) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.a));
  CHAKRA_ASSIGN(const std::vector<std::string> others, job_files(o.b));
  files.insert(files.end(), others.begin(), others.end());
  CHAKRA_TRY(keep_apart(files, {o.csv}, o.json));
  CHAKRA_ASSIGN(const trace::TraceSet a, io::read_job(o.a, {.texts = true}));
  CHAKRA_ASSIGN(const trace::TraceSet b, io::read_job(o.b, {.texts = true}));
  Findings findings;
  CHAKRA_ASSIGN(const analyze::Diff d, analyze::diff(a, b, findings));
  analyze::join_ranks(findings);
  std::vector<std::string> beyond;
  if (o.threshold) beyond = analyze::exceeding(d, *o.threshold / 100, o.least_share / 100);
  const Json json = json_if_asked(o.json, [&] {
    return Json{
        {"a", o.a},
        {"b", o.b},
        {"ranks", {{"a", a.ranks.size()}, {"b", b.ranks.size()}}},
        {"span_ns", {{"a", json_ns(d.span_a)}, {"b", json_ns(d.span_b)}}},
        {"time_ns", {{"a", json_ns(d.time_a)}, {"b", json_ns(d.time_b)}}},
        {"nodes",
         {{"a", d.nodes_a}, {"b", d.nodes_b}, {"added", d.added}, {"removed", d.removed}, {"changed", d.changed}}},
        {"edges", {{"a", d.edges_a}, {"b", d.edges_b}, {"added", d.edges_added}, {"removed", d.edges_removed}}},
        {"threshold_percent", o.threshold ? Json(*o.threshold) : Json(nullptr)},
        {"exceeding", beyond},
        {"rows", to_json(row_table(d, true))},
        {"findings", to_json(findings)}};
  });
  CHAKRA_ASSIGN(std::optional<AtomicFile> json_file, prepare_json(json, o.json));
  if (!o.csv.empty()) CHAKRA_TRY(write_file(o.csv, view::to_csv(row_table(d, true))));
  if (json_file) CHAKRA_TRY(json_file->commit());
  const int code = beyond.empty() ? 0 : static_cast<int>(Code::bad_input);
  if (o.json == "-") {
    print(to_text(json));
    return code;
  }
  std::string text = fmt::format("a: {} ({} rank{})\nb: {} ({} rank{})\n\n", o.a, a.ranks.size(),
                                 a.ranks.size() == 1 ? "" : "s", o.b, b.ranks.size(), b.ranks.size() == 1 ? "" : "s") +
                     view::to_text(summary(d));
  text += fmt::format(
      "  {} nodes added, {} removed, {} with other shapes, types or dependencies; {} dependencies added, {} removed\n",
      show_count(d.added), show_count(d.removed), show_count(d.changed), show_count(d.edges_added),
      show_count(d.edges_removed));
  if (Table rows = row_table(d, false); !rows.rows.empty()) text += show_some(std::move(rows), kRowsShown, "rows");
  else text += "  no kind of node differs\n";
  if (o.threshold) {
    text += beyond.empty() ? fmt::format("\nnothing differs by more than {:g} %\n", *o.threshold)
                           : fmt::format("\nmore than {:g} %:\n", *o.threshold);
    for (size_t i = 0; i < std::min(beyond.size(), kRowsShown); ++i) text += "  " + beyond[i] + "\n";
    if (beyond.size() > kRowsShown)
      text += fmt::format("  ... and {} more (--json has all)\n", beyond.size() - kRowsShown);
  }
  print(text + to_text(findings, ""));
  return code;
}

}  // namespace

Syntax diff_syntax() {
  auto o = std::make_shared<Options>();
  return {
      .options = {{.names = "a",
                   .target = &o->a,
                   .help = "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder",
                   .value = "A",
                   .required = true},
                  {.names = "b", .target = &o->b, .help = "What to compare them with", .value = "B", .required = true},
                  {.names = "--threshold",
                   .target = &o->threshold,
                   .help = "Exit with 1 if something differs by more than P percent, up or down",
                   .value = "P",
                   .accepted = real_number(0, 1e6)},
                  {.names = "--least-share",
                   .target = &o->least_share,
                   .help = "Times of operators and kernels count from P percent of all time on (default: 1)",
                   .value = "P",
                   .accepted = real_number(0, 100)},
                  {.names = "--csv", .target = &o->csv, .help = "Write the rows as CSV", .value = "FILE"},
                  json_option(o->json)},
      .run = [o] { return run_diff(*o); }};
}

}  // namespace chakra::cli
