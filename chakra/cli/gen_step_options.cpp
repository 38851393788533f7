// The options of 'chakra gen step', in the order of --help.
#include "chakra/cli/gen_step.h"

namespace chakra::cli {
namespace {

template <class Rows>
std::vector<std::string> texts(const Rows& rows) {
  return {rows.begin(), rows.end()};
}
std::vector<std::string> optimizers() {
  std::vector<std::string> names;
  for (const gen::OptimizerRow& row : gen::kOptimizers) names.emplace_back(row.name);
  return names;
}
std::vector<Option> step_options(StepOptions& o) {
  std::vector<std::string> schedules;
  for (const gen::ScheduleRow& row : gen::schedules()) schedules.emplace_back(row.name);
  return {
      {"--schedule", &o.call.step.schedule, "Of pipeline stages (chakra list schedules)", "NAME", one_of(schedules)},
      {"--context", &o.context, "How context-parallel ranks share keys and values", "KIND",
       one_of(texts(gen::kContextNames))},
      {"--recompute", &o.recompute, "What backward computes again, not to keep it", "KIND",
       one_of(texts(gen::kRecomputeNames))},
      {"--optimizer", &o.optimizer, "What updates the parameters (chakra list optimizers; adamw)", "NAME",
       one_of(optimizers())},
      {"--dtype", &o.dtype, "The type of parameters and activations (bf16)", "TYPE", one_of(texts(kStepTypes))},
      {"--fp8", &o.call.step.fp8,
       "Products of the layers read their inputs in 8 bits; all else keeps --bytes-per-element"},
      {"--order", &o.order, "Of ranks, neighbours first: tp-cp-ep-dp-pp, tp-pp-dp, ...", "ORDER"},
      {"--expert-skew", &o.expert_skew,
       "Zipf's exponent: the r-th most popular expert is chosen as often as 1 / r^X (0: all alike)", "X",
       real_number(0, 10)}};
}

}  // namespace

std::vector<Option> step_rows(StepOptions& o) {
  std::vector<std::string> presets;
  for (const gen::PresetRow& row : gen::kPresets) presets.emplace_back(row.name);
  std::vector<Option> rows{
      output_option(o.call.files.output),
      {"--preset", &o.preset, "Begin with a known model and its ranks (chakra list presets)", "NAME", one_of(presets)},
      model_option(o.model)};
  const auto add = [&](const std::vector<Option>& more) { rows.insert(rows.end(), more.begin(), more.end()); };
  add(model_numbers(o.change));
  add_numbers(
      gen::kNumbers, [&](size_t i) { return &o.numbers[i]; }, rows);
  add_switches(
      gen::kSwitches, [&](size_t i) { return &o.switches[i]; }, rows);
  add({{"--mtp", &o.mtp, "With the model's layers of multi-token prediction (DeepSeek-V3)"}});
  add(model_switches(o.change));
  add(step_options(o));
  add(storage_options(o.call.step.storage));
  add({{"--device", &o.call.device,
        "The device that computes (chakra list devices, or a device file): nodes take the times that 'chakra sim "
        "--device' gives them; with the file's host-us a host launches them",
        "NAME|FILE"},
       {"--stack", &o.call.stack,
        "The software: a name of 'chakra list stacks' or a stack file (kernels). It decides what the step keeps in "
        "memory and, with --device, how long attention and elementwise operations take",
        "NAME|FILE"},
       {"--host-waits", &o.host_waits,
        "What that host waits for: messages of other stages (messages), and the last computation of each forward and "
        "backward pass (passes), or of each part of them (parts)",
        "WHEN", one_of(texts(gen::kHostWaitNames))}});
  add(device_options(o.device));
  add({fp8_option(o.fp8_tflops)});
  add({stats_option(o.call.shows_memory), all_ranks_option(o.call.files.all_ranks, "step"),
       json_option(o.call.files.report)});
  return rows;
}

}  // namespace chakra::cli
