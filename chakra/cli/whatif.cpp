// chakra whatif
#include <atomic>
#include <csignal>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

std::atomic<bool> no_longer_wanted{false};

Result<int> run_whatif(const job::WhatIfOptions& o, const Globals& globals) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.path));
  for (const std::string& file : {o.from_network, o.network, o.system, o.groups}) files.push_back(file);
  CHAKRA_TRY(keep_apart(files, {}, globals.json));
  std::signal(SIGINT, [](int) { no_longer_wanted = true; });
  CHAKRA_ASSIGN(const job::WhatIf result, job::what_if(o, &no_longer_wanted));
  end_on_signals();
  CHAKRA_TRY(show(globals, result));
  return 0;
}

}  // namespace

Syntax whatif_syntax() { return syntax_of<job::WhatIfOptions>(run_whatif); }

}  // namespace chakra::cli
