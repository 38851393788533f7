// chakra view
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

Result<int> run_view(const job::ViewOptions& o, const Globals& globals) {
  CHAKRA_TRY(keep_apart({o.path}, {o.output}, globals.json));
  CHAKRA_ASSIGN(const job::ViewedJob viewed, job::view_job(o));
  CHAKRA_TRY(show(globals, viewed));
  return 0;
}

}  // namespace

Syntax view_syntax() {
  auto o = std::make_shared<job::ViewOptions>();
  return {.rows = rows_of(*o),
          .run = [o](const Globals& globals) { return run_view(*o, globals); },
          .settle = [o] { return job::settle(*o); }};
}

}  // namespace chakra::cli
