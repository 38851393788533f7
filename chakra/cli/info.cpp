// chakra info
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

Result<void> run_info(const std::string& path, const std::string& json_path) {
  CHAKRA_ASSIGN(const std::vector<std::string> inputs, job_files(path));
  CHAKRA_TRY(keep_apart(inputs, {}, json_path));
  CHAKRA_ASSIGN(const job::JobSummary summary, job::summarize_job(path));
  if (!json_path.empty()) CHAKRA_TRY(write_json(to_json(summary), json_path));
  if (json_path != "-") print(to_text(summary));
  return {};
}

}  // namespace

Syntax info_syntax() {
  auto path = std::make_shared<std::string>(), json = std::make_shared<std::string>();
  return {.options = {required({"path", path.get(), "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder", "PATH"}),
                      json_option(*json)},
          .run = exits_with_zero([path, json] { return run_info(*path, *json); })};
}

}  // namespace chakra::cli
