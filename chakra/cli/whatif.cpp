// chakra whatif
#include <atomic>
#include <csignal>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

std::atomic<bool> no_longer_wanted{false};

Result<int> run_whatif(const WithAll<job::WhatIfOptions>& asked, const Globals& globals) {
  const job::WhatIfOptions& o = asked.call;
  CHAKRA_TRY(check_table(asked.all, job::answer_of(job::WhatIf{})));
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.path));
  for (const std::string& file : {o.from_network, o.network, o.system, o.groups}) files.push_back(file);
  CHAKRA_TRY(keep_apart(files, {}, globals.json));
  std::signal(SIGINT, [](int) { no_longer_wanted = true; });
  CHAKRA_ASSIGN(const job::WhatIf result, job::what_if(o, &no_longer_wanted));
  end_on_signals();
  CHAKRA_TRY(show(globals.json, answer_of(result), text_of(result), asked.all));
  return 0;
}

}  // namespace

Syntax whatif_syntax() { return syntax_of<WithAll<job::WhatIfOptions>>(run_whatif); }

}  // namespace chakra::cli
