// chakra gen
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/cli/cli.h"
#include "chakra/gen/gen.h"
#include "chakra/io/io.h"

namespace chakra::cli {
namespace {

constexpr double kMostRate = 1e15;

struct Options {
  std::string preset, folder, order, json;
  std::array<std::optional<int64_t>, gen::kNumbers.size()> numbers;  ///< parallel to gen::kNumbers
  std::optional<double> peak_tflops, memory_gb_per_s, efficiency;
  std::optional<bool> gated, causal;
  bool all_ranks = false;
};

gen::StepOptions settle(const Options& o) {
  gen::StepOptions step;
  for (const gen::PresetRow& row : gen::kPresets)
    if (row.name == o.preset) step = row.options;
  for (size_t i = 0; i < o.numbers.size(); ++i)
    if (o.numbers[i]) step.*gen::kNumbers[i].value = *o.numbers[i];
  if (o.peak_tflops) step.peak_flop_per_s = *o.peak_tflops * 1e12;
  if (o.memory_gb_per_s) step.memory_bytes_per_s = *o.memory_gb_per_s * 1e9;
  step.efficiency = o.efficiency.value_or(step.efficiency);
  step.gated = o.gated.value_or(step.gated);
  step.causal = o.causal.value_or(step.causal);
  if (!o.order.empty()) step.order = o.order;
  return step;
}

std::string rank_file(const std::string& folder, int64_t rank) {
  return (std::filesystem::path(folder) / fmt::format("step.{}.et", rank)).string();
}

/// What is in the folder already must not become part of the job, nor hide it.
Result<void> check_folder(const Options& o, const trace::ClassJob& job) {
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

Result<void> write_all_ranks(const Options& o, const trace::ClassJob& job) {
  CHAKRA_TRY(make_directories(o.folder));
  for (size_t i = 0; i < job.ranks.size(); ++i)
    CHAKRA_TRY(io::write_et(trace::concrete(job, i), rank_file(o.folder, job.ranks[i].rank)));
  return {};
}

Result<void> run_step(const Options& o) {
  const gen::StepOptions step = settle(o);
  CHAKRA_ASSIGN(const trace::ClassJob job, gen::step(step));
  CHAKRA_TRY(check_folder(o, job));
  CHAKRA_TRY(o.all_ranks ? write_all_ranks(o, job) : io::write_class_job(job, o.folder));

  std::vector<double> flops;  // per class
  for (const trace::Trace& t : job.classes) {
    flops.push_back(0);
    for (const uint64_t ops : t.num_ops) flops.back() += static_cast<double>(ops);
  }
  double all_flops = 0;
  for (const trace::ClassJob::Rank& rank : job.ranks) all_flops += flops[rank.cls];
  const auto [least, most] =
      std::minmax_element(job.classes.begin(), job.classes.end(),
                          [](const trace::Trace& a, const trace::Trace& b) { return a.size() < b.size(); });
  const double tokens = static_cast<double>(step.sequence) * static_cast<double>(step.micro_batch_size) *
                        static_cast<double>(step.micro_batches) * static_cast<double>(step.dp);
  const double bubble =
      static_cast<double>(step.pp - 1) / static_cast<double>(step.micro_batches * step.virtual_stages);
  if (!o.json.empty())
    CHAKRA_TRY(write_json(Json{{"folder", o.folder},
                               {"ranks", job.ranks.size()},
                               {"classes", job.classes.size()},
                               {"nodes_per_rank", {{"least", least->size()}, {"most", most->size()}}},
                               {"parameters", gen::parameters(step)},
                               {"tokens", tokens},
                               {"operations", all_flops},
                               {"ideal_bubble", bubble}},
                          o.json));
  if (o.json != "-")
    print(
        fmt::format("{}: {} ranks (tp {} x pp {} x dp {}) in {} classes, {} to {} nodes each\n"
                    "{:.4g} parameters, {:.4g} tokens, {:.4g} operations; ideal pipeline bubble {}\n",
                    o.folder, show_count(static_cast<int64_t>(job.ranks.size())), step.tp, step.pp, step.dp,
                    job.classes.size(), show_count(least->size()), show_count(most->size()), gen::parameters(step),
                    tokens, all_flops, show_percent(bubble)));
  return {};
}

Syntax step_syntax() {
  auto options = std::make_shared<Options>();
  std::vector<std::string> presets;
  for (const gen::PresetRow& row : gen::kPresets) presets.emplace_back(row.name);
  Syntax syntax{.options = {{.names = "-o,--output",
                             .target = &options->folder,
                             .help = "The folder to write the job to",
                             .value = "DIR",
                             .required = true},
                            {.names = "--preset",
                             .target = &options->preset,
                             .help = "Begin with a known model (chakra list presets)",
                             .value = "NAME",
                             .accepted = one_of(presets)}},
                .run = exits_with_zero([options] { return run_step(*options); })};
  for (size_t i = 0; i < gen::kNumbers.size(); ++i) {
    const gen::NumberRow& row = gen::kNumbers[i];
    syntax.options.push_back({.names = "--" + std::string(row.name),
                              .target = &options->numbers[i],
                              .help = std::string(row.description),
                              .value = "N",
                              .accepted = whole_number(row.least, row.most)});
  }
  const std::vector<Option> others{
      {.names = "--gated",
       .target = &options->gated,
       .help = "The MLP has two matrices in (SwiGLU), else one (GELU)",
       .value = "BOOL"},

      {.names = "--causal", .target = &options->causal, .help = "Attention looks back only", .value = "BOOL"},
      {.names = "--order",
       .target = &options->order,
       .help = "Of ranks, neighbours first: tp-dp-pp, tp-pp-dp, ...",
       .value = "ORDER"},
      {.names = "--device-peak-tflops",
       .target = &options->peak_tflops,
       .help = "Peak of a device, in 10^12 operations per second",
       .value = "X",
       .accepted = real_number(0, kMostRate)},
      {.names = "--device-mem-gb-per-s",
       .target = &options->memory_gb_per_s,
       .help = "Bandwidth of its memory, in 10^9 bytes per second",
       .value = "X",
       .accepted = real_number(0, kMostRate)},
      {.names = "--efficiency",
       .target = &options->efficiency,
       .help = "The share of the peak that is reached",
       .value = "X",
       .accepted = real_number(0, 1)},
      {.names = "--all-ranks",
       .target = &options->all_ranks,
       .help = "Write the trace of every rank, step.<rank>.et, instead of classes"},
      json_option(options->json)};
  syntax.options.insert(syntax.options.end(), others.begin(), others.end());
  return syntax;
}

}  // namespace

Syntax gen_syntax() {
  return {.below = {{"cases", "Write the named test cases of the ecosystem: one or two nodes each", gen_cases_syntax()},
                    {"step", "One training step of a transformer, as a job by classes of ranks", step_syntax()}}};
}

}  // namespace chakra::cli
