#include "chakra/cli/gen_options.h"

#include <fmt/core.h>

namespace chakra::cli {
namespace {

constexpr double kMostRate = 1e15;

}  // namespace

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

std::vector<Option> device_options(DeviceOptions& device) {
  return {{.names = "--device-peak-tflops",
           .target = &device.peak_tflops,
           .help = "Peak of a device, in 10^12 operations per second",
           .value = "X",
           .accepted = real_number(0, kMostRate)},
          {.names = "--device-mem-gb-per-s",
           .target = &device.memory_gb_per_s,
           .help = "Bandwidth of its memory, in 10^9 bytes per second",
           .value = "X",
           .accepted = real_number(0, kMostRate)},
          {.names = "--efficiency",
           .target = &device.efficiency,
           .help = "The share of the peak that is reached",
           .value = "X",
           .accepted = real_number(0, 1)},
          {.names = "--device-memory-gib",
           .target = &device.memory_gib,
           .help = "Its memory, for --stats, in GiB (80)",
           .value = "X",
           .accepted = real_number(0, kMostRate)}};
}

Option output_option(std::string& folder) {
  return {.names = "-o,--output", .target = &folder, .help = "The folder to write the job to", .value = "DIR"};
}
Option model_option(std::string& model) {
  return {.names = "--model",
          .target = &model,
          .help = "A known model (chakra list models), or the config.json of one",
          .value = "NAME|FILE"};
}

std::vector<Option> model_numbers(gen::ModelChange& change) {
  std::vector<Option> options;
  add_numbers(
      gen::kModelNumbers, [&](size_t i) { return &(change.*gen::kModelNumbers[i].value); }, options);
  return options;
}
std::vector<Option> model_switches(gen::ModelChange& change) {
  return {{.names = "--gated",
           .target = &change.gated,
           .help = "The MLP has two matrices in (SwiGLU), else one (GELU)",
           .value = "BOOL"},
          {.names = "--causal", .target = &change.causal, .help = "Attention looks back only", .value = "BOOL"}};
}

std::vector<Option> storage_options(gen::StepStorage& storage) {
  return {{.names = "--data-tier",
           .target = &storage.data_tier,
           .help = "The tier of storage that the first stage reads each micro-batch from",
           .value = "TIER"},
          {.names = "--sample-bytes",
           .target = &storage.sample_bytes,
           .help = "Bytes of a sequence there; 0: 4 a token",
           .value = "N",
           .accepted = whole_number(0, gen::kMostSampleBytes)},
          {.names = "--checkpoint-tier",
           .target = &storage.checkpoint_tier,
           .help = "The tier that parameters and optimizer are written to, when the step has ended",
           .value = "TIER"},
          {.names = "--checkpoint-behind",
           .target = &storage.checkpoint_behind,
           .help = "Instead write those of the step before, beside this step, until the optimizer changes them"},
          {.names = "--restart-tier",
           .target = &storage.restart_tier,
           .help = "The tier that each rank first reads what it holds from",
           .value = "TIER"}};
}

Option stats_option(bool& stats) {
  return {.names = "--stats",
          .target = &stats,
          .help = "Print parameters, operations, communication and memory; -o is not needed"};
}
Option all_ranks_option(bool& all_ranks, const std::string& name) {
  return {.names = "--all-ranks",
          .target = &all_ranks,
          .help = fmt::format("Write the trace of every rank, {}.<rank>.et, instead of classes", name)};
}

}  // namespace chakra::cli
