// chakra import
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

Result<int> run_import(job::ImportOptions& o, const Globals& globals) {
  o.report = globals.json;
  CHAKRA_ASSIGN(job::ImportedJob imported, job::import_job(o));
  const Json json = json_if_asked(globals.json, [&] { return to_json(imported); });
  if (imported.report) {
    CHAKRA_TRY(imported.report->write(to_text(json)));
    CHAKRA_TRY(imported.files.add(std::move(*imported.report)));
  }
  CHAKRA_TRY(imported.commit());
  print(globals.json == "-" ? to_text(json) : to_text(imported));
  return 0;
}

}  // namespace

Syntax import_syntax() { return syntax_of<job::ImportOptions>(run_import); }

}  // namespace chakra::cli
