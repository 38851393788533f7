// The options of generators, in the order of --help.
#include "chakra/generate/options.h"

#include <fmt/core.h>

#include "chakra/job/parts.h"

namespace chakra::generate {
namespace {

using options::choice;
using options::names;
using options::one_of;
using options::Option;
using options::Options;
using options::real_number;
using options::whole_number;

constexpr double kMostRate = 1e15;

/// Options that are rows of a generator with a name, bounds and a description. `target`: of the row at a place.
template <class Rows, class Targets>
void add_numbers(const Rows& rows, const Targets& target, Options& to) {
  for (size_t i = 0; i < rows.size(); ++i)
    to.push_back({"--" + std::string(rows[i].name), target(i), std::string(rows[i].description), "N",
                  whole_number(rows[i].least, rows[i].most)});
}
/// Likewise, which are true or false.
template <class Rows, class Targets>
void add_switches(const Rows& rows, const Targets& target, Options& to) {
  for (size_t i = 0; i < rows.size(); ++i)
    to.push_back({"--" + std::string(rows[i].name), target(i), std::string(rows[i].description), "BOOL"});
}

Option output_option(std::string& folder) { return {"-o,--output", &folder, "The folder to write the job to", "DIR"}; }
Option model_option(std::string& model) {
  return {"--model", &model, "A known model (chakra list models), or a config.json", "NAME|FILE"};
}
void add_model_numbers(model::ModelChange& change, Options& to) {
  add_numbers(
      model::kModelNumbers, [&](size_t i) { return &(change.*model::kModelNumbers[i].value); }, to);
}
Options model_switches(model::ModelChange& change) {
  return {{"--gated", &change.gated, "Gated MLP with two input matrices (SwiGLU), else one (GELU)", "BOOL"},
          {"--causal", &change.causal, "Causal attention: tokens attend only to earlier tokens", "BOOL"}};
}

/// What a device file says, too; --device excludes them.
Options rate_rows(DeviceRates& rates) {
  Options rows{
      {"--device-peak-tflops", &rates.peak_tflops, "Peak rate of the device in TFLOP/s", "X",
       real_number(0, kMostRate)},
      {"--device-fp8-tflops", &rates.fp8_tflops, "Peak rate for matrix multiplications with 8-bit inputs, in TFLOP/s",
       "X", real_number(0, kMostRate), "Default: twice the rate of --device-peak-tflops."},
      {"--device-mem-gb-per-s", &rates.memory_gb_per_s,
       "Memory bandwidth of the device in GB/s (10^9 bytes per second)", "X", real_number(0, kMostRate)},
      {"--efficiency", &rates.efficiency, "Share of the peak rate that kernels reach", "X", real_number(0, 1)}};
  for (Option& row : rows) row.excludes = "--device";
  rows.push_back({"--device-memory-gib", &rates.memory_gib, "Memory of the device in GiB, for --stats", "X",
                  real_number(0, kMostRate), "Default: the memory of --device, else 79.2."});
  return rows;
}

Options device_rows(std::string& device, std::string& stack) {
  return {{"--device",
           &device,
           "Device to compute on: a name of 'chakra list devices', or a file",
           "NAME|FILE",
           {},
           "Nodes get the durations that 'chakra sim --device' computes."},
          {"--stack",
           &stack,
           "Software stack: a name of 'chakra list stacks', or a file (default: kernels)",
           "NAME|FILE",
           {},
           "The stack determines memory use, host times and, with --device, the durations of attention and elementwise "
           "kernels."}};
}

Options output_rows(bool& stats, GenerateOptions& files, const char* name) {
  return {
      {"--stats", &stats, "Print parameters, FLOPs, communication and memory", {}, {}, "With --stats, -o is optional."},
      {"--all-ranks", &files.all_ranks,
       fmt::format("Write {}.<rank>.et for every rank, instead of one trace per class", name)}};
}

Options storage_rows(gen::StepStorage& storage) {
  return {{"--data-tier", &storage.data_tier, "Storage tier from which the first stage reads micro-batches", "TIER"},
          {"--sample-bytes", &storage.sample_bytes, "Bytes of a sequence in --data-tier; 0: 4 per token", "N",
           whole_number(0, gen::kMostSampleBytes)},
          {"--checkpoint-tier",
           &storage.checkpoint_tier,
           "Storage tier for the checkpoint after the step",
           "TIER",
           {},
           "A checkpoint holds the parameters and the optimizer state."},
          {"--checkpoint-behind",
           &storage.checkpoint_behind,
           "Write the previous step's checkpoint in the background of this step",
           {},
           {},
           "The optimizer waits until the checkpoint is written."},
          {"--restart-tier", &storage.restart_tier, "Storage tier from which each rank restores its state at the start",
           "TIER"}};
}

Options step_rows(GenerateStepOptions& o) {
  return {
      {"--schedule", &o.schedule, "Pipeline schedule (chakra list schedules)", "NAME", one_of(names(gen::schedules()))},
      {"--context", choice(o.context, gen::kContextNames), "How context-parallel ranks exchange keys and values",
       "KIND"},
      {"--recompute", choice(o.recompute, gen::kRecomputeNames), "Activation recomputation in the backward pass",
       "KIND"},
      {"--optimizer", &o.optimizer, "Optimizer (chakra list optimizers)", "NAME", one_of(names(gen::kOptimizers)),
       "Default: adamw."},
      {"--dtype", choice(o.type, kStepTypes), "Data type of parameters and activations", "TYPE", {}, "Default: bf16."},
      {"--fp8",
       &o.fp8,
       "Use 8-bit inputs for the matrix multiplications of layers",
       {},
       {},
       "All other data keep --bytes-per-element."},
      {"--order", &o.order, "Order of rank numbers, adjacent ranks first: tp-cp-ep-dp-pp, ...", "ORDER"},
      {"--expert-skew", &o.expert_skew, "Zipf exponent of expert popularity; 0: uniform", "X", real_number(0, 10),
       "The r-th most popular expert is chosen in proportion to 1 / r^X."}};
}

}  // namespace

Options rows_of(GenerateStepOptions& o) {
  Options rows{output_option(o.files.output),
               {"--preset", &o.preset, "Start from a known model and its ranks (chakra list presets)", "NAME",
                one_of(names(gen::kPresets))},
               model_option(o.model)};
  add_model_numbers(o.change, rows);
  add_numbers(
      gen::kNumbers, [&](size_t i) { return &o.numbers[i]; }, rows);
  add_switches(
      gen::kSwitches, [&](size_t i) { return &o.switches[i]; }, rows);
  Option mtp{"--mtp", &o.mtp, "Include the model's multi-token prediction layers (DeepSeek-V3)"};
  mtp.needs = "--model";
  rows.push_back(std::move(mtp));
  add(rows, model_switches(o.change));
  add(rows, step_rows(o));
  add(rows, storage_rows(o.storage));
  add(rows, device_rows(o.device, o.stack));
  rows.push_back({"--host-waits",
                  choice(o.host_waits, gen::kHostWaitNames),
                  "When the host synchronizes with the device",
                  "WHEN",
                  {},
                  "messages: after messages from other stages. passes: also after the last computation of each forward "
                  "and backward pass. parts: after the last computation of each part of a pass. The host is modelled "
                  "only if the device file has host-us."});
  add(rows, rate_rows(o.rates));
  add(rows, output_rows(o.stats, o.files, "step"));
  return rows;
}

Options rows_of(GenerateServeOptions& o) {
  Options rows{output_option(o.files.output), model_option(o.model)};
  rows.push_back(job::separated({"--contexts",
                                 &o.contexts,
                                 "Prompt lengths in tokens; one number applies to all of --batch",
                                 "N,...",
                                 {},
                                 "With --prompts false: context lengths at the first step. Default: 1024."}));
  add_model_numbers(o.change, rows);
  add_numbers(
      gen::kServeNumbers, [&](size_t i) { return &o.numbers[i]; }, rows);
  add_switches(
      gen::kServeSwitches, [&](size_t i) { return &o.switches[i]; }, rows);
  add(rows, model_switches(o.change));
  add(rows, {{"--kv-tier",
              &o.kv_tier,
              "Storage tier for a share of the KV cache",
              "TIER",
              {},
              "Each layer fetches its share, and evicts new entries."},
             {"--kv-tier-share", &o.kv_tier_share, "Share of the KV cache in --kv-tier, above 0 to 1", "X",
              real_number(0, 1), "Default: the whole cache."},
             {"--fp8",
              &o.fp8,
              "Store layer weights in 8 bits, and multiply with 8-bit inputs",
              {},
              {},
              "All other data keep --bytes-per-element."}});
  add(rows, device_rows(o.device, o.stack));
  add(rows, rate_rows(o.rates));
  add(rows, output_rows(o.stats, o.files, "serve"));
  return rows;
}

}  // namespace chakra::generate
