// chakra convert
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using ConvertAsked = With<ConvertOptions>;

options::Options convert_rows(ConvertAsked& o) { return rows_of(o.options, {{"paths", &o.paths}}); }
Result<int> run_convert(const ConvertAsked& o, const Globals& globals) {
  return show(globals, convert(o.paths, o.options, globals.control()));
}

}  // namespace

Syntax convert_syntax() { return syntax_of<ConvertAsked>(convert_rows, run_convert); }

}  // namespace chakra::cli
