// chakra link
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using LinkAsked = With<LinkOptions>;

options::Options link_rows(LinkAsked& o) { return rows_of(o.options, {{"inputs", &o.paths}}); }
Result<int> run_link(const LinkAsked& o, const Globals& globals) {
  return show(globals, link(o.paths, o.options, globals.control()));
}

}  // namespace

Syntax link_syntax() { return syntax_of<LinkAsked>(link_rows, run_link); }

}  // namespace chakra::cli
