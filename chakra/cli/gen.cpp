// chakra gen
#include <fmt/core.h>

#include <algorithm>

#include "chakra/cli/cli.h"
#include "chakra/cli/gen_stats.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {
namespace {

constexpr double kMostRate = 1e15;

struct StepOptions {
  std::string preset, model, folder, order, schedule, context, recompute, json;
  std::array<std::optional<int64_t>, gen::kNumbers.size()> numbers;  ///< parallel to gen::kNumbers
  std::array<std::optional<bool>, gen::kSwitches.size()> switches;   ///< parallel to gen::kSwitches
  gen::ModelChange change;
  std::optional<double> peak_tflops, memory_gb_per_s, efficiency;
  double memory_gib = 80;
  bool all_ranks = false, stats = false;
};

template <class Rows>
std::vector<std::string> texts(const Rows& rows) {
  return {rows.begin(), rows.end()};
}
template <class Enum, class Rows>
Enum chosen(const Rows& rows, const std::string& name) {
  return static_cast<Enum>(std::find(rows.begin(), rows.end(), name) - rows.begin());
}

/// A model by its name, or as a config.json.
Result<gen::Model> model_of(const std::string& text) {
  if (const gen::ModelRow* const row = gen::find_model(text)) return row->model;
  Findings findings;
  CHAKRA_ASSIGN(gen::Model model, gen::read_config(text, findings));
  if (!findings.empty()) print_error(to_text(findings, ""));
  return model;
}

Result<gen::StepOptions> settle(const StepOptions& o) {
  gen::StepOptions step;
  for (const gen::PresetRow& row : gen::kPresets)
    if (row.name == o.preset) step = row.options();
  if (!o.model.empty()) {
    CHAKRA_ASSIGN(step.model, model_of(o.model));
  }
  CHAKRA_ASSIGN(step.model, gen::changed(std::move(step.model), o.change));
  for (size_t i = 0; i < o.numbers.size(); ++i)
    if (o.numbers[i]) step.*gen::kNumbers[i].value = *o.numbers[i];
  for (size_t i = 0; i < o.switches.size(); ++i)
    if (o.switches[i]) step.*gen::kSwitches[i].value = *o.switches[i];
  if (!o.context.empty()) step.context = chosen<gen::ContextKind>(gen::kContextNames, o.context);
  if (!o.recompute.empty()) step.recompute = chosen<gen::Recompute>(gen::kRecomputeNames, o.recompute);
  step.schedule = o.schedule;
  if (o.peak_tflops) step.peak_flop_per_s = *o.peak_tflops * 1e12;
  if (o.memory_gb_per_s) step.memory_bytes_per_s = *o.memory_gb_per_s * 1e9;
  step.efficiency = o.efficiency.value_or(step.efficiency);
  if (!o.order.empty()) step.order = o.order;
  return step;
}

Result<void> run_step(const StepOptions& o) {
  if (o.folder.empty() && !o.stats && o.json.empty())
    return fail(Code::usage, "cli.usage", "give a folder with -o, or --stats to write no job");
  CHAKRA_ASSIGN(const gen::StepOptions step, settle(o));
  CHAKRA_ASSIGN(const trace::ClassJob job, gen::step(step));
  CHAKRA_ASSIGN(const job::GeneratedJob files, job::generate_job(job, {o.folder, "step", o.all_ranks, o.json}));
  CHAKRA_ASSIGN(const gen::StepStats stats, gen::stats(step, job));
  if (!o.json.empty()) CHAKRA_TRY(write_json(step_json(files, stats), o.json));
  if (o.json == "-") return {};
  print(step_text(files, step, stats));
  if (o.stats) print(stats_text(stats, o.memory_gib));
  return {};
}

template <class Rows, class Targets>
void add_numbers(const Rows& rows, const Targets& target, std::vector<Option>& options) {
  for (size_t i = 0; i < rows.size(); ++i)
    options.push_back({.names = "--" + std::string(rows[i].name),
                       .target = target(i),
                       .help = std::string(rows[i].description),
                       .value = "N",
                       .accepted = whole_number(rows[i].least, rows[i].most)});
}

std::vector<Option> step_options(StepOptions& o) {
  std::vector<std::string> schedules;
  for (const gen::ScheduleRow& row : gen::schedules()) schedules.emplace_back(row.name);
  return {{.names = "--gated",
           .target = &o.change.gated,
           .help = "The MLP has two matrices in (SwiGLU), else one (GELU)",
           .value = "BOOL"},
          {.names = "--causal", .target = &o.change.causal, .help = "Attention looks back only", .value = "BOOL"},
          {.names = "--schedule",
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
          {.names = "--order",
           .target = &o.order,
           .help = "Of ranks, neighbours first: tp-cp-ep-dp-pp, tp-pp-dp, ...",
           .value = "ORDER"},
          {.names = "--device-peak-tflops",
           .target = &o.peak_tflops,
           .help = "Peak of a device, in 10^12 operations per second",
           .value = "X",
           .accepted = real_number(0, kMostRate)},
          {.names = "--device-mem-gb-per-s",
           .target = &o.memory_gb_per_s,
           .help = "Bandwidth of its memory, in 10^9 bytes per second",
           .value = "X",
           .accepted = real_number(0, kMostRate)},
          {.names = "--efficiency",
           .target = &o.efficiency,
           .help = "The share of the peak that is reached",
           .value = "X",
           .accepted = real_number(0, 1)},
          {.names = "--device-memory-gib",
           .target = &o.memory_gib,
           .help = "Its memory, for --stats, in GiB (80)",
           .value = "X",
           .accepted = real_number(0, kMostRate)},
          {.names = "--stats",
           .target = &o.stats,
           .help = "Print parameters, operations, communication and memory; -o is not needed"},
          {.names = "--all-ranks",
           .target = &o.all_ranks,
           .help = "Write the trace of every rank, step.<rank>.et, instead of classes"},
          json_option(o.json)};
}

Syntax step_syntax() {
  auto options = std::make_shared<StepOptions>();
  StepOptions* const o = options.get();
  std::vector<std::string> presets;
  for (const gen::PresetRow& row : gen::kPresets) presets.emplace_back(row.name);
  Syntax syntax{.options = {{.names = "-o,--output",
                             .target = &o->folder,
                             .help = "The folder to write the job to",
                             .value = "DIR"},
                            {.names = "--preset",
                             .target = &o->preset,
                             .help = "Begin with a known model and its ranks (chakra list presets)",
                             .value = "NAME",
                             .accepted = one_of(presets)},
                            {.names = "--model",
                             .target = &o->model,
                             .help = "A known model (chakra list models), or the config.json of one",
                             .value = "NAME|FILE"}},
                .run = exits_with_zero([options] { return run_step(*options); })};
  add_numbers(
      gen::kModelNumbers, [&](size_t i) { return &(o->change.*gen::kModelNumbers[i].value); }, syntax.options);
  add_numbers(
      gen::kNumbers, [&](size_t i) { return &o->numbers[i]; }, syntax.options);
  for (size_t i = 0; i < gen::kSwitches.size(); ++i)
    syntax.options.push_back({.names = "--" + std::string(gen::kSwitches[i].name),
                              .target = &o->switches[i],
                              .help = std::string(gen::kSwitches[i].description),
                              .value = "BOOL"});
  const std::vector<Option> others = step_options(*o);
  syntax.options.insert(syntax.options.end(), others.begin(), others.end());
  return syntax;
}

}  // namespace

Syntax gen_syntax() {
  return {.below = {{"cases", "Write the named test cases of the ecosystem: one or two nodes each", gen_cases_syntax()},
                    {"step", "One training step of a transformer, as a job by classes of ranks", step_syntax()}}};
}

}  // namespace chakra::cli
