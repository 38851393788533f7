// chakra diff
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

struct DiffOptions {
  job::DiffOptions call;
  std::string csv;
};

options::Options rows_of(DiffOptions& o) {
  options::Options rows = job::rows_of(o.call);
  rows.push_back({"--csv", &o.csv, "Write the rows as CSV; with --timing each table as FILE.<table>.csv", "FILE"});
  return rows;
}

/// Compare the times of the jobs, instead of their contents.
Result<int> run_timing(const DiffOptions& o, const Globals& globals) {
  CHAKRA_ASSIGN(const job::TimesCompared compared, job::compare_times(o.call.a, o.call.b));
  job::Outputs files;
  const answer::Answer answer = answer_of(compared);
  CHAKRA_TRY(add_csv(files, o.csv, answer));
  CHAKRA_TRY(show(globals, answer, text_of(compared), std::move(files)));
  return 0;
}

Result<int> run_diff(const DiffOptions& o, const Globals& globals) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.a));
  CHAKRA_ASSIGN(const std::vector<std::string> others, job_files(o.call.b));
  files.insert(files.end(), others.begin(), others.end());
  CHAKRA_TRY(keep_apart(files, {o.csv}, globals.json));
  if (o.call.timing) return run_timing(o, globals);
  CHAKRA_ASSIGN(const job::JobsDiff diff, job::diff_jobs(o.call));
  const answer::Answer answer = answer_of(diff);
  job::Outputs outputs;
  if (!o.csv.empty()) CHAKRA_TRY(add_csv(outputs, o.csv, *answer.table("rows")));
  CHAKRA_TRY(show(globals, answer, text_of(diff), std::move(outputs)));
  return diff.exceeding.empty() ? 0 : static_cast<int>(Code::bad_input);
}

}  // namespace

Syntax diff_syntax() { return syntax_of<DiffOptions>(run_diff); }

}  // namespace chakra::cli
