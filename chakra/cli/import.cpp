// chakra import
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

Result<int> run_import(job::ImportOptions& o, const Globals& globals) {
  o.report = globals.json;
  CHAKRA_ASSIGN(job::ImportedJob imported, job::import_job(o));
  const answer::Answer answer = answer_of(imported);
  if (imported.report) {
    CHAKRA_TRY(answer::write_json(answer, [&](std::string_view piece) { return imported.report->write(piece); }));
    CHAKRA_TRY(imported.files.add(std::move(*imported.report)));
  }
  Globals printed = globals;
  if (printed.json != "-") printed.json.clear();
  CHAKRA_TRY(show(printed, answer, text_of(imported), std::move(imported.files)));
  return 0;
}

}  // namespace

Syntax import_syntax() { return syntax_of<job::ImportOptions>(run_import); }

}  // namespace chakra::cli
