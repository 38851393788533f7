// chakra view
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using ViewAsked = With<ViewOptions>;

options::Options view_rows(ViewAsked& o) { return rows_of(o.options, {{"path", &o.path}, {"output", &o.other}}); }
Result<int> run_view(const ViewAsked& o, const Globals& globals) {
  return show(globals, view(o.path, o.other, o.options, globals.control()));
}

}  // namespace

Syntax view_syntax() {
  auto o = std::make_shared<ViewAsked>();
  return {.rows = view_rows(*o),
          .run = [o](const Globals& globals) { return run_view(*o, globals); },
          .settle = [o]() -> Result<void> {  // before the check of options that need --from csv
            if (!o->options.from) o->options.from = o->path.ends_with(".csv") ? From::csv : From::traces;
            return {};
          }};
}

}  // namespace chakra::cli
