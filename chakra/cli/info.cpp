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

Result<int> run_info(const WithAll<InfoOptions>& asked, const Globals& globals) {
  const InfoOptions& o = asked.call;
  CHAKRA_TRY(check_table(asked.all, job::answer_of(job::JobSummary{})));
  CHAKRA_ASSIGN(const std::vector<std::string> inputs, job_files(o.path));
  CHAKRA_TRY(keep_apart(inputs, {}, globals.json));
  CHAKRA_ASSIGN(const job::JobSummary summary, job::summarize_job(o.path));
  CHAKRA_TRY(show(globals.json, answer_of(summary), text_of(summary), asked.all));
  return 0;
}

}  // namespace

Syntax info_syntax() { return syntax_of<WithAll<InfoOptions>>(run_info); }

}  // namespace chakra::cli
