// chakra analyze
#include "chakra/analyze/analyze.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

struct AnalyzeOptions {
  std::string path, groups, json, csv, svg, launched = "all";
  std::vector<std::string> only;
};

/// PREFIX.<table>.csv, the picture and the JSON: all of them or none.
Result<void> write_files(const AnalyzeOptions& o, const job::AnalyzedJob& job, const Json& json) {
  job::Outputs files;
  CHAKRA_TRY(add_csv(files, o.csv, job.tables));
  if (!o.svg.empty()) CHAKRA_TRY(add_text(files, o.svg, view::to_heat_map(job::picture_of(job.imbalances))));
  CHAKRA_TRY(add_json(files, o.json, json));
  return files.commit();
}

Result<void> run_analyze(const AnalyzeOptions& o) {
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
  std::vector<std::string> outputs{o.svg};
  if (!o.csv.empty())
    for (const result::NamedTable& t : job.tables) outputs.push_back(fmt::format("{}.{}.csv", o.csv, t.name));
  CHAKRA_TRY(keep_apart(files, outputs, o.json));
  const Json json = json_if_asked(o.json, [&] { return to_json(job); });
  CHAKRA_TRY(write_files(o, job, json));
  print(o.json == "-" ? to_text(json) : view::to_text(report_of(job)));
  return {};
}

}  // namespace

Syntax analyze_syntax() {
  auto o = std::make_shared<AnalyzeOptions>();
  return {.options = {required({"path", &o->path, "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder", "PATH"}),
                      {.names = "--only",
                       .target = &o->only,
                       .help = "Only these analyses ('chakra list analyses'), separated by commas",
                       .value = "NAMES",
                       .delimiter = ','},
                      {"--groups", &o->groups, "Process groups, name -> ranks (JSON)", "FILE"},
                      {"--launched", &o->launched,
                       "Count device operations launched in all of the trace (the default), until the last "
                       "ProfilerStep ends, or before it begins",
                       "SCOPE",
                       one_of(std::vector<std::string>(analyze::kLaunchScopes.begin(), analyze::kLaunchScopes.end()))},
                      {"--csv", &o->csv, "Write the tables as PREFIX.<table>.csv", "PREFIX"},
                      {"--svg", &o->svg, "Draw the worst imbalance of collective sizes across ranks", "FILE"},
                      json_option(o->json)},
          .run = exits_with_zero([o] { return run_analyze(*o); })};
}

}  // namespace chakra::cli
