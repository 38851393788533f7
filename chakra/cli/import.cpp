// chakra import
#include <fmt/core.h>

#include "chakra/cli/cli.h"
#include "chakra/foreign/foreign.h"

namespace chakra::cli {
namespace {

struct ImportOptions {
  job::ImportOptions call;  ///< its report is that of --json
  std::string dims, run_time;
};

Result<void> run_import(ImportOptions& o) {
  CHAKRA_ASSIGN(o.call.read.dims, list_of(o.dims));
  if (!o.run_time.empty()) {
    CHAKRA_ASSIGN(o.call.read.default_run_time, time_of(o.run_time));
  }
  CHAKRA_ASSIGN(job::ImportedJob imported, job::import_job(o.call));
  const Json json = json_if_asked(o.call.report, [&] { return to_json(imported); });
  if (imported.report) {
    CHAKRA_TRY(imported.report->write(to_text(json)));
    CHAKRA_TRY(imported.files.add(std::move(*imported.report)));
  }
  CHAKRA_TRY(imported.commit());
  print(o.call.report == "-" ? to_text(json) : to_text(imported));
  return {};
}

}  // namespace

Syntax import_syntax() {
  auto o = std::make_shared<ImportOptions>();
  const std::string forms = names_of(foreign::kForms);
  return {
      .options =
          {required({"file", &o->call.input, "A workload of another tool, packed or not", "FILE"}),
           required(
               {"-o,--output", &o->call.output, "Writes PREFIX.<rank>.et; into a folder, trace.<rank>.et", "PREFIX"}),
           {"--classes", &o->call.classes, "Write a folder with one trace for each class of equal ranks (ranks.json)"},
           {"--from", &o->call.form, fmt::format("Its form ({}); else told by its beginning", forms), "FORM"},
           {"--dims", &o->dims, "text: ranks along each dimension of the network, inner first: 8,8", "LIST"},
           {"--num-npus", &o->call.read.num_npus, "text: ranks, where neither --dims nor the file says", "N",
            whole_number(1, INT64_MAX)},
           {"--num-passes", &o->call.read.num_passes, "text: training iterations (1)", "N", whole_number(1, INT64_MAX)},
           {"--time-unit", &o->call.read.time_unit,
            "text (us, SimAI ns), flexflow (ms): unit of the file's times: ns, us, ms, s", "UNIT"},
           {"--coll-size", &o->call.read.coll_bytes, "msccl: bytes of the collective (1 MiB)", "BYTES",
            whole_number(1, int64_t{1} << 60)},
           {"--default-simulated-run-time", &o->run_time, "msccl: time of each reduction and copy (0): 7us", "TIME"},
           json_option(o->call.report)},
      .run = exits_with_zero([o] { return run_import(*o); }),
      .given = &o->call.given};
}

}  // namespace chakra::cli
