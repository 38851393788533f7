// Keys of a stack that do not change a job, since only the generator uses them.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "chakra/base/join.h"
#include "chakra/trace/metadata.h"
#include "chakra/whatif/generated.h"

namespace chakra::whatif {
namespace {

using Keys = std::vector<std::string_view>;

/// Keys of a training step that differ from those of the job. `selective` is about --recompute selective only.
Keys step_keys(const device::Stack& of, const gen::Framework& job, gen::Recompute recompute, bool experts) {
  const device::StackMemory& stack = of.memory;
  Keys keys;
  if (experts && of.experts.dispatch_ranks != job.dispatch_ranks) keys.emplace_back("dispatch-ranks");
  if (stack.logit_bytes != job.logit_bytes) keys.emplace_back("logit-bytes");
  if (stack.eager != job.eager) keys.emplace_back("activations");
  if (stack.fsdp != job.fsdp) keys.emplace_back("sharding");
  if (stack.per_operator != job.per_operator && recompute == gen::Recompute::selective) keys.emplace_back("selective");
  return keys;
}

gen::Framework framework_of(const device::StackMemory& memory) {
  return {memory.logit_bytes, memory.eager, memory.fsdp, memory.per_operator};
}

}  // namespace

// `sim.device.stack_keys` (warning): keys of a stack that have no effect on this job
std::optional<Finding> stack_keys_without_effect(const device::Stack& stack, const device::Device& device,
                                                 const trace::Trace& t) {
  const std::optional<Recipe> recipe = recipe_of(t);
  const auto* const step = recipe ? std::get_if<gen::StepOptions>(&recipe->options) : nullptr;
  const bool serves = recipe && !step;
  bool host = false, passes = false;
  for (const trace::NodeId n : t.nodes()) {
    host |= t.on_cpu(n);
    passes |= t.name_of(n).starts_with("prefill.") || t.name_of(n).starts_with("decode.");
  }
  std::vector<std::string> parts;
  const auto add = [&](const Keys& keys, std::string_view why) {
    if (!keys.empty()) parts.push_back(fmt::format("{} ({})", join(keys, ", "), why));
  };
  const bool experts = trace::metadata_number(t, "experts").value_or(0) != 0;
  add(step ? step_keys(stack, step->framework, step->recompute, experts)
           : step_keys(stack, framework_of({}), gen::Recompute::selective, true),
      step ? "the job was generated with other values; 'chakra gen step --stack' generates one with these"
           : "only 'chakra gen step --stack' uses these keys");
  if (stack.host_s > 0 && host && !step) add({"host-us"}, "the host keeps its times");
  const bool known_elsewhere = passes && !host;  // sim.device.host
  if (!serves && !known_elsewhere) {
    Keys keys;
    if (stack.serving.pass_s > 0) keys.emplace_back("pass-us");
    if (stack.serving.sequence_s > 0) keys.emplace_back("sequence-us");
    add(keys, "only jobs of 'chakra gen serve' have this time");
  }
  if (step && !experts && stack.experts.layer_s > 0) add({"expert-us"}, "the model has no experts");
  if (!stack.attention.empty() && device.stack.attention_ops_per_s == 0)
    add({"attention"}, fmt::format("no rate for {}", device.name));
  if (parts.empty()) return std::nullopt;
  return Finding{"sim.device.stack_keys", Severity::warning, -1, -1,
                 fmt::format("keys of the stack {} without effect on this job: {}", stack.name, join(parts, "; "))};
}

}  // namespace chakra::whatif
