// What generators are asked for, as what they take.
#include <algorithm>

#include "chakra/generate/options.h"

namespace chakra::generate {
namespace {

/// Into options of a generator that have a device.
template <class To>
void settle_rates(const DeviceRates& rates, To& to) {
  if (rates.peak_tflops) to.peak_flop_per_s = *rates.peak_tflops * 1e12;
  if (rates.memory_gb_per_s) to.memory_bytes_per_s = *rates.memory_gb_per_s * 1e9;
  if (rates.efficiency) to.efficiency = *rates.efficiency;
  if (rates.fp8_tflops) to.fp8_flop_per_s = *rates.fp8_tflops * 1e12;
}

template <class Asked>
std::vector<std::string> given(const Asked& asked) {
  Asked copy = asked, fresh;
  return options::given(rows_of(copy), rows_of(fresh));
}

/// --dtype, which decides the bytes of an element. Without TF32, GEMMs of 32 bits run at another peak.
Result<void> settle_type(const GenerateStepOptions& o, const std::vector<std::string>& names, gen::StepOptions& step) {
  constexpr double kH100Float32 = 67e12;  // of the same device as the other default, H100 SXM
  if (o.type) {
    const int64_t bytes = *o.type == StepType::fp32 ? 4 : 2;
    const bool both = std::find(names.begin(), names.end(), "--bytes-per-element") != names.end();
    if (both && step.bytes_per_element != bytes)
      return fail(Code::usage, "cli.usage",
                  "--dtype and --bytes-per-element contradict each other: give --dtype alone");
    step.bytes_per_element = bytes;
    step.fp16 = *o.type == StepType::fp16;
  }
  if (step.bytes_per_element == 4 && !o.rates.peak_tflops) step.peak_flop_per_s = kH100Float32;
  return {};
}

Result<void> settle_switches(const GenerateStepOptions& o, gen::StepOptions& step) {
  for (size_t i = 0; i < o.switches.size(); ++i) {
    if (!o.switches[i]) continue;
    step.*gen::kSwitches[i].value = *o.switches[i];
    if (gen::kSwitches[i].value == &gen::StepOptions::sequence_parallel && *o.switches[i] &&
        !step.model.shares_tokens())
      return fail(Code::usage, "gen.step.unsupported", "sequence-parallel: the model has no tokens to shard");
  }
  return {};
}

Result<gen::StepOptions> settled_step(const GenerateStepOptions& o, const std::vector<std::string>& names,
                                      Findings& findings) {
  gen::StepOptions step;
  if (const gen::PresetRow* const row = find_row(gen::kPresets, o.preset)) step = row->options();
  if (!o.model.empty()) {
    CHAKRA_ASSIGN(step.model, model::find_or_read_model(o.model, findings, {o.mtp}));
  }
  CHAKRA_ASSIGN(step.model, model::changed(std::move(step.model), o.change));
  for (size_t i = 0; i < o.numbers.size(); ++i)
    if (o.numbers[i]) step.*gen::kNumbers[i].value = *o.numbers[i];
  CHAKRA_TRY(settle_switches(o, step));
  step.context = o.context.value_or(step.context);
  step.recompute = o.recompute.value_or(step.recompute);
  step.host_waits = o.host_waits.value_or(step.host_waits);
  step.schedule = o.schedule;
  step.expert_skew = o.expert_skew.value_or(step.expert_skew);
  step.storage = o.storage;
  if (const gen::OptimizerRow* const row = find_row(gen::kOptimizers, o.optimizer))
    step.optimizer = static_cast<size_t>(row - gen::kOptimizers.data());
  settle_rates(o.rates, step);
  CHAKRA_TRY(settle_type(o, names, step));
  step.fp8 = o.fp8;
  if (!o.order.empty()) step.order = o.order;
  return step;
}

/// The way back from options of a generator.
template <class From>
DeviceRates rates_of(const From& from, std::optional<double> memory_gib) {
  return {from.peak_flop_per_s / 1e12, from.fp8_flop_per_s / 1e12, from.memory_bytes_per_s / 1e9, from.efficiency,
          memory_gib};
}

/// Checks what is asked, and passes on what both generators take as it is.
template <class Call, class Asked>
Result<Call> begin_call(const Asked& o) {
  CHAKRA_TRY(options::check_call(o));
  Call call;
  call.given = given(o);
  call.device = o.device;
  call.stack = o.stack;
  call.device_memory_gib = o.rates.memory_gib;
  call.files = o.files;
  call.shows_memory = o.stats;
  return call;
}

}  // namespace

Result<StepJob> generate_step(const GenerateStepOptions& o, Findings& findings) {
  CHAKRA_ASSIGN(StepJobOptions call, begin_call<StepJobOptions>(o));
  CHAKRA_ASSIGN(call.step, settled_step(o, call.given, findings));
  return generate_step(call, findings);
}

Result<GenerateStepOptions> settled(const GenerateStepOptions& o) {
  Findings ignored;
  CHAKRA_ASSIGN(const gen::StepOptions step, settled_step(o, given(o), ignored));
  GenerateStepOptions all = o;
  for (size_t i = 0; i < all.numbers.size(); ++i) all.numbers[i] = step.*gen::kNumbers[i].value;
  for (size_t i = 0; i < all.switches.size(); ++i) all.switches[i] = step.*gen::kSwitches[i].value;
  all.context = step.context;
  all.recompute = step.recompute;
  all.host_waits = step.host_waits;
  all.expert_skew = step.expert_skew;
  all.optimizer = gen::kOptimizers[step.optimizer].name;
  all.order = step.order;
  all.type = step.bytes_per_element == 4 ? StepType::fp32 : step.fp16 ? StepType::fp16 : StepType::bf16;
  all.rates = rates_of(step, o.rates.memory_gib);
  return all;
}

namespace {

Result<gen::ServeOptions> settled_serve(const GenerateServeOptions& o, Findings& findings) {
  gen::ServeOptions serve;
  serve.model = model::default_model();
  if (!o.model.empty()) {
    CHAKRA_ASSIGN(serve.model, model::find_or_read_model(o.model, findings));
  }
  CHAKRA_ASSIGN(serve.model, model::changed(std::move(serve.model), o.change));
  for (size_t i = 0; i < o.numbers.size(); ++i)
    if (o.numbers[i]) gen::kServeNumbers[i].value(serve) = *o.numbers[i];
  for (size_t i = 0; i < o.switches.size(); ++i)
    if (o.switches[i]) serve.*gen::kServeSwitches[i].value = *o.switches[i];
  if (!o.contexts.empty()) serve.contexts = o.contexts;
  serve.kv_tier = o.kv_tier;
  if (!serve.kv_tier.empty()) serve.kv_tier_share = 1;
  if (o.kv_tier_share) serve.kv_tier_share = *o.kv_tier_share;
  serve.fp8 = o.fp8;
  settle_rates(o.rates, serve);
  return serve;
}

}  // namespace

Result<GenerateServeOptions> settled(const GenerateServeOptions& o) {
  Findings ignored;
  CHAKRA_ASSIGN(gen::ServeOptions serve, settled_serve(o, ignored));
  GenerateServeOptions all = o;
  for (size_t i = 0; i < all.numbers.size(); ++i) all.numbers[i] = gen::kServeNumbers[i].value(serve);
  for (size_t i = 0; i < all.switches.size(); ++i) all.switches[i] = serve.*gen::kServeSwitches[i].value;
  all.contexts = serve.contexts;
  all.kv_tier_share = serve.kv_tier_share;
  all.rates = rates_of(serve, o.rates.memory_gib);
  return all;
}

Result<ServeJob> generate_serve(const GenerateServeOptions& o, Findings& findings) {
  CHAKRA_ASSIGN(ServeJobOptions call, begin_call<ServeJobOptions>(o));
  CHAKRA_ASSIGN(call.serve, settled_serve(o, findings));
  return generate_serve(call, findings);
}

}  // namespace chakra::generate
