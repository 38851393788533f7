// chakra gen
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/cli/cli.h"
#include "chakra/cli/gen_stats.h"
#include "chakra/gen/gen.h"
#include "chakra/io/io.h"

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
  bool all_ranks = false, stats = false, mtp = false;
};

constexpr std::array<std::string_view, 3> kContexts{"ring", "gather", "all-to-all"};
constexpr std::array<std::string_view, 3> kRecomputes{"none", "selective", "full"};

template <class Rows>
std::vector<std::string> texts(const Rows& rows) {
  return {rows.begin(), rows.end()};
}
template <class Enum, class Rows>
Enum chosen(const Rows& rows, const std::string& name) {
  return static_cast<Enum>(std::find(rows.begin(), rows.end(), name) - rows.begin());
}

/// A model by its name, or as a config.json.
Result<gen::Model> model_of(const std::string& text, bool mtp) {
  Findings findings;
  gen::Model model;
  if (const gen::ModelRow* const row = gen::find_model(text)) {
    model = row->model;
    if (mtp) model.mtp_layers = row->mtp_layers;
  } else {
    CHAKRA_ASSIGN(model, gen::read_config(text, findings, {mtp}));
  }
  if (!findings.empty()) print_error(to_text(findings, ""));
  if (mtp && model.mtp_layers == 0)
    return fail(Code::usage, "gen.step.unsupported", "mtp: the model has no layers of multi-token prediction");
  return model;
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
  if (!o.context.empty()) step.context = chosen<gen::ContextKind>(kContexts, o.context);
  if (!o.recompute.empty()) step.recompute = chosen<gen::Recompute>(kRecomputes, o.recompute);
  step.schedule = o.schedule;
  if (o.peak_tflops) step.peak_flop_per_s = *o.peak_tflops * 1e12;
  if (o.memory_gb_per_s) step.memory_bytes_per_s = *o.memory_gb_per_s * 1e9;
  step.efficiency = o.efficiency.value_or(step.efficiency);
  if (!o.order.empty()) step.order = o.order;
  return step;
}

std::string rank_file(const std::string& folder, int64_t rank) {
  return (std::filesystem::path(folder) / fmt::format("step.{}.et", rank)).string();
}

/// What is in the folder already must not become part of the job, nor hide it.
Result<void> check_folder(const StepOptions& o, const trace::ClassJob& job) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto place = [&](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path), ignored); };
  const std::string json = fs::path(o.json).filename().string();
  if (!o.json.empty() && (json == "ranks.json" || json.ends_with(".et")) &&
      place(o.json).parent_path() == place(fs::path(o.folder) / "").parent_path())
    return fail(Code::usage, "cli.usage", fmt::format("two results would go to {}", quote(o.json, 200)));
  if (!is_directory(o.folder)) return {};
  if (io::is_class_job(o.folder)) {
    if (!o.all_ranks) return {};  // it is replaced
    return fail(Code::usage, "cli.usage", "the folder holds a job by classes (ranks.json); give another", {o.folder});
  }
  const auto there = io::find_ranks(o.folder);
  if (!there) return {};  // none, or what no rank's name is
  for (const io::RankFile& file : *there)
    if (!o.all_ranks || file.rank >= static_cast<int64_t>(job.ranks.size()) ||
        file.path != rank_file(o.folder, file.rank))
      return fail(Code::usage, "cli.usage", "the folder holds traces of another job; give another", {file.path});
  return {};
}

Result<void> write_all_ranks(const StepOptions& o, const trace::ClassJob& job) {
  CHAKRA_TRY(make_directories(o.folder));
  for (size_t i = 0; i < job.ranks.size(); ++i)
    CHAKRA_TRY(io::write_et(trace::concrete(job, i), rank_file(o.folder, job.ranks[i].rank)));
  return {};
}

Result<void> run_step(const StepOptions& o) {
  if (o.folder.empty() && !o.stats && o.json.empty())
    return fail(Code::usage, "cli.usage", "give a folder with -o, or --stats to write no job");
  CHAKRA_ASSIGN(const gen::StepOptions step, settle(o));
  CHAKRA_ASSIGN(const trace::ClassJob job, gen::step(step));
  if (!o.folder.empty()) {
    CHAKRA_TRY(check_folder(o, job));
    CHAKRA_TRY(o.all_ranks ? write_all_ranks(o, job) : io::write_class_job(job, o.folder));
  }
  CHAKRA_ASSIGN(const gen::StepStats stats, gen::stats(step, job));
  if (!o.json.empty()) CHAKRA_TRY(write_json(step_json(o.folder, job, stats), o.json));
  if (o.json == "-") return {};
  print(step_text(o.folder, step, job, stats));
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
           .accepted = one_of(texts(kContexts))},
          {.names = "--recompute",
           .target = &o.recompute,
           .help = "What backward computes again, not to keep it",
           .value = "KIND",
           .accepted = one_of(texts(kRecomputes))},
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
  syntax.options.push_back(
      {.names = "--mtp", .target = &o->mtp, .help = "With the model's layers of multi-token prediction (DeepSeek-V3)"});
  const std::vector<Option> others = step_options(*o);
  syntax.options.insert(syntax.options.end(), others.begin(), others.end());
  return syntax;
}

}  // namespace

Syntax gen_syntax() {
  return {.below = {{"cases", "Write the named test cases of the ecosystem: one or two nodes each", gen_cases_syntax()},
                    {"step", "One training step of a model, as a job by classes of ranks", step_syntax()}}};
}

}  // namespace chakra::cli
