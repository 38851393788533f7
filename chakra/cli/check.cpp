// chakra check
#include <fmt/core.h>

#include "chakra/check/check.h"
#include "chakra/cli/cli.h"
#include "chakra/job/job.h"

namespace chakra::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string groups, expand, json;
};

Result<int> run_check(const Options& o) {
  std::vector<std::string> files{o.groups};
  for (const std::string& path : o.paths) {
    CHAKRA_ASSIGN(const std::vector<std::string> ranks, job_files(path));
    files.insert(files.end(), ranks.begin(), ranks.end());
  }
  CHAKRA_TRY(keep_apart(files, {}, o.json));
  Findings findings;
  Json jobs = Json::array();
  std::string text;
  for (const std::string& path : o.paths) {
    CHAKRA_ASSIGN(const job::CheckedJob job, job::check_job({path, o.groups, o.expand}));
    const Findings& found = job.findings;
    jobs.push_back({{"path", path}, {"ranks", job.ranks}, {"nodes", job.nodes}});
    text += fmt::format(
        "{}: {} rank{}, {} nodes: {}\n", path, job.ranks, job.ranks == 1 ? "" : "s", show_count(job.nodes),
        found.empty() ? "nothing found" : fmt::format("{} finding{}", found.size(), found.size() == 1 ? "" : "s"));
    text += to_text(found);
    findings.insert(findings.end(), found.begin(), found.end());
  }
  const bool wrong = check::any_error(findings);
  if (!o.json.empty()) {
    const Json json{{"ok", !wrong}, {"jobs", jobs}, {"findings", to_json(findings)}};
    CHAKRA_TRY(write_json(json, o.json));
  }
  if (o.json != "-") print(text);
  return wrong ? static_cast<int>(Code::bad_input) : 0;
}

}  // namespace

Syntax check_syntax() {
  auto options = std::make_shared<Options>();
  return {.options = {{.names = "paths",
                       .target = &options->paths,
                       .help = "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder; each is a job of its own",
                       .value = "PATH...",
                       .required = true},
                      {.names = "--groups",
                       .target = &options->groups,
                       .help = "Process groups, name -> ranks (JSON)",
                       .value = "FILE"},
                      expand_option(options->expand),
                      json_option(options->json)},
          .run = [options] { return run_check(*options); }};
}

}  // namespace chakra::cli
