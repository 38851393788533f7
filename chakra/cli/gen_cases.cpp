// chakra gen cases
#include <fmt/core.h>

#include "chakra/cli/cli.h"
#include "chakra/gen/gen.h"
#include "chakra/io/io.h"

namespace chakra::cli {
namespace {

struct CaseOptions {
  std::string output, json;
  int64_t ranks = 1;
  int64_t runtime_us = 5;
  gen::CaseOptions cases;
};

Result<void> run_cases(CaseOptions& o) {
  o.cases.runtime = o.runtime_us * kPsPerUs;
  CHAKRA_TRY(make_directories(o.output));
  Json json = Json::array();
  for (const gen::NamedCase& row : gen::cases()) {
    for (int64_t rank = 0; rank < o.ranks; ++rank) {
      const std::string path = fmt::format("{}/{}.{}.et", o.output, row.name, rank);
      if (row.file) CHAKRA_TRY(write_file(path, row.file(rank)));
      else CHAKRA_TRY(io::write_et(row.trace(rank, o.ranks, o.cases), path));
    }
    json.push_back({{"case", row.name}, {"description", row.description}, {"ranks", o.ranks}});
  }
  if (!o.json.empty()) CHAKRA_TRY(write_json(json, o.json));
  if (o.json != "-") print(fmt::format("{}: {} cases of {} ranks\n", o.output, gen::cases().size(), o.ranks));
  return {};
}

}  // namespace

Syntax gen_cases_syntax() {
  auto o = std::make_shared<CaseOptions>();
  return {.options = {{.names = "-o,--output",
                       .target = &o->output,
                       .help = "Writes DIR/<case>.<rank>.et",
                       .value = "DIR",
                       .required = true},
                      {.names = "--num-npus,--num_npus",
                       .target = &o->ranks,
                       .help = "Ranks (1)",
                       .value = "N",
                       .accepted = whole_number(1, 1 << 20)},
                      {.names = "--default-runtime,--default_runtime",
                       .target = &o->runtime_us,
                       .help = "Time of a computation in us (5)",
                       .value = "US",
                       .accepted = whole_number(0, kLongestPs / kPsPerUs)},
                      {.names = "--default-tensor-size,--default_tensor_size",
                       .target = &o->cases.tensor_bytes,
                       .help = "Bytes of a load, store or message (1024)",
                       .value = "BYTES",
                       .accepted = whole_number(0, INT64_MAX)},
                      {.names = "--default-comm-size,--default_comm_size",
                       .target = &o->cases.comm_bytes,
                       .help = "Bytes of a collective (65536)",
                       .value = "BYTES",
                       .accepted = whole_number(0, INT64_MAX)},
                      json_option(o->json)},
          .run = exits_with_zero([o] { return run_cases(*o); })};
}

}  // namespace chakra::cli
