// chakra obfuscate
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using ObfuscateAsked = With<ObfuscateOptions>;

options::Options obfuscate_rows(ObfuscateAsked& o) { return rows_of(o.options, {{"path", &o.path}}); }

Result<int> run_obfuscate(const ObfuscateAsked& o, const Globals& globals) {
  return show(globals, obfuscate(o.path, o.options, globals.control()));
}

}  // namespace

Syntax obfuscate_syntax() { return syntax_of<ObfuscateAsked>(obfuscate_rows, run_obfuscate); }

}  // namespace chakra::cli
