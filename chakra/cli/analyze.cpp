// chakra analyze
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

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

Result<int> run_analyze(const AnalyzeOptions& o, const Globals& globals) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.path));
  files.push_back(o.call.groups);
  job::AnalyzeOptions call = o.call;
  call.details = !globals.json.empty() || !globals.all.empty() || !o.csv.empty();
  call.imbalances = !o.svg.empty();
  CHAKRA_ASSIGN(const job::AnalyzedJob job, job::analyze_job(call));
  const answer::Answer answer = answer_of(job);
  std::vector<std::string> outputs = job::csv_files(o.csv, answer);
  outputs.push_back(o.svg);
  CHAKRA_TRY(keep_apart(files, outputs, globals.json));
  job::Outputs made;
  CHAKRA_TRY(add_csv(made, o.csv, answer));
  if (!o.svg.empty()) CHAKRA_TRY(add_text(made, o.svg, view::to_heat_map(job::picture_of(job.imbalances))));
  CHAKRA_TRY(show(globals, answer, text_of(job), std::move(made)));
  return 0;
}

}  // namespace

Syntax analyze_syntax() { return syntax_of<AnalyzeOptions>(run_analyze); }

}  // namespace chakra::cli
