// Options of generators that changed nothing, as rows.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/device/device.h"
#include "chakra/generate/parts.h"
#include "chakra/model/model.h"
#include "chakra/options/options.h"

namespace chakra::generate {
namespace {

using options::no_effect;

struct StepFacts {
  const StepJobOptions& asked;
  const gen::StepOptions& o;
  const gen::StepStats& stats;
  const gen::Framework& framework;  ///< of the stack, which `o` does not have
  bool fsdp() const { return framework.fsdp; }
};
struct ServeFacts {
  const ServeJobOptions& asked;
  const gen::ServeOptions& o;
  const gen::ServeStats& stats;
  static constexpr bool fsdp() { return false; }
};

template <class Facts>
struct IgnoredRow {
  std::string_view option;
  std::string (*why)(const Facts&);  ///< empty: it had an effect, or has its default
};

// ---- both ------------------------------------------------------------------------------------------------------

constexpr const char* kNoJob = "without -o no job is written";

template <class Facts>
std::string why_job(const Facts& f) {
  return f.asked.files.output.empty() && !f.asked.files.used ? kNoJob : "";
}
template <class Facts>
std::string why_memory(const Facts& f) {
  const auto& most = fullest(f.stats.classes);
  const double device_bytes = f.asked.device_memory_gib.value_or(kUsualDeviceGib) * kGib;
  const bool fits = sim::fits({most.first_rank, most.memory.sum(), f.fsdp(), device_bytes, ""}) == "yes";
  return f.asked.shows_memory || !f.asked.files.report.empty() || !fits
             ? ""
             : "the job fits, and only --stats and --json show the memory";
}
template <class Facts>
std::string why_overlap(const Facts& f) {
  const auto& all = f.stats.classes;
  const auto silent = [](const auto& rank) { return rank.communication.empty(); };
  return std::all_of(all.begin(), all.end(), silent) ? "nothing communicates" : why_job(f);
}

/// A stack that gives kernels the device's times.
bool is_plain(const std::string& name) {
  const auto stack = device::find_or_load_stack(name);
  return stack && stack->attention.empty() && stack->elementwise_time == 1 && stack->host_s == 0 &&
         stack->experts.layer_s == 0;
}

// ---- step ------------------------------------------------------------------------------------------------------

bool has_attention(const model::Model& model) {
  return model.family != model::Family::mlp && model.family != model::Family::recommender;
}

std::string why_sequence(const StepFacts& f) {
  if (!f.o.model.shares_tokens()) return "the model has no tokens to shard";
  return f.o.tp == 1 ? "tp is 1" : "";
}
std::string why_gathered(const StepFacts& f) {
  if (f.o.tp == 1) return f.o.keep_gathered ? "tp is 1" : "";
  if (!f.o.keep_gathered) return f.fsdp() ? "the stack always keeps gathered data" : "";
  return f.o.sequence_parallel && f.o.model.shares_tokens() ? "" : "without sequence parallelism, no data is gathered";
}
std::string why_fused(const StepFacts& f) { return has_attention(f.o.model) ? "" : "the model has no attention"; }
std::string why_context(const StepFacts& f) { return f.o.cp > 1 ? "" : "cp is 1"; }
std::string why_recompute(const StepFacts& f) {
  const model::Model& model = f.o.model;
  if (f.o.recompute == gen::Recompute::none) return "";
  if (model.family == model::Family::recommender) return "the model has no layers";
  if (f.o.recompute == gen::Recompute::selective) return why_fused(f);
  const auto first = [&](size_t layer) { return model.block(layer).first; };
  return model.layers.size() == 1 && first(0) ? "the only layer multiplies the data" : "";
}
std::string why_lora_mlp(const StepFacts& f) {
  if (f.o.lora_rank == 0) return "without --lora-rank there are no adapters";
  const auto has_mlp = [](const model::Block& block) { return !block.experts; };
  const std::vector<model::Block>& blocks = f.o.model.blocks;
  return std::any_of(blocks.begin(), blocks.end(), has_mlp) ? "" : "all MLPs are experts, which have no adapters";
}
std::string why_zero(const StepFacts& f) {
  const gen::StepOptions& o = f.o;
  if (o.dp * o.cp > 1) return "";
  const int64_t etp = o.etp > 0 ? o.etp : o.tp;
  if (o.model.has_experts() && o.tp > etp * o.ep) return "";  // copies of experts
  return "dp and cp are 1, so there are no ranks to shard over";
}
std::string why_order(const StepFacts& f) {
  const std::array<int64_t, 5> sizes{f.o.tp, f.o.cp, f.o.ep, f.o.dp, f.o.pp};
  return std::count_if(sizes.begin(), sizes.end(), [](int64_t n) { return n > 1; }) > 1 ? "" : "ranks lie in one row";
}
std::string why_virtual(const StepFacts& f) {
  const gen::ScheduleRow* const schedule = gen::find_schedule(f.o.schedule);
  if (!schedule || schedule->chunks < 2 || f.o.virtual_stages == 1) return "";
  return fmt::format("{} has always {} pieces of the model on a stage", schedule->name, schedule->chunks);
}
std::string why_ends(const StepFacts& f) {
  return f.o.model.family == model::Family::mlp ? "an MLP has no embedding, head or loss" : "";
}
std::string why_mtp(const StepFacts& f) { return f.o.ends ? "" : "--ends false leaves these layers out"; }
std::string why_fp8(const StepFacts& f) {
  if (f.stats.fp8_operations > 0) return "";
  if (f.o.bytes_per_element == 1) return "with --bytes-per-element 1, all matrix multiplications have 8-bit inputs";
  if (f.o.model.family == model::Family::recommender)
    return "it applies to matrix multiplications of layers, and the model has no layers";
  return "no layer has a matrix multiplication";
}
std::string why_fp8_rate(const StepFacts& f) {
  if (!f.o.fp8) return "without --fp8, no matrix multiplication has 8-bit inputs";
  return f.stats.fp8_operations > 0 ? why_job(f) : "no matrix multiplication has 8-bit inputs";
}
/// A device also says how much memory there is.
std::string why_device(const StepFacts& f) { return f.asked.shows_memory ? "" : why_job(f); }

std::string why_stack(const StepFacts& f) {
  if (f.asked.shows_memory || !f.asked.files.report.empty()) return "";
  const gen::StepOptions settled = gen::settled(f.o);
  if (settled.recompute != f.o.recompute || settled.zero != f.o.zero || settled.keep_gathered != f.o.keep_gathered)
    return why_job(f);
  if (f.asked.device.empty()) return "without --device, it affects only the memory, which --stats and --json show";
  return is_plain(f.asked.stack) ? fmt::format("stack {} leaves the device unchanged", f.asked.stack) : why_device(f);
}

std::string why_host_waits(const StepFacts& f) {
  if (f.o.host_waits == gen::HostWaits::messages) return "";
  return f.o.host_ns > 0 ? why_job(f) : "no host is modelled: give a --device with host-us";
}

constexpr std::array<IgnoredRow<StepFacts>, 22> kStepRows{{
    {"--all-ranks", why_job<StepFacts>},
    {"--device-memory-gib", why_memory<StepFacts>},
    {"--device", why_device},
    {"--stack", why_stack},
    {"--host-waits", why_host_waits},
    {"--device-peak-tflops", why_job<StepFacts>},
    {"--device-mem-gb-per-s", why_job<StepFacts>},
    {"--efficiency", why_job<StepFacts>},
    {"--device-fp8-tflops", why_fp8_rate},
    {"--fp8", why_fp8},
    {"--overlap", why_overlap<StepFacts>},
    {"--sequence-parallel", why_sequence},
    {"--keep-gathered", why_gathered},
    {"--fused-attention", why_fused},
    {"--context", why_context},
    {"--recompute", why_recompute},
    {"--lora-mlp", why_lora_mlp},
    {"--zero", why_zero},
    {"--order", why_order},
    {"--virtual-stages", why_virtual},
    {"--ends", why_ends},
    {"--mtp", why_mtp},
}};

// ---- serve -----------------------------------------------------------------------------------------------------

std::string why_chunk(const ServeFacts& f) {
  const int64_t longest = *std::max_element(f.o.contexts.begin(), f.o.contexts.end());
  return f.o.chunk == 0 || f.o.chunk < longest ? "" : "no prompt is longer";
}
std::string why_causal(const ServeFacts& f) { return f.o.prompts ? "" : "decode only looks back"; }

std::string why_serve_fp8(const ServeFacts& f) {
  return f.o.bytes_per_element == 1 ? "with --bytes-per-element 1, all matrix multiplications have 8-bit inputs" : "";
}
std::string why_serve_fp8_rate(const ServeFacts& f) {
  return f.o.fp8 ? why_job(f) : "without --fp8, no matrix multiplication has 8-bit inputs";
}
std::string why_serve_device(const ServeFacts& f) { return f.asked.shows_memory ? "" : why_job(f); }
std::string why_serve_stack(const ServeFacts& f) {
  if (f.o.pass_ns > 0 || f.o.sequence_ns > 0) return why_job(f);
  if (f.asked.device.empty()) return "without --device, it sets the host time between passes, which is 0 here";
  return is_plain(f.asked.stack) ? fmt::format("stack {} leaves the device unchanged", f.asked.stack)
                                 : why_serve_device(f);
}

constexpr std::array<IgnoredRow<ServeFacts>, 12> kServeRows{{
    {"--fp8", why_serve_fp8},
    {"--device-fp8-tflops", why_serve_fp8_rate},
    {"--device", why_serve_device},
    {"--stack", why_serve_stack},
    {"--all-ranks", why_job<ServeFacts>},
    {"--device-memory-gib", why_memory<ServeFacts>},
    {"--device-peak-tflops", why_job<ServeFacts>},
    {"--device-mem-gb-per-s", why_job<ServeFacts>},
    {"--efficiency", why_job<ServeFacts>},
    {"--overlap", why_overlap<ServeFacts>},
    {"--chunk", why_chunk},
    {"--causal", why_causal},
}};

template <class Facts, size_t N>
Findings ignored(const std::array<IgnoredRow<Facts>, N>& rows, const Facts& facts) {
  const std::vector<std::string>& given = facts.asked.given;
  Findings findings;
  for (const IgnoredRow<Facts>& row : rows) {
    if (std::find(given.begin(), given.end(), row.option) == given.end()) continue;
    if (const std::string why = row.why(facts); !why.empty()) findings.push_back(no_effect(row.option, why));
  }
  return findings;
}

}  // namespace

Findings options_without_effect(const StepJobOptions& options, const gen::Framework& framework,
                                const gen::StepStats& stats) {
  return ignored<StepFacts>(kStepRows, {options, options.step, stats, framework});
}
Findings options_without_effect(const ServeJobOptions& options, const gen::ServeOptions& serve,
                                const gen::ServeStats& stats) {
  return ignored<ServeFacts>(kServeRows, {options, serve, stats});
}

}  // namespace chakra::generate
