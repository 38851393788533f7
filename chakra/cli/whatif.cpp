// chakra whatif
#include <atomic>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using WhatifAsked = With<WhatIfOptions>;

options::Options whatif_rows(WhatifAsked& o) { return rows_of(o.options, {{"path", &o.path}}); }

std::atomic<bool> no_longer_wanted{false};

Result<int> run_whatif(const WhatifAsked& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Job job, open(o.path, {.keep = false}));
  Control control = globals.control();
  control.stop = &no_longer_wanted;
  std::signal(SIGINT, [](int) { no_longer_wanted = true; });
  return show(globals, job.what_if(o.options, control));
}

}  // namespace

Syntax whatif_syntax() { return syntax_of<WhatifAsked>(whatif_rows, run_whatif); }

}  // namespace chakra::cli
