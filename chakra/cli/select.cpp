// chakra select
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using Asked = With<SelectOptions>;

options::Options select_rows(Asked& o) {
  options::Options rows = rows_of(o.options, {{"paths", &o.paths}});
  add(rows, table_options(o.files));
  return rows;
}

Result<int> run_select(const Asked& o, const Globals& globals) {
  return show(globals, select(o.paths, o.options, globals.control(o.files)));
}

}  // namespace

Syntax select_syntax() { return syntax_of<Asked>(select_rows, run_select); }

}  // namespace chakra::cli
