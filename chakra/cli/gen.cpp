// chakra gen
#include <fmt/format.h>

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
  CHAKRA_CHECK(make_directories(o.folder));
  for (size_t i = 0; i < job.ranks.size(); ++i)
    CHAKRA_CHECK(io::write_et(trace::concrete(job, i), rank_file(o.folder, job.ranks[i].rank)));
  return {};
}

Result<void> run_step(const Options& o) {
  const gen::StepOptions step = settle(o);
  CHAKRA_ASSIGN(const trace::ClassJob job, gen::step(step));
  CHAKRA_CHECK(check_folder(o, job));
  CHAKRA_CHECK(o.all_ranks ? write_all_ranks(o, job) : io::write_class_job(job, o.folder));

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
    CHAKRA_CHECK(write_json(Json{{"folder", o.folder},
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

}  // namespace

void add_gen(CLI::App& app, int& exit_code) {
  app.require_subcommand(1);
  add_gen_cases(app, exit_code);
  CLI::App* step = app.add_subcommand("step", "One training step of a transformer, as a job by classes of ranks");
  auto options = std::make_shared<Options>();
  step->add_option("-o,--output", options->folder, "The folder to write the job to")->required()->type_name("DIR");
  std::vector<std::string> presets;
  for (const gen::PresetRow& row : gen::kPresets) presets.emplace_back(row.name);
  step->add_option("--preset", options->preset, "Begin with a known model (chakra list presets)")
      ->type_name("NAME")
      ->check(CLI::IsMember(presets));
  for (size_t i = 0; i < gen::kNumbers.size(); ++i) {
    const gen::NumberRow& row = gen::kNumbers[i];
    step->add_option("--" + std::string(row.name), options->numbers[i], std::string(row.description))
        ->type_name("N")
        ->check(whole_number(row.least, row.most));
  }
  step->add_option("--gated", options->gated, "The MLP has two matrices in (SwiGLU), else one (GELU)")
      ->type_name("BOOL");
  step->add_option("--causal", options->causal, "Attention looks back only")->type_name("BOOL");
  step->add_option("--order", options->order, "Of ranks, neighbours first: tp-dp-pp, tp-pp-dp, ...")
      ->type_name("ORDER");
  step->add_option("--device-peak-tflops", options->peak_tflops, "Peak of a device, in 10^12 operations per second")
      ->type_name("X")
      ->check(real_number(0, kMostRate));
  step->add_option("--device-mem-gb-per-s", options->memory_gb_per_s,
                   "Bandwidth of its memory, in 10^9 bytes per second")
      ->type_name("X")
      ->check(real_number(0, kMostRate));
  step->add_option("--efficiency", options->efficiency, "The share of the peak that is reached")
      ->type_name("X")
      ->check(real_number(0, 1));
  step->add_flag("--all-ranks", options->all_ranks,
                 "Write the trace of every rank, step.<rank>.et, instead of classes");
  add_json_option(*step, options->json);
  step->callback([options, &exit_code] {
    if (auto done = run_step(*options); !done) exit_code = report(done.error());
  });
}

}  // namespace chakra::cli
