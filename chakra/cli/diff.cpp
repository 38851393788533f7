// chakra diff
#include <fmt/core.h>

#include "chakra/cli/cli.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

struct DiffOptions {
  job::DiffOptions call;
  std::string json, csv;
  bool timing = false;
};

/// How alike the times are, instead of what the jobs differ in.
Result<int> run_timing(const DiffOptions& o) {
  if (o.call.threshold || o.call.least_share != 1)
    return fail(Code::usage, "cli.usage", "--threshold and --least-share are not for --timing");
  CHAKRA_ASSIGN(const job::TimesCompared compared, job::compare_times(o.call.a, o.call.b));
  job::Outputs files;
  CHAKRA_TRY(add_csv(files, o.csv, compared.tables));
  const Json json = json_if_asked(o.json, [&] { return to_json(compared); });
  CHAKRA_TRY(add_json(files, o.json, json));
  CHAKRA_TRY(files.commit());
  result::Report report;
  report.parts.emplace_back(fmt::format("recorded: {}\nreplayed: {}\n", o.call.a, o.call.b));
  add_parts(compared, report);
  print(o.json == "-" ? to_text(json) : view::to_text(report));
  return 0;
}

Result<int> run_diff(const DiffOptions& o) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.a));
  CHAKRA_ASSIGN(const std::vector<std::string> others, job_files(o.call.b));
  files.insert(files.end(), others.begin(), others.end());
  CHAKRA_TRY(keep_apart(files, {o.csv}, o.json));
  if (o.timing) return run_timing(o);
  CHAKRA_ASSIGN(const job::JobsDiff diff, job::diff_jobs(o.call));
  const Json json = json_if_asked(o.json, [&] { return to_json(diff); });
  job::Outputs outputs;
  CHAKRA_TRY(add_json(outputs, o.json, json));
  if (!o.csv.empty()) CHAKRA_TRY(add_text(outputs, o.csv, view::to_csv(diff.rows(true))));
  CHAKRA_TRY(outputs.commit());
  print(o.json == "-" ? to_text(json) : to_text(diff));
  return diff.exceeding.empty() ? 0 : static_cast<int>(Code::bad_input);
}

}  // namespace

Syntax diff_syntax() {
  auto o = std::make_shared<DiffOptions>();
  return {.options = {required({"a", &o->call.a, "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder", "A"}),
                      required({"b", &o->call.b, "What to compare them with", "B"}),
                      {"--threshold", &o->call.threshold,
                       "Exit with 1 if something differs by more than P percent, up or down", "P", real_number(0, 1e6)},
                      {"--least-share", &o->call.least_share,
                       "Times of operators and kernels count from P percent of all time on (default: 1)", "P",
                       real_number(0, 100)},
                      {"--timing", &o->timing,
                       "Say how alike the measured times are: B is a replay of A, or another run of it"},
                      {"--csv", &o->csv, "Write the rows as CSV; with --timing each table as FILE.<table>.csv", "FILE"},
                      json_option(o->json)},
          .run = [o] { return run_diff(*o); }};
}

}  // namespace chakra::cli
