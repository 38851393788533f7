// chakra convert
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

Result<void> run_convert(const job::ConvertOptions& o) {
  CHAKRA_ASSIGN(const job::ConvertedJob converted, job::convert_job(o));
  print(to_text(converted));
  return {};
}

}  // namespace

Syntax convert_syntax() {
  auto options = std::make_shared<job::ConvertOptions>();
  return {
      .options =
          {required({"paths", &options->paths,
                     "Traces of any form: files, a prefix (PREFIX.<rank>.et), a folder, a container, a job by classes "
                     "(ranks.json); or one file of another tool's form ('chakra import' has options for those)",
                     "IN..."}),
           required(
               {"-o,--output", &options->output,
                "File to write; of several ranks a prefix (PREFIX.<rank>.et) or a folder; .gz or .zst at the end packs",
                "OUT"}),
           {"--from", &options->from,
            "Form of the inputs: " + job::known_forms(false) + ", or one of 'chakra import'; else told by the contents",
            "FORM"},
           {"--to", &options->to,
            "Form of the output: " + job::known_forms(true) + ", or text (ASTRA-sim 1.0, SimAI); else told by its name",
            "FORM"}},
      .run = exits_with_zero([options] { return run_convert(*options); })};
}

}  // namespace chakra::cli
