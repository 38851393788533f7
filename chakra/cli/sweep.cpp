// chakra sweep
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using SweepAsked = With<SweepOptions>;

options::Options sweep_rows(SweepAsked& o) {
  options::Options rows = rows_of(o.options, {{"file", &o.path}});
  rows.push_back(csv_option(o.csv));
  return rows;
}

bool show_progress(void* line, double share) {
  static_cast<ProgressLine*>(line)->show(share, "points");
  return true;
}

Result<int> run_sweep(const SweepAsked& o, const Globals& globals) {
  ProgressLine line;
  Control control = globals.control(o.csv);
  control.progress = show_progress;
  control.user = &line;
  return show(globals, sweep(o.path, o.options, control));
}

}  // namespace

Syntax sweep_syntax() { return syntax_of<SweepAsked>(sweep_rows, run_sweep); }

}  // namespace chakra::cli
