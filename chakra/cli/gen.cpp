// chakra gen
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/cli/cli.h"
#include "chakra/cli/gen_no_effect.h"
#include "chakra/cli/gen_options.h"
#include "chakra/cli/gen_stats.h"
#include "chakra/device/device.h"
#include "chakra/gen/gen.h"
#include "chakra/sim/sim.h"

namespace chakra::cli {
namespace {

struct StepOptions {
  std::string preset, model, folder, order, schedule, context, recompute, json;
  std::array<std::optional<int64_t>, gen::kNumbers.size()> numbers;  ///< parallel to gen::kNumbers
  std::array<std::optional<bool>, gen::kSwitches.size()> switches;   ///< parallel to gen::kSwitches
  gen::ModelChange change;
  std::optional<double> expert_skew;
  gen::StepStorage storage;
  DeviceOptions device;
  std::string device_name;  ///< or its file
  std::optional<double> fp8_tflops;
  bool all_ranks = false, stats = false, mtp = false, fp8 = false;
  std::vector<std::string> given;
};

template <class Rows>
std::vector<std::string> texts(const Rows& rows) {
  return {rows.begin(), rows.end()};
}
template <class Enum, class Rows>
Enum chosen(const Rows& rows, const std::string& name) {
  return static_cast<Enum>(std::find(rows.begin(), rows.end(), name) - rows.begin());
}

Result<gen::StepOptions> settle(const StepOptions& o) {
  gen::StepOptions step;
  for (const gen::PresetRow& row : gen::kPresets)
    if (row.name == o.preset) step = row.options();
  if (!o.model.empty()) {
    CHAKRA_ASSIGN(step.model, model_of(o.model, o.mtp));
  } else if (o.mtp) {
    return fail(Code::usage, "gen.step.unsupported", "mtp: give a --model that has layers of multi-token prediction");
  }
  CHAKRA_ASSIGN(step.model, gen::changed(std::move(step.model), o.change));
  for (size_t i = 0; i < o.numbers.size(); ++i)
    if (o.numbers[i]) step.*gen::kNumbers[i].value = *o.numbers[i];
  for (size_t i = 0; i < o.switches.size(); ++i)
    if (o.switches[i]) {
      step.*gen::kSwitches[i].value = *o.switches[i];
      if (gen::kSwitches[i].value == &gen::StepOptions::sequence_parallel && *o.switches[i] &&
          !step.model.shares_tokens())
        return fail(Code::usage, "gen.step.unsupported",
                    "sequence-parallel: the model has no tokens that ranks could share out");
    }
  if (!o.context.empty()) step.context = chosen<gen::ContextKind>(gen::kContextNames, o.context);
  if (!o.recompute.empty()) step.recompute = chosen<gen::Recompute>(gen::kRecomputeNames, o.recompute);
  step.schedule = o.schedule;
  step.expert_skew = o.expert_skew.value_or(step.expert_skew);
  step.storage = o.storage;
  o.device.settle(step);
  step.fp8 = o.fp8;
  if (o.fp8_tflops) step.fp8_flop_per_s = *o.fp8_tflops * 1e12;
  if (!o.order.empty()) step.order = o.order;
  return step;
}

/// Gives the nodes the times that `chakra sim --device` would give them. What is said of them goes to stderr.
Result<void> use_device(const device::Device& device, trace::ClassJob& job) {
  device::System system;
  system.target = device;
  Findings findings;
  CHAKRA_TRY(sim::retarget(job, system, findings));
  if (!findings.empty()) print_error(to_text(findings, ""));
  return {};
}

Result<std::optional<device::Device>> find_device(const StepOptions& o) {
  if (o.device_name.empty()) return std::nullopt;
  if (o.device.peak_tflops || o.device.memory_gb_per_s || o.device.efficiency || o.fp8_tflops)
    return fail(Code::usage, "cli.usage",
                "--device says how fast the device is; leave out --device-peak-tflops, --device-fp8-tflops, "
                "--device-mem-gb-per-s and --efficiency");
  CHAKRA_ASSIGN(device::Device device, device::find_or_load(o.device_name));
  return device;
}

Result<void> run_step(const StepOptions& o) {
  if (o.folder.empty() && !o.stats && o.json.empty())
    return fail(Code::usage, "cli.usage", "give a folder with -o, or --stats to write no job");
  CHAKRA_ASSIGN(gen::StepOptions step, settle(o));
  CHAKRA_ASSIGN(const std::optional<device::Device> device, find_device(o));
  if (device) step.host_ns = std::llround(device->host_s * 1e9);
  CHAKRA_ASSIGN(trace::ClassJob job, gen::step(step));
  if (device) CHAKRA_TRY(use_device(*device, job));
  CHAKRA_ASSIGN(const job::GeneratedJob files, job::generate_job(job, {o.folder, "step", o.all_ranks, o.json}));
  CHAKRA_ASSIGN(const gen::StepStats stats, gen::stats(step, job));
  const Findings ignored = options_without_effect(o.given, {!o.folder.empty(), o.stats}, step, stats);
  if (!ignored.empty()) print_error(to_text(ignored, ""));
  if (!o.json.empty()) CHAKRA_TRY(write_json(step_json(files, stats, ignored), o.json));
  if (o.json == "-") return {};
  print(step_text(files, step, stats));
  const double memory_gib =
      device && device->memory_bytes > 0 ? device->memory_bytes / kGib : DeviceOptions::kMemoryGib;
  if (o.stats) print(stats_text(stats, o.device.memory_gib.value_or(memory_gib)));
  return {};
}

std::vector<Option> step_options(StepOptions& o) {
  std::vector<std::string> schedules;
  for (const gen::ScheduleRow& row : gen::schedules()) schedules.emplace_back(row.name);
  return {{.names = "--schedule",
           .target = &o.schedule,
           .help = "Of pipeline stages (chakra list schedules)",
           .value = "NAME",
           .accepted = one_of(schedules)},
          {.names = "--context",
           .target = &o.context,
           .help = "How context-parallel ranks share keys and values",
           .value = "KIND",
           .accepted = one_of(texts(gen::kContextNames))},
          {.names = "--recompute",
           .target = &o.recompute,
           .help = "What backward computes again, not to keep it",
           .value = "KIND",
           .accepted = one_of(texts(gen::kRecomputeNames))},
          {.names = "--fp8",
           .target = &o.fp8,
           .help = "Products of the layers read their inputs in 8 bits; all else keeps --bytes-per-element"},
          {.names = "--order",
           .target = &o.order,
           .help = "Of ranks, neighbours first: tp-cp-ep-dp-pp, tp-pp-dp, ...",
           .value = "ORDER"},
          {.names = "--expert-skew",
           .target = &o.expert_skew,
           .help = "Zipf's exponent: the r-th most popular expert is chosen as often as 1 / r^X (0: all alike)",
           .value = "X",
           .accepted = real_number(0, 10)}};
}

Syntax step_syntax() {
  auto options = std::make_shared<StepOptions>();
  StepOptions* const o = options.get();
  std::vector<std::string> presets;
  for (const gen::PresetRow& row : gen::kPresets) presets.emplace_back(row.name);
  Syntax syntax{.options = {output_option(o->folder),
                            {.names = "--preset",
                             .target = &o->preset,
                             .help = "Begin with a known model and its ranks (chakra list presets)",
                             .value = "NAME",
                             .accepted = one_of(presets)},
                            model_option(o->model)},
                .run = exits_with_zero([options] { return run_step(*options); })};
  const auto add = [&](const std::vector<Option>& more) {
    syntax.options.insert(syntax.options.end(), more.begin(), more.end());
  };
  add(model_numbers(o->change));
  add_numbers(
      gen::kNumbers, [&](size_t i) { return &o->numbers[i]; }, syntax.options);
  add_switches(
      gen::kSwitches, [&](size_t i) { return &o->switches[i]; }, syntax.options);
  add({{.names = "--mtp",
        .target = &o->mtp,
        .help = "With the model's layers of multi-token prediction (DeepSeek-V3)"}});
  add(model_switches(o->change));
  add(step_options(*o));
  add(storage_options(o->storage));
  add({{.names = "--device",
        .target = &o->device_name,
        .help = "The device that computes (chakra list devices, or a device file): nodes take the times that 'chakra "
                "sim --device' gives them; with the file's host-us a host launches them",
        .value = "NAME|FILE"}});
  add(device_options(o->device));
  add({{.names = "--device-fp8-tflops",
        .target = &o->fp8_tflops,
        .help = "Its peak for products with 8-bit inputs, likewise (twice the other)",
        .value = "X",
        .accepted = real_number(0, 1e15)}});
  add({stats_option(o->stats), all_ranks_option(o->all_ranks, "step"), json_option(o->json)});
  syntax.given = &o->given;
  return syntax;
}

}  // namespace

Syntax gen_syntax() {
  return {
      .below = {{"cases", "Write the named test cases of the ecosystem: one or two nodes each", gen_cases_syntax()},
                {"serve", "Prefill and decode of a batch by a transformer, as a job by classes", gen_serve_syntax()},
                {"step", "One training step of a model, as a job by classes of ranks", step_syntax()}}};
}

}  // namespace chakra::cli
