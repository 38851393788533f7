// chakra gen cases
#include <fmt/format.h>

#include "chakra/cli/cli.h"
#include "chakra/gen/gen.h"
#include "chakra/io/io.h"

namespace chakra::cli {
namespace {

struct Options {
  std::string output, json;
  int64_t ranks = 1;
  int64_t runtime_us = 5;
  gen::CaseOptions cases;
};

Result<void> run_cases(Options& o) {
  o.cases.runtime = o.runtime_us * kPsPerUs;
  CHAKRA_CHECK(make_directories(o.output));
  Json json = Json::array();
  for (const gen::NamedCase& row : gen::cases()) {
    for (int64_t rank = 0; rank < o.ranks; ++rank) {
      const std::string path = fmt::format("{}/{}.{}.et", o.output, row.name, rank);
      if (row.file) CHAKRA_CHECK(write_file(path, row.file(rank)));
      else CHAKRA_CHECK(io::write_et(row.trace(rank, o.ranks, o.cases), path));
    }
    json.push_back({{"case", row.name}, {"description", row.description}, {"ranks", o.ranks}});
  }
  if (!o.json.empty()) CHAKRA_CHECK(write_json(json, o.json));
  if (o.json != "-") print(fmt::format("{}: {} cases of {} ranks\n", o.output, gen::cases().size(), o.ranks));
  return {};
}

}  // namespace

void add_gen_cases(CLI::App& gen, int& exit_code) {
  auto o = std::make_shared<Options>();
  CLI::App* app = gen.add_subcommand("cases", "Write the named test cases of the ecosystem: one or two nodes each");
  app->add_option("-o,--output", o->output, "Writes DIR/<case>.<rank>.et")->required()->type_name("DIR");
  app->add_option("--num-npus,--num_npus", o->ranks, "Ranks (1)")->check(whole_number(1, 1 << 20))->type_name("N");
  app->add_option("--default-runtime,--default_runtime", o->runtime_us, "Time of a computation in us (5)")
      ->check(whole_number(0, kLongestPs / kPsPerUs))
      ->type_name("US");
  app->add_option("--default-tensor-size,--default_tensor_size", o->cases.tensor_bytes,
                  "Bytes of a load, store or message (1024)")
      ->check(whole_number(0, INT64_MAX))
      ->type_name("BYTES");
  app->add_option("--default-comm-size,--default_comm_size", o->cases.comm_bytes, "Bytes of a collective (65536)")
      ->check(whole_number(0, INT64_MAX))
      ->type_name("BYTES");
  add_json_option(*app, o->json);
  app->callback([o, &exit_code] {
    if (auto done = run_cases(*o); !done) exit_code = report(done.error());
  });
}

}  // namespace chakra::cli
