#include "chakra/generate/step.h"

#include <fmt/core.h>

#include <cmath>
#include <variant>

#include "chakra/device/device.h"
#include "chakra/generate/parts.h"
#include "chakra/sim/sim.h"

namespace chakra::generate {
namespace {

/// Options that decide what a step is, with their values.
std::vector<std::pair<std::string, TakenValue>> deciding(const gen::StepOptions& o) {
  return {{"sequence", o.sequence > 0 ? o.sequence : o.model.sequence},
          {"micro-batch-size", o.micro_batch_size},
          {"micro-batches", o.micro_batches},
          {"zero", o.zero},
          {"optimizer", std::string(gen::kOptimizers[o.optimizer].name)},
          {"recompute", std::string(gen::kRecomputeNames[static_cast<size_t>(o.recompute)])}};
}

/// Bytes of an element of a part of matrices alone.
std::string optimizer_text(const gen::StepOptions& o) {
  const gen::OptimizerRow& row = gen::kOptimizers[o.optimizer];
  return fmt::format("{}: {}{}; ZeRO 1 to 3: of its share", row.name,
                     o.bytes_per_element < 4 ? "parameters in 32 bits, " : "", row.description);
}

std::string parameters_formula(const StepJob& job) {
  const gen::StepOptions o = gen::settled(job.step);
  if (o.framework.fsdp && o.zero == 3 && !job.stats.classes.empty() && job.stats.classes[0].memory.parameters == 0)
    return "FSDP keeps them only in 32 bits, with the moments";
  return job.stats.fp8_operations > 0 ? "elements of the rank, matrices also in 8 bits; ZeRO 3: its share"
                                      : "elements of the rank; ZeRO 3: its share";
}

std::string logits_text(const gen::StepOptions& o) {
  const bool logits = o.ends && o.model.vocabulary > 0;
  return logits ? fmt::format("; {:g} bytes a logit", gen::settled(o).framework.logit_bytes) : "";
}

/// Options that mean something else to the framework of a stack.
std::vector<std::string> by_framework(const gen::StepOptions& asked) {
  const gen::StepOptions o = gen::settled(asked);
  std::vector<std::string> lines;
  if (o.recompute != asked.recompute)
    lines.push_back(fmt::format("--recompute {} is {}", gen::kRecomputeNames[static_cast<size_t>(asked.recompute)],
                                gen::kRecomputeNames[static_cast<size_t>(o.recompute)]));
  if (o.keep_gathered != asked.keep_gathered) lines.emplace_back("--keep-gathered is true");
  if (o.zero != asked.zero)
    lines.push_back(
        fmt::format("--zero {} gathers and reduces once a step with pipelines, as --zero {}", asked.zero, o.zero));
  return lines;
}

std::string shape_of(const gen::StepOptions& step) {
  std::string shape = fmt::format("tp {} x pp {} x dp {}", step.tp, step.pp, step.dp);
  if (step.cp > 1) shape = fmt::format("tp {} x cp {} x pp {} x dp {}", step.tp, step.cp, step.pp, step.dp);
  return step.ep > 1 ? fmt::format("{}; ep {}", shape, step.ep) : shape;
}

}  // namespace

std::vector<std::pair<std::string, TakenValue>> taken_options(const StepJob& job) {
  std::vector<std::pair<std::string, TakenValue>> options = deciding(job.step);
  std::erase_if(options, [&](const auto& option) {
    return std::find(job.given.begin(), job.given.end(), "--" + option.first) != job.given.end();
  });
  return options;
}

Result<StepJob> generate_step(const StepJobOptions& o, Findings& findings) {
  StepJob made;
  made.shows_memory = o.shows_memory;
  made.step = o.step;
  made.given = o.given;
  device::System system;
  CHAKRA_ASSIGN(const device::Stack stack, use_device_and_stack(o.device, o.stack, system));
  made.device_memory_gib = memory_of_device(o.device_memory_gib, system);
  made.stack = stack.name;
  made.assumed = assumed_device(made.step, o);
  made.step.framework = {stack.memory.logit_bytes, stack.memory.eager, stack.memory.fsdp, stack.memory.per_operator,
                         stack.experts.dispatch_ranks};
  made.by_stack = by_framework(made.step);
  if (system.target) made.step.host_ns = std::llround(system.target->host_s * 1e9);
  CHAKRA_ASSIGN(trace::ClassJob job, gen::step(made.step));
  CHAKRA_ASSIGN(made.stats, gen::stats(made.step, job));
  describe_memory(made.stats.classes, job);
  CHAKRA_TRY(sim::retarget(job, system, findings));
  for (trace::Trace& t : job.classes) gen::describe_recipe_device({o.device, o.stack}, t);
  GenerateOptions files = o.files;
  files.name = "step";
  CHAKRA_ASSIGN(made.files, generate_job(job, files));
  made.files.shape = shape_of(made.step);
  if (!system.target && o.device_memory_gib)
    note_memory(made.stats.classes, made.step.framework.fsdp, *o.device_memory_gib, findings);
  made.job = std::move(job);
  for (Finding& finding : options_without_effect(o, made.step.framework, made.stats))
    findings.push_back(std::move(finding));
  made.findings = findings;
  return made;
}

MemoryFormulas formulas_of(const StepJob& job) {
  return {parameters_formula(job),
          "likewise; ZeRO 2 and 3: its share",
          optimizer_text(job.step),
          "tensors for the backward pass, of the micro-batches in flight",
          "of the current part: recomputed, gathered or not yet reduced" + logits_text(job.step),
          "a twentieth, for rounding and fragmentation"};
}

}  // namespace chakra::generate
