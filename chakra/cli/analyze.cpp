// chakra analyze
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using AnalyzeAsked = With<AnalyzeOptions>;

options::Options analyze_rows(AnalyzeAsked& o) {
  options::Options rows = rows_of(o.options, {{"path", &o.path}});
  add(rows, table_options(o.files));
  return rows;
}

Result<int> run_analyze(const AnalyzeAsked& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Job job, open(o.path, {.keep = false}));
  return show(globals, job.analyze(o.options, globals.control(o.files)));
}

}  // namespace

Syntax analyze_syntax() { return syntax_of<AnalyzeAsked>(analyze_rows, run_analyze); }

}  // namespace chakra::cli
