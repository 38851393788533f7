// chakra report
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using ReportAsked = With<ReportOptions>;

options::Options report_rows(ReportAsked& o) { return rows_of(o.options, {{"path", &o.path}, {"output", &o.other}}); }

Result<int> run_report(const ReportAsked& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Job job, open(o.path, {.keep = false}));
  return show(globals, job.report(o.other, o.options, globals.control()));
}

}  // namespace

Syntax report_syntax() { return syntax_of<ReportAsked>(report_rows, run_report); }

}  // namespace chakra::cli
