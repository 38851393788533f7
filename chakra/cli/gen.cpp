// chakra gen
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

template <class Options>
options::Options gen_rows(Options& o) {
  return rows_of(o, {});
}

/// Whether the generator makes files alone, and no job.
template <class Options>
constexpr bool kFilesOnly = std::same_as<Options, CasesOptions> || std::same_as<Options, BlueprintOptions>;

template <class Options>
Result<int> run_gen(const Options& o, const Globals& globals) {
  if constexpr (!kFilesOnly<Options>)
    if (o.output.empty() && !o.stats && globals.json.empty())
      return fail(Code::usage, "cli.usage", "give a folder with -o, or --stats to write no job");
  const auto made = generate(o, globals.control());
  if constexpr (!kFilesOnly<Options>)
    if (made && !made->made().findings().empty()) print_error(facade::to_text(made->made().findings()));
  return show(globals, made);
}

template <class Options>
Syntax generate_with() {
  return syntax_of<Options>(gen_rows<Options>, run_gen<Options>);
}

}  // namespace

Syntax gen_syntax() {
  return {
      .below = {
          {"cases", "Generate the named Chakra test cases: one or two nodes each", generate_with<CasesOptions>},
          {"network", "Generate a network from a blueprint, as an InfraGraph file", generate_with<BlueprintOptions>},
          {"serve", "Generate prefill and decode of a transformer, as a job by classes of ranks",
           generate_with<ServeOptions>},
          {"step", "Generate a training step of a model, as a job by classes of ranks", generate_with<StepOptions>}}};
}

}  // namespace chakra::cli
