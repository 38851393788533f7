// chakra gen cases
#include <fmt/core.h>

#include "chakra/cli/cli.h"
#include "chakra/gen/gen.h"

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
  CHAKRA_TRY(job::write_cases(o.output, o.ranks, o.cases));
  Json json = Json::array();
  for (const gen::NamedCase& row : gen::cases())
    json.push_back({{"case", row.name}, {"description", row.description}, {"ranks", o.ranks}});
  if (!o.json.empty()) CHAKRA_TRY(write_json(json, o.json));
  if (o.json != "-") print(fmt::format("{}: {} cases of {} ranks\n", o.output, gen::cases().size(), o.ranks));
  return {};
}

}  // namespace

Syntax gen_cases_syntax() {
  auto o = std::make_shared<CaseOptions>();
  return {.options = {required({"-o,--output", &o->output, "Writes DIR/<case>.<rank>.et", "DIR"}),
                      {"--num-npus,--num_npus", &o->ranks, "Ranks (1)", "N", whole_number(1, 1 << 20)},
                      {"--default-runtime,--default_runtime", &o->runtime_us, "Time of a computation in us (5)", "US",
                       whole_number(0, kLongestPs / kPsPerUs)},
                      {"--default-tensor-size,--default_tensor_size", &o->cases.tensor_bytes,
                       "Bytes of a load, store or message (1024)", "BYTES", whole_number(0, INT64_MAX)},
                      {"--default-comm-size,--default_comm_size", &o->cases.comm_bytes, "Bytes of a collective (65536)",
                       "BYTES", whole_number(0, INT64_MAX)},
                      json_option(o->json)},
          .run = exits_with_zero([o] { return run_cases(*o); })};
}

}  // namespace chakra::cli
