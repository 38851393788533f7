// chakra check
#include <fmt/core.h>

#include <algorithm>

#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> paths;
  std::string groups, expand, json;
};

/// Traces, a job each; dumps of a flight recorder: a folder is a job, single files are one together.
struct CheckInputs {
  std::vector<std::vector<std::string>> dumps;
  std::vector<std::string> traces, files;
};

Result<CheckInputs> inputs_of(const CheckOptions& o) {
  CheckInputs inputs;
  inputs.files = {o.groups};
  std::vector<std::string> single;
  for (const std::string& path : o.paths) {
    if (job::is_dump_path(path)) {
      if (!o.groups.empty() || !o.expand.empty())
        return fail(
            Code::usage, "cli.usage",
            fmt::format("--groups and --expand are for traces; {} has dumps of a flight recorder", quote(path, 200)));
      if (is_directory(path)) inputs.dumps.push_back({path});
      else single.push_back(path);
      inputs.files.push_back(path);
      continue;
    }
    inputs.traces.push_back(path);
    CHAKRA_ASSIGN(const std::vector<std::string> ranks, job_files(path));
    inputs.files.insert(inputs.files.end(), ranks.begin(), ranks.end());
  }
  if (!single.empty()) inputs.dumps.push_back(std::move(single));
  return inputs;
}

Result<int> run_check(const CheckOptions& o) {
  CHAKRA_ASSIGN(const CheckInputs inputs, inputs_of(o));
  CHAKRA_TRY(keep_apart(inputs.files, {}, o.json));
  std::vector<job::CheckedJob> jobs;
  for (const std::string& path : inputs.traces) {
    CHAKRA_ASSIGN(job::CheckedJob job, job::check_job({path, o.groups, o.expand}));
    jobs.push_back(std::move(job));
  }
  for (const std::vector<std::string>& paths : inputs.dumps) {
    CHAKRA_ASSIGN(job::CheckedJob job, job::check_dumps(paths));
    jobs.push_back(std::move(job));
  }
  std::string text;
  for (const job::CheckedJob& job : jobs) text += view::to_text(report_of(job));
  const bool ok = std::all_of(jobs.begin(), jobs.end(), [](const job::CheckedJob& job) { return job.ok(); });
  if (!o.json.empty()) CHAKRA_TRY(write_json(job::to_json(jobs), o.json));
  if (o.json != "-") print(text);
  return ok ? 0 : static_cast<int>(Code::bad_input);
}

}  // namespace

Syntax check_syntax() {
  auto options = std::make_shared<CheckOptions>();
  return {.options = {required({"paths", &options->paths,
                                "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder; each is a job of its own. "
                                "Or dumps of PyTorch's flight recorder: a folder, or files",
                                "PATH..."}),
                      {"--groups", &options->groups, "Process groups, name -> ranks (JSON)", "FILE"},
                      expand_option(options->expand),
                      json_option(options->json)},
          .run = [options] { return run_check(*options); }};
}

}  // namespace chakra::cli
