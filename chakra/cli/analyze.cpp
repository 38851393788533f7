// chakra analyze
#include "chakra/analyze/analyze.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/cli/cli.h"
#include "chakra/job/job.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

using table::Table;

constexpr size_t kRowsShown = 12;
constexpr size_t kRowsDrawn = 100;

struct Options {
  std::string path, groups, json, csv, svg, launched = "all";
  std::vector<std::string> only;
};

/// The most unbalanced group and type: a row for each collective, a column for each rank.
Table picture_of(const std::vector<analyze::Imbalance>& all) {
  Table table{"no collective has sizes that differ from rank to rank", {{"", Table::Kind::text}}, {}};
  if (all.empty()) return table;
  const analyze::Imbalance& worst = all[0];
  const std::string type(trace::name(worst.type));
  table.title =
      fmt::format("{} in group {}: bytes {} by rank; {} of {} collectives unbalanced, worst {:.2f} times the mean",
                  type, worst.group.empty() ? "all" : worst.group, worst.received ? "received" : "put in",
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

Result<void> run_analyze(const Options& o) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.path));
  files.push_back(o.groups);
  const auto scope = std::find(analyze::kLaunchScopes.begin(), analyze::kLaunchScopes.end(), o.launched);
  CHAKRA_ASSIGN(const job::AnalyzedJob job,
                job::analyze_job({.path = o.path,
                                  .groups = o.groups,
                                  .only = o.only,
                                  .scope = static_cast<analyze::LaunchScope>(scope - analyze::kLaunchScopes.begin()),
                                  .details = !o.json.empty() || !o.csv.empty(),
                                  .imbalances = !o.svg.empty()}));
  const std::vector<analyze::NamedTable>& tables = job.tables;

  const auto csv_path = [&](const std::string& name) { return fmt::format("{}.{}.csv", o.csv, name); };
  std::vector<std::string> outputs{o.svg};
  if (!o.csv.empty())
    for (const analyze::NamedTable& t : tables) outputs.push_back(csv_path(t.name));
  CHAKRA_TRY(keep_apart(files, outputs, o.json));
  std::vector<AtomicFile> written;
  const auto add = [&](const std::string& path, const std::string& text) -> Result<void> {
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
    CHAKRA_TRY(file.write(text));
    written.push_back(std::move(file));
    return {};
  };
  if (!o.csv.empty())
    for (const analyze::NamedTable& t : tables) CHAKRA_TRY(add(csv_path(t.name), view::to_csv(t.table)));
  if (!o.svg.empty()) CHAKRA_TRY(add(o.svg, view::to_heat_map(picture_of(job.imbalances))));
  const Json json = json_if_asked(o.json, [&] {
    Json all{{"path", o.path}, {"ranks", job.ranks}};
    for (const analyze::NamedTable& t : tables) all[t.name] = to_json(t.table);
    all["findings"] = to_json(job.findings);
    return all;
  });
  CHAKRA_ASSIGN(std::optional<AtomicFile> json_file, prepare_json(json, o.json));
  if (json_file) written.push_back(std::move(*json_file));
  for (AtomicFile& file : written) CHAKRA_TRY(file.commit());
  if (o.json == "-") {
    print(to_text(json));
    return {};
  }
  std::string text = fmt::format("{}: {} rank{}\n", o.path, job.ranks, job.ranks == 1 ? "" : "s");
  for (const analyze::NamedTable& t : tables)
    if (!t.table.rows.empty() && !t.detail) text += show_some(t.table, kRowsShown, "rows");
  print(text + (job.findings.empty() ? "" : "\n") + to_text(job.findings, ""));
  return {};
}

}  // namespace

Syntax analyze_syntax() {
  auto o = std::make_shared<Options>();
  return {
      .options =
          {{.names = "path",
            .target = &o->path,
            .help = "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder",
            .value = "PATH",
            .required = true},
           {.names = "--only",
            .target = &o->only,
            .help = "Only these analyses ('chakra list analyses'), separated by commas",
            .value = "NAMES",
            .delimiter = ','},
           {.names = "--groups", .target = &o->groups, .help = "Process groups, name -> ranks (JSON)", .value = "FILE"},
           {.names = "--launched",
            .target = &o->launched,
            .help = "Count device operations launched in all of the trace (the default), until the last ProfilerStep "
                    "ends, or before it begins",
            .value = "SCOPE",
            .accepted = one_of(std::vector<std::string>(analyze::kLaunchScopes.begin(), analyze::kLaunchScopes.end()))},
           {.names = "--csv", .target = &o->csv, .help = "Write the tables as PREFIX.<table>.csv", .value = "PREFIX"},
           {.names = "--svg",
            .target = &o->svg,
            .help = "Draw the worst imbalance of collective sizes across ranks",
            .value = "FILE"},
           json_option(o->json)},
      .run = exits_with_zero([o] { return run_analyze(*o); })};
}

}  // namespace chakra::cli
