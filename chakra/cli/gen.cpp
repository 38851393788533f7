// chakra gen
#include <algorithm>

#include "chakra/cli/gen_step.h"

namespace chakra::cli {
namespace {

template <class Enum, class Rows>
Enum chosen(const Rows& rows, const std::string& name) {
  return static_cast<Enum>(std::find(rows.begin(), rows.end(), name) - rows.begin());
}

/// --dtype, which decides the bytes of an element. Without TF32 products of 32 bits run at another peak.
Result<void> settle_type(const StepOptions& o, gen::StepOptions& step) {
  constexpr double kH100Float32 = 67e12;  // of the same device as the other default, H100 SXM
  if (!o.dtype.empty()) {
    const int64_t bytes = o.dtype == "fp32" ? 4 : 2;
    const bool given = std::any_of(o.call.given.begin(), o.call.given.end(),
                                   [](const std::string& name) { return name == "--bytes-per-element"; });
    if (given && step.bytes_per_element != bytes)
      return fail(Code::usage, "cli.usage",
                  "--dtype and --bytes-per-element contradict each other: give --dtype alone");
    step.bytes_per_element = bytes;
    step.fp16 = o.dtype == "fp16";
  }
  if (step.bytes_per_element == 4 && !o.device.peak_tflops) step.peak_flop_per_s = kH100Float32;
  return {};
}

/// Texts and changes -> the step of the call.
Result<void> settle(StepOptions& o, Findings& findings) {
  gen::StepOptions step;
  for (const gen::PresetRow& row : gen::kPresets)
    if (row.name == o.preset) step = row.options();
  if (!o.model.empty()) {
    CHAKRA_ASSIGN(step.model, gen::find_or_read_model(o.model, findings, {o.mtp}));
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
  if (!o.host_waits.empty()) step.host_waits = chosen<gen::HostWaits>(gen::kHostWaitNames, o.host_waits);
  step.schedule = o.call.step.schedule;
  step.expert_skew = o.expert_skew.value_or(step.expert_skew);
  step.storage = o.call.step.storage;
  if (!o.optimizer.empty()) {
    const auto row = std::find_if(gen::kOptimizers.begin(), gen::kOptimizers.end(),
                                  [&](const gen::OptimizerRow& r) { return r.name == o.optimizer; });
    step.optimizer = static_cast<size_t>(row - gen::kOptimizers.begin());
  }
  o.device.settle(step);
  CHAKRA_TRY(settle_type(o, step));
  step.fp8 = o.call.step.fp8;
  if (o.fp8_tflops) step.fp8_flop_per_s = *o.fp8_tflops * 1e12;
  if (!o.order.empty()) step.order = o.order;
  o.call.step = std::move(step);
  o.call.device_memory_gib = o.device.memory_gib;
  return check_device(o.call.device, o.device, o.fp8_tflops);
}

Result<job::StepJob> generate(StepOptions& o, Findings& findings) {
  CHAKRA_TRY(settle(o, findings));
  return job::generate_step(o.call, findings);
}

Result<void> run_step(StepOptions o) {
  CHAKRA_TRY(check_output(o.call.files, o.call.shows_memory));
  Findings findings;
  const Result<job::StepJob> made = generate(o, findings);
  if (!findings.empty()) print_error(to_text(findings, ""));
  if (!made) return tl::unexpected(made.error());
  const std::string& json = o.call.files.report;
  if (!json.empty()) CHAKRA_TRY(write_json(to_json(*made), json));
  if (json == "-") return {};
  print(to_text(*made));
  if (o.call.shows_memory) print(memory_text_of(*made));
  return {};
}

Syntax step_syntax() {
  auto options = std::make_shared<StepOptions>();
  return {.options = step_rows(*options),
          .run = exits_with_zero([options] { return run_step(*options); }),
          .given = &options->call.given};
}

}  // namespace

Syntax gen_syntax() {
  return {.below = {{"cases", "Write the named test cases of the ecosystem: one or two nodes each", gen_cases_syntax},
                    {"serve", "Prefill and decode of a batch by a transformer, as a job by classes", gen_serve_syntax},
                    {"step", "One training step of a model, as a job by classes of ranks", step_syntax}}};
}

}  // namespace chakra::cli
