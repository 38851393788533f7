// chakra import
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using ImportAsked = With<ImportOptions>;

options::Options import_rows(ImportAsked& o) { return rows_of(o.options, {{"file", &o.path}}); }
Result<int> run_import(const ImportAsked& o, const Globals& globals) {
  return show(globals, import_workload(o.path, o.options, globals.control()));
}

}  // namespace

Syntax import_syntax() { return syntax_of<ImportAsked>(import_rows, run_import); }

}  // namespace chakra::cli
