// Tables: the options that are whole numbers, switches, the presets.
#include "chakra/gen/gen.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::gen {
namespace {

constexpr int64_t kMuch = int64_t{1} << 20, kVeryMuch = int64_t{1} << 28;

struct Ranks {
  int64_t tp, pp, virtual_stages, dp, micro_batches;
};
StepOptions spread(std::string_view name, const Ranks& r) {
  const model::ModelRow* const row = model::find_model(name);
  CHAKRA_ASSERT(row);
  StepOptions o;
  o.model = row->model;
  o.tp = r.tp;
  o.pp = r.pp;
  o.virtual_stages = r.virtual_stages;
  o.dp = r.dp;
  o.micro_batches = r.micro_batches;
  return o;
}

}  // namespace

const std::array<NumberRow, 16> kNumbers{{
    {"sequence", "Tokens of a sequence; 0: the model's", &StepOptions::sequence, 0, kVeryMuch},
    {"micro-batches", "Micro-batches of a step, per pipeline", &StepOptions::micro_batches, 1, kMuch},
    {"micro-batch-size", "Sequences per micro-batch", &StepOptions::micro_batch_size, 1, kMuch},
    {"tp", "Tensor-parallel ranks", &StepOptions::tp, 1, kMuch},
    {"cp", "Context-parallel ranks", &StepOptions::cp, 1, kMuch},
    {"pp", "Pipeline stages", &StepOptions::pp, 1, kMuch},
    {"dp", "Data-parallel ranks", &StepOptions::dp, 1, kMuch},
    {"ep", "Expert-parallel ranks", &StepOptions::ep, 1, kMuch},
    {"etp", "Tensor-parallel ranks of an expert; 0: as --tp", &StepOptions::etp, 0, kMuch},
    {"virtual-stages", "Virtual stages of each pipeline stage", &StepOptions::virtual_stages, 1, kMuch},
    {"zero", "ZeRO stage: shard optimizer (1), also gradients (2), also parameters (3); 0: off", &StepOptions::zero, 0,
     3},
    {"zero-ranks", "Data-parallel ranks that shard among themselves, a divisor of --dp; 0: all",
     &StepOptions::zero_ranks, 0, kMuch},
    {"seed", "Random seed for --expert-skew: which experts are popular", &StepOptions::seed, 0, kVeryMuch},
    {"bytes-per-element", "Bytes of a parameter or an activation", &StepOptions::bytes_per_element, 1, 16},
    {"lora-rank", "Train adapters of this rank (LoRA) and freeze the model; 0: train the model",
     &StepOptions::lora_rank, 0, kMuch},
    {"gradient-bytes", "Bytes of a gradient element", &StepOptions::gradient_bytes, 1, 16},
}};

const std::array<SwitchRow, 7> kSwitches{{
    {"sequence-parallel", "Sequence parallelism: shard tokens between tensor-parallel parts",
     &StepOptions::sequence_parallel},
    {"keep-gathered", "Keep gathered inputs of matrix multiplications for the backward pass",
     &StepOptions::keep_gathered},
    {"fused-attention", "Fused attention: attention scores stay out of device memory", &StepOptions::fused_attention},
    {"overlap", "Overlap collectives with independent computation", &StepOptions::overlap},
    {"lora-mlp", "Add adapters of --lora-rank to MLPs, not only to attention", &StepOptions::lora_mlp},
    {"clip", "Clip gradients by norm", &StepOptions::clip},
    {"ends", "Include embedding, head and loss", &StepOptions::ends},
}};

const std::array<PresetRow, 5> kPresets{{
    {"tiny", "0.6 million parameters on 16 ranks, to try things out",
     [] {
       return spread("tiny", {2, 4, 2, 2, 8});
     }},
    {"llama3-8b", "Llama 3, 8 billion parameters, on 8 ranks",
     [] {
       return spread("llama3-8b", {2, 2, 1, 2, 8});
     }},
    {"llama3-70b", "Llama 3, 70 billion parameters, on 256 ranks",
     [] {
       return spread("llama3-70b", {8, 4, 2, 8, 16});
     }},
    {"llama3-405b", "Llama 3, 405 billion parameters, on 16,384 ranks",
     [] {
       return spread("llama3-405b", {8, 16, 2, 128, 32});
     }},
    {"gpt3-175b", "GPT-3, 175 billion parameters, on 1,024 ranks",
     [] {
       return spread("gpt3-175b", {8, 8, 2, 16, 32});
     }},
}};

StepOptions settled(StepOptions o) {
  constexpr double kSharedLogitBytes = 16;  // log-softmax, its gradient, an exponential, the gradient of the logits
  const Framework& f = o.framework;
  if (f.per_operator && o.recompute == Recompute::selective) o.recompute = Recompute::per_operator;
  if (!f.fsdp) return o;
  if (o.tp > 1) {
    o.framework.logit_bytes = std::max(f.logit_bytes, kSharedLogitBytes);
    o.keep_gathered |= o.sequence_parallel;
  }
  if (o.pp > 1 && o.zero == 3) o.zero = 1;
  return o;
}

}  // namespace chakra::gen
