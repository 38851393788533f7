// chakra analyze
#include <fmt/core.h>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

struct AnalyzeOptions {
  job::AnalyzeOptions call;
  std::string csv, svg;
};

options::Options rows_of(AnalyzeOptions& o) {
  options::Options rows = job::rows_of(o.call);
  rows.push_back({"--csv", &o.csv, "Write the tables as PREFIX.<table>.csv", "PREFIX"});
  rows.push_back({"--svg", &o.svg, "Draw the worst imbalance of collective sizes across ranks", "FILE"});
  return rows;
}

/// PREFIX.<table>.csv, the picture and the JSON: all of them or none.
Result<void> write_files(const AnalyzeOptions& o, const job::AnalyzedJob& job, const std::string& json_path) {
  job::Outputs files;
  CHAKRA_TRY(add_csv(files, o.csv, job.tables));
  if (!o.svg.empty()) CHAKRA_TRY(add_text(files, o.svg, view::to_heat_map(job::picture_of(job.imbalances))));
  if (json_path.empty()) return files.commit();
  const answer::Answer answer = answer_of(job);
  CHAKRA_TRY(add_answer(files, json_path, answer));
  CHAKRA_TRY(files.commit());
  return json_path == "-" ? print_json(answer) : Result<void>();
}

Result<int> run_analyze(const AnalyzeOptions& o, const Globals& globals) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.path));
  files.push_back(o.call.groups);
  job::AnalyzeOptions call = o.call;
  call.details = !globals.json.empty() || !o.csv.empty();
  call.imbalances = !o.svg.empty();
  CHAKRA_ASSIGN(const job::AnalyzedJob job, job::analyze_job(call));
  std::vector<std::string> outputs{o.svg};
  if (!o.csv.empty())
    for (const result::NamedTable& t : job.tables) outputs.push_back(fmt::format("{}.{}.csv", o.csv, t.name));
  CHAKRA_TRY(keep_apart(files, outputs, globals.json));
  CHAKRA_TRY(write_files(o, job, globals.json));
  if (globals.json != "-") print(view::to_text(report_of(job)));
  return 0;
}

}  // namespace

Syntax analyze_syntax() { return syntax_of<AnalyzeOptions>(run_analyze); }

}  // namespace chakra::cli
