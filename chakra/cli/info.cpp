// chakra info
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

struct InfoOptions {
  std::string path;
};

options::Options rows_of(InfoOptions& o) {
  return {required({"path", &o.path, "Traces: a file, a prefix (PREFIX.<rank>.et), a folder or a container", "PATH"})};
}

Result<int> run_info(const InfoOptions& o, const Globals& globals) {
  CHAKRA_ASSIGN(const std::vector<std::string> inputs, job_files(o.path));
  CHAKRA_TRY(keep_apart(inputs, {}, globals.json));
  CHAKRA_ASSIGN(const job::JobSummary summary, job::summarize_job(o.path));
  CHAKRA_TRY(show(globals, summary));
  return 0;
}

}  // namespace

Syntax info_syntax() { return syntax_of<InfoOptions>(run_info); }

}  // namespace chakra::cli
