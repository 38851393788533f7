// chakra check
#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> paths;
  std::string groups, expand, json;
};

Result<int> run_check(const CheckOptions& o) {
  std::vector<std::string> files{o.groups};
  for (const std::string& path : o.paths) {
    CHAKRA_ASSIGN(const std::vector<std::string> ranks, job_files(path));
    files.insert(files.end(), ranks.begin(), ranks.end());
  }
  CHAKRA_TRY(keep_apart(files, {}, o.json));
  std::vector<job::CheckedJob> jobs;
  std::string text;
  bool ok = true;
  for (const std::string& path : o.paths) {
    CHAKRA_ASSIGN(job::CheckedJob job, job::check_job({path, o.groups, o.expand}));
    text += view::to_text(report_of(job));
    ok = ok && job.ok();
    jobs.push_back(std::move(job));
  }
  if (!o.json.empty()) CHAKRA_TRY(write_json(job::to_json(jobs), o.json));
  if (o.json != "-") print(text);
  return ok ? 0 : static_cast<int>(Code::bad_input);
}

}  // namespace

Syntax check_syntax() {
  auto options = std::make_shared<CheckOptions>();
  return {.options = {required({"paths", &options->paths,
                                "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder; each is a job of its own",
                                "PATH..."}),
                      {"--groups", &options->groups, "Process groups, name -> ranks (JSON)", "FILE"},
                      expand_option(options->expand),
                      json_option(options->json)},
          .run = [options] { return run_check(*options); }};
}

}  // namespace chakra::cli
