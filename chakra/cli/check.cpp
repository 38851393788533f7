// chakra check
#include <fmt/format.h>

#include "chakra/check/check.h"
#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
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
  match::GroupTable groups;
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(groups, match::load_groups(o.groups));
  }
  Findings findings;
  Json jobs = Json::array();
  std::string text;
  for (const std::string& path : o.paths) {
    trace::TraceSet job;
    match::GroupTable job_groups = groups;
    if (io::is_class_job(path)) {  // says who is in a group, whether the traces do or not
      CHAKRA_ASSIGN(const trace::ClassJob classes, io::read_class_job(path));
      for (const trace::ProcessGroup& group : classes.groups)
        if (!group.ranks.empty()) job_groups.try_emplace(group.name, group.ranks);
      CHAKRA_ASSIGN(job, io::expand(classes, path));
    } else {
      CHAKRA_ASSIGN(job, io::read_job(path));
    }
    Findings found = o.groups.empty() ? Findings() : job::groups_without_effect(groups, job.ranks);
    CHAKRA_TRY(job::expand_job(o.expand, job, job_groups, found));
    int64_t nodes = 0;
    for (const trace::Trace& t : job.ranks) nodes += t.size();
    const Findings checked = check::check(job, job_groups);
    found.insert(found.end(), checked.begin(), checked.end());
    jobs.push_back({{"path", path}, {"ranks", job.ranks.size()}, {"nodes", nodes}});
    text += fmt::format(
        "{}: {} rank{}, {} nodes: {}\n", path, job.ranks.size(), job.ranks.size() == 1 ? "" : "s", show_count(nodes),
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
