#include "chakra/cli/gen_options.h"

#include <fmt/core.h>

namespace chakra::cli {
namespace {

constexpr double kMostRate = 1e15;

}  // namespace

Result<void> check_output(const job::GenerateOptions& files, bool stats) {
  if (!files.output.empty() || stats || !files.report.empty()) return {};
  return fail(Code::usage, "cli.usage", "give a folder with -o, or --stats to write no job");
}

std::vector<Option> device_options(DeviceOptions& device) {
  return {{"--device-peak-tflops", &device.peak_tflops, "Peak of a device, in 10^12 operations per second", "X",
           real_number(0, kMostRate)},
          {"--device-mem-gb-per-s", &device.memory_gb_per_s, "Bandwidth of its memory, in 10^9 bytes per second", "X",
           real_number(0, kMostRate)},
          {"--efficiency", &device.efficiency, "The share of the peak that is reached", "X", real_number(0, 1)},
          {"--device-memory-gib", &device.memory_gib, "Its memory, for --stats, in GiB (80)", "X",
           real_number(0, kMostRate)}};
}

Option fp8_option(std::optional<double>& tflops) {
  return {"--device-fp8-tflops", &tflops, "Its peak for products with 8-bit inputs, likewise (twice the other)", "X",
          real_number(0, kMostRate)};
}

Result<void> check_device(const std::string& name, const DeviceOptions& device, std::optional<double> fp8_tflops) {
  if (name.empty() || !(device.peak_tflops || device.memory_gb_per_s || device.efficiency || fp8_tflops)) return {};
  return fail(Code::usage, "cli.usage",
              "--device says how fast the device is; leave out --device-peak-tflops, --device-fp8-tflops, "
              "--device-mem-gb-per-s and --efficiency");
}

Option output_option(std::string& folder) { return {"-o,--output", &folder, "The folder to write the job to", "DIR"}; }
Option model_option(std::string& model) {
  return {"--model", &model, "A known model (chakra list models), or the config.json of one", "NAME|FILE"};
}

std::vector<Option> model_numbers(gen::ModelChange& change) {
  std::vector<Option> options;
  add_numbers(
      gen::kModelNumbers, [&](size_t i) { return &(change.*gen::kModelNumbers[i].value); }, options);
  return options;
}
std::vector<Option> model_switches(gen::ModelChange& change) {
  return {{"--gated", &change.gated, "The MLP has two matrices in (SwiGLU), else one (GELU)", "BOOL"},
          {"--causal", &change.causal, "Attention looks back only", "BOOL"}};
}

std::vector<Option> storage_options(gen::StepStorage& storage) {
  return {{"--data-tier", &storage.data_tier, "The tier of storage that the first stage reads each micro-batch from",
           "TIER"},
          {"--sample-bytes", &storage.sample_bytes, "Bytes of a sequence there; 0: 4 a token", "N",
           whole_number(0, gen::kMostSampleBytes)},
          {"--checkpoint-tier", &storage.checkpoint_tier,
           "The tier that parameters and optimizer are written to, when the step has ended", "TIER"},
          {"--checkpoint-behind", &storage.checkpoint_behind,
           "Instead write those of the step before, beside this step, until the optimizer changes them"},
          {"--restart-tier", &storage.restart_tier, "The tier that each rank first reads what it holds from", "TIER"}};
}

Option stats_option(bool& stats) {
  return {"--stats", &stats, "Print parameters, operations, communication and memory; -o is not needed"};
}
Option all_ranks_option(bool& all_ranks, const std::string& name) {
  return {"--all-ranks", &all_ranks,
          fmt::format("Write the trace of every rank, {}.<rank>.et, instead of classes", name)};
}

}  // namespace chakra::cli
