// chakra pack, chakra unpack
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using Packed = With<PackOptions>;
using Unpacked = With<UnpackOptions>;

options::Options pack_rows(Packed& o) { return rows_of(o.options, {{"paths", &o.paths}}); }
options::Options unpack_rows(Unpacked& o) { return rows_of(o.options, {{"path", &o.path}}); }

Result<int> run_pack(const Packed& o, const Globals& globals) {
  PackOptions options = o.options;
  options.stats |= !options.output.empty() && (!globals.json.empty() || !globals.all.empty());
  return show(globals, pack(o.paths, options, globals.control()));
}
Result<int> run_unpack(const Unpacked& o, const Globals& globals) {
  return show(globals, unpack(o.path, o.options, globals.control()));
}

}  // namespace

Syntax pack_syntax() { return syntax_of<Packed>(pack_rows, run_pack); }
Syntax unpack_syntax() { return syntax_of<Unpacked>(unpack_rows, run_unpack); }

}  // namespace chakra::cli
