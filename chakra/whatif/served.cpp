// Serving under load, from two passes that are simulated alone.
#include <algorithm>
#include <cmath>
#include <functional>

#include "chakra/trace/metadata.h"
#include "chakra/whatif/generated.h"

namespace chakra::whatif {
namespace {

using trace::Trace;

/// Prompts of others that a prompt waits for, for each other client: fitted to vLLM and TensorRT-LLM
/// (docs/reference/serving.md).
constexpr double kPromptWaits = 2.7;

Picoseconds whole(double ps) { return static_cast<Picoseconds>(std::llround(std::min(ps, 9e18))); }

/// A pass of the job, simulated alone on the same system.
struct Pass {
  Picoseconds time_ps = 0;
  size_t nodes = 0;  ///< of the first rank
};
Result<Pass> pass_of(const Recipe& recipe, const device::System& system, const sim::SimInput& input) {
  Findings known;  // of the job, too
  sim::SimInput pass;
  CHAKRA_ASSIGN(pass.classes, generate(recipe, system, known));
  pass.fabric = input.fabric, pass.system = input.system;
  pass.collectives = input.collectives, pass.collective_time = input.collective_time;
  pass.congestion = input.congestion, pass.packets = input.packets;
  const size_t nodes = pass.classes->classes.front().size();
  CHAKRA_ASSIGN(const sim::SimReport report, sim::simulate(std::move(pass)));
  return Pass{report.makespan_ps, nodes};
}

/// Whether sequences of one length are prefilled and decoded on the same ranks.
bool has_load(const gen::ServeOptions& o) {
  const bool one_length =
      std::adjacent_find(o.contexts.begin(), o.contexts.end(), std::not_equal_to<>()) == o.contexts.end();
  return o.prompts && o.steps > 0 && !o.separate() && one_length && !o.contexts.empty() && o.kv_tier.empty();
}

}  // namespace

Picoseconds Served::token_ps() const {
  return whole(static_cast<double>(step_ps) + prompts * static_cast<double>(prompt_ps));
}
Picoseconds Served::first_token_ps() const {
  const auto clients = static_cast<double>(sequences);
  return whole(static_cast<double>(prompt_ps) * (1 + kPromptWaits * (clients - 1) / clients));
}

std::optional<Served> served(const sim::SimInput& input) {
  const Trace* const first = input.classes && !input.classes->classes.empty() ? &input.classes->classes.front()
                             : !input.classes && !input.job.ranks.empty()     ? &input.job.ranks.front()
                                                                              : nullptr;
  const std::optional<Recipe> recipe = first ? recipe_of(*first) : std::nullopt;
  const auto* const options = recipe ? std::get_if<gen::ServeOptions>(&recipe->options) : nullptr;
  if (!options || !has_load(*options)) return std::nullopt;
  const Result<device::System> system = system_of(*recipe);
  if (!system || !input.system.unlike.empty()) return std::nullopt;  // the file is not here any more
  if (!is_as_generated(*recipe, input)) return std::nullopt;
  const device::Device* const device = device_of(*system, input.system);
  Served made;
  made.sequences = options->batch > 0 ? options->batch : std::ssize(options->contexts);
  made.tokens = options->steps;
  made.prompts = (device ? device->stack.prefill_share : 1) * static_cast<double>(made.sequences - 1) /
                 static_cast<double>(made.tokens);
  Recipe step = *recipe, prompt = *recipe;
  auto& steps = std::get<gen::ServeOptions>(step.options);
  steps.prompts = false, steps.steps = 1, steps.chunk = 0;
  steps.contexts = {options->contexts.front() + options->steps / 2}, steps.batch = made.sequences;
  auto& prompts = std::get<gen::ServeOptions>(prompt.options);
  prompts.steps = 0, prompts.batch = 1, prompts.contexts = {options->contexts.front()};
  const Result<Pass> one_step = pass_of(step, *system, input), one_prompt = pass_of(prompt, *system, input);
  if (!one_step || !one_prompt) return std::nullopt;
  made.step_ps = one_step->time_ps, made.prompt_ps = one_prompt->time_ps;
  if (!device || options->model.family != model::Family::decoder) return made;
  const bool experts = options->model.has_experts();
  made.token = device::published_steps(*device, experts, device::Measured::token);
  if (made.sequences > 1 && made.sequences <= device::kMostClients)
    made.first_token = device::published_steps(*device, experts, device::Measured::first_token);
  return made;
}

}  // namespace chakra::whatif
