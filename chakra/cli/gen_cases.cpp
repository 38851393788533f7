// chakra gen cases
#include <fmt/core.h>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

Result<int> run_cases(const job::CaseOptions& o, const Globals& globals) {
  CHAKRA_TRY(job::write_cases(o));
  CHAKRA_TRY(show_words(globals.json, answer_of(o),
                        fmt::format("{}: {} cases of {} ranks\n", o.output, gen::cases().size(), o.ranks)));
  return 0;
}

}  // namespace

Syntax gen_cases_syntax() { return syntax_of<job::CaseOptions>(run_cases); }

}  // namespace chakra::cli
