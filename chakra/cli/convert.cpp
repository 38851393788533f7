// chakra convert
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

Result<int> run_convert(const job::ConvertOptions& o, const Globals& globals) {
  CHAKRA_TRY(keep_apart(o.paths, {o.output}, globals.json));
  CHAKRA_ASSIGN(const job::ConvertedJob converted, job::convert_job(o));
  CHAKRA_TRY(show(globals, converted));
  return 0;
}

}  // namespace

Syntax convert_syntax() { return syntax_of<job::ConvertOptions>(run_convert); }

}  // namespace chakra::cli
