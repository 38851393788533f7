// chakra check
#include <fmt/core.h>

#include <algorithm>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> paths;
  job::CheckOptions call;  ///< of each path
};

options::Options rows_of(CheckOptions& o) {
  options::Options rows = job::rows_of(o.call);
  rows.front() = required({"paths",
                           &o.paths,
                           "Traces, each a job; or dumps of PyTorch's flight recorder",
                           "PATH...",
                           {},
                           "A job is a file, a prefix (PREFIX.<rank>.et), a folder or a container. Dumps are a folder, "
                           "or several files of one job."});
  return rows;
}

/// Traces, a job each; dumps of a flight recorder: a folder is a job, single files are one together.
struct CheckInputs {
  std::vector<std::vector<std::string>> dumps;
  std::vector<std::string> traces, files;
};

Result<CheckInputs> inputs_of(const CheckOptions& o) {
  CheckInputs inputs;
  inputs.files = {o.call.groups};
  std::vector<std::string> single;
  for (const std::string& path : o.paths) {
    if (job::is_dump_path(path)) {
      if (!o.call.groups.empty() || !o.call.expand.empty())
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

Result<int> run_check(const WithAll<CheckOptions>& asked, const Globals& globals) {
  const CheckOptions& o = asked.call;
  CHAKRA_TRY(check_table(asked.all, job::answer_of(std::span<const job::CheckedJob>())));
  CHAKRA_ASSIGN(const CheckInputs inputs, inputs_of(o));
  CHAKRA_TRY(keep_apart(inputs.files, {}, globals.json));
  std::vector<job::CheckedJob> jobs;
  for (const std::string& path : inputs.traces) {
    job::CheckOptions call = o.call;
    call.path = path;
    CHAKRA_ASSIGN(job::CheckedJob job, job::check_job(call));
    jobs.push_back(std::move(job));
  }
  for (const std::vector<std::string>& paths : inputs.dumps) {
    CHAKRA_ASSIGN(job::CheckedJob job, job::check_dumps(paths));
    jobs.push_back(std::move(job));
  }
  CHAKRA_TRY(show(globals.json, job::answer_of(jobs), job::text_of(jobs), asked.all));
  const bool ok = std::all_of(jobs.begin(), jobs.end(), [](const job::CheckedJob& job) { return job.ok(); });
  return ok ? 0 : static_cast<int>(Code::bad_input);
}

}  // namespace

Syntax check_syntax() { return syntax_of<WithAll<CheckOptions>>(run_check); }

}  // namespace chakra::cli
