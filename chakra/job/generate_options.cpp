// The options of generators, in the order of --help.
#include "chakra/job/generate_options.h"

#include <fmt/core.h>

#include "chakra/job/shared_options.h"

namespace chakra::job {
namespace {

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
  return {{"--gated", &change.gated, "The MLP has two matrices in (SwiGLU), else one (GELU)", "BOOL"},
          {"--causal", &change.causal, "Attention looks back only", "BOOL"}};
}

/// What a device file says, too; --device excludes them.
Options rate_rows(DeviceRates& rates) {
  Options rows{{"--device-peak-tflops", &rates.peak_tflops, "Peak of a device, in 10^12 operations per second", "X",
                real_number(0, kMostRate)},
               {"--device-fp8-tflops", &rates.fp8_tflops, "Its peak for products with 8-bit inputs, likewise", "X",
                real_number(0, kMostRate), "Without it, twice the other peak."},
               {"--device-mem-gb-per-s", &rates.memory_gb_per_s, "Bandwidth of its memory, in 10^9 bytes per second",
                "X", real_number(0, kMostRate)},
               {"--efficiency", &rates.efficiency, "The share of the peak that is reached", "X", real_number(0, 1)}};
  for (Option& row : rows) row.excludes = "--device";
  rows.push_back({"--device-memory-gib", &rates.memory_gib, "Its memory, for --stats, in GiB", "X",
                  real_number(0, kMostRate), "Without it, that of --device, else 80."});
  return rows;
}

Options device_rows(std::string& device, std::string& stack) {
  return {{"--device",
           &device,
           "The device that computes: a name of 'chakra list devices', or a file",
           "NAME|FILE",
           {},
           "Nodes take the times that 'chakra sim --device' gives them."},
          {"--stack",
           &stack,
           "Its software: a name of 'chakra list stacks', or a file (kernels)",
           "NAME|FILE",
           {},
           "It decides what the job keeps in memory, what the host takes and, with --device, how long attention and "
           "elementwise operations take."}};
}

Options output_rows(bool& stats, GenerateOptions& files, const char* name) {
  return {{"--stats",
           &stats,
           "Print parameters, operations, communication and memory",
           {},
           {},
           "With it, -o is not needed."},
          {"--all-ranks", &files.all_ranks, fmt::format("Write {}.<rank>.et of every rank, instead of classes", name)}};
}

Options storage_rows(gen::StepStorage& storage) {
  return {
      {"--data-tier", &storage.data_tier, "The tier of storage that the first stage reads micro-batches from", "TIER"},
      {"--sample-bytes", &storage.sample_bytes, "Bytes of a sequence there; 0: 4 a token", "N",
       whole_number(0, gen::kMostSampleBytes)},
      {"--checkpoint-tier",
       &storage.checkpoint_tier,
       "The tier that a checkpoint is written to after the step",
       "TIER",
       {},
       "A checkpoint has parameters and the state of the optimizer."},
      {"--checkpoint-behind",
       &storage.checkpoint_behind,
       "Write the checkpoint before, beside this step",
       {},
       {},
       "It is written until the optimizer changes the parameters."},
      {"--restart-tier", &storage.restart_tier, "The tier that each rank first reads what it holds from", "TIER"}};
}

Options step_rows(GenerateStepOptions& o) {
  return {
      {"--schedule", &o.schedule, "Schedule of pipeline stages (chakra list schedules)", "NAME",
       one_of(names(gen::schedules()))},
      {"--context", choice(o.context, gen::kContextNames), "How context-parallel ranks share keys and values", "KIND"},
      {"--recompute", choice(o.recompute, gen::kRecomputeNames), "What backward computes again, not to keep it",
       "KIND"},
      {"--optimizer", &o.optimizer, "What updates the parameters (chakra list optimizers)", "NAME",
       one_of(names(gen::kOptimizers)), "Without it, adamw."},
      {"--dtype",
       choice(o.type, kStepTypes),
       "The type of parameters and activations",
       "TYPE",
       {},
       "Without it, bf16."},
      {"--fp8",
       &o.fp8,
       "Products of the layers read their inputs in 8 bits",
       {},
       {},
       "All else keeps --bytes-per-element."},
      {"--order", &o.order, "Order of ranks, neighbours first: tp-cp-ep-dp-pp, tp-pp-dp, ...", "ORDER"},
      {"--expert-skew", &o.expert_skew, "Zipf's exponent of the popularity of experts; 0: all alike", "X",
       real_number(0, 10), "The r-th most popular expert is chosen as often as 1 / r^X."}};
}

}  // namespace

Options rows_of(GenerateStepOptions& o) {
  Options rows{output_option(o.files.output),
               {"--preset", &o.preset, "Begin with a known model and its ranks (chakra list presets)", "NAME",
                one_of(names(gen::kPresets))},
               model_option(o.model)};
  add_model_numbers(o.change, rows);
  add_numbers(
      gen::kNumbers, [&](size_t i) { return &o.numbers[i]; }, rows);
  add_switches(
      gen::kSwitches, [&](size_t i) { return &o.switches[i]; }, rows);
  Option mtp{"--mtp", &o.mtp, "With the model's layers of multi-token prediction (DeepSeek-V3)"};
  mtp.needs = "--model";
  rows.push_back(std::move(mtp));
  add(rows, model_switches(o.change));
  add(rows, step_rows(o));
  add(rows, storage_rows(o.storage));
  add(rows, device_rows(o.device, o.stack));
  rows.push_back({"--host-waits",
                  choice(o.host_waits, gen::kHostWaitNames),
                  "What the host of --device waits for",
                  "WHEN",
                  {},
                  "messages: messages of other stages. passes: also the last computation of each forward and backward "
                  "pass. parts: of each part of them. A host is there where the device file has host-us."});
  add(rows, rate_rows(o.rates));
  add(rows, output_rows(o.stats, o.files, "step"));
  return rows;
}

Options rows_of(GenerateServeOptions& o) {
  Options rows{output_option(o.files.output), model_option(o.model)};
  rows.push_back(separated({"--contexts",
                            &o.contexts,
                            "Tokens of the prompts; one number for all of --batch",
                            "N,...",
                            {},
                            "With --prompts false, tokens of the contexts of the first step. Without it, 1024."}));
  add_model_numbers(o.change, rows);
  add_numbers(
      gen::kServeNumbers, [&](size_t i) { return &o.numbers[i]; }, rows);
  add_switches(
      gen::kServeSwitches, [&](size_t i) { return &o.switches[i]; }, rows);
  add(rows, model_switches(o.change));
  add(rows, {{"--kv-tier",
              &o.kv_tier,
              "A tier of storage that has a share of the cache",
              "TIER",
              {},
              "Each layer fetches its share, and evicts what is new."},
             {"--kv-tier-share", &o.kv_tier_share, "The share, above 0 to 1", "X", real_number(0, 1),
              "Without it, all of the cache."},
             {"--fp8",
              &o.fp8,
              "Matrices of the layers lie in 8 bits, and their products read 8 bits",
              {},
              {},
              "All else keeps --bytes-per-element."}});
  add(rows, device_rows(o.device, o.stack));
  add(rows, rate_rows(o.rates));
  add(rows, output_rows(o.stats, o.files, "serve"));
  return rows;
}

}  // namespace chakra::job
