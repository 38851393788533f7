// chakra sweep
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using SweepAsked = With<SweepOptions>;

options::Options sweep_rows(SweepAsked& o) {
  options::Options rows = rows_of(o.options, {{"file", &o.path}});
  add(rows, table_options(o.files));
  return rows;
}

Result<int> run_sweep(const SweepAsked& o, const Globals& globals) {
  ProgressLine line("points");
  return show(globals, sweep(o.path, o.options, line.on(globals.control(o.files))));
}

}  // namespace

Syntax sweep_syntax() { return syntax_of<SweepAsked>(sweep_rows, run_sweep); }

}  // namespace chakra::cli
