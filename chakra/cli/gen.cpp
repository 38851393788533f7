// chakra gen
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

/// Writes and prints a job that was made, and the findings, also where it failed.
template <class Made>
Result<int> show_made(const Result<Made>& made, const Findings& findings, const Globals& globals) {
  if (!findings.empty()) print_error(to_text(findings, ""));
  if (!made) return Failure(made.error());
  CHAKRA_TRY(show(globals, *made));
  return 0;
}

Result<int> run_step(job::GenerateStepOptions& o, const Globals& globals) {
  o.files.report = globals.json;
  Findings findings;
  const auto made = job::generate_step(o, findings);
  return show_made(made, findings, globals);
}

Result<int> run_serve(job::GenerateServeOptions& o, const Globals& globals) {
  o.files.report = globals.json;
  Findings findings;
  const auto made = job::generate_serve(o, findings);
  return show_made(made, findings, globals);
}

Result<int> run_blueprint(const job::NetworkOptions& o, const Globals& globals) {
  CHAKRA_TRY(keep_apart({}, {o.output}, globals.json));
  CHAKRA_ASSIGN(const job::GeneratedNetwork made, job::generate_network(o));
  CHAKRA_TRY(show(globals, made));
  return 0;
}

Syntax blueprint_syntax() { return syntax_of<job::NetworkOptions>(run_blueprint); }
Syntax step_syntax() { return syntax_of<job::GenerateStepOptions>(run_step); }
Syntax serve_syntax() { return syntax_of<job::GenerateServeOptions>(run_serve); }

}  // namespace

Syntax gen_syntax() {
  return {
      .below = {{"cases", "Generate the named Chakra test cases: one or two nodes each", gen_cases_syntax},
                {"network", "Generate a network from a blueprint, as an InfraGraph file", blueprint_syntax},
                {"serve", "Generate prefill and decode of a transformer, as a job by classes of ranks", serve_syntax},
                {"step", "Generate a training step of a model, as a job by classes of ranks", step_syntax}}};
}

}  // namespace chakra::cli
