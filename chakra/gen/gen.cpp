// Tables: the options that are whole numbers, switches, the presets; models with changes.
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
  const ModelRow* const row = find_model(name);
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

const std::array<ModelNumberRow, 7> kModelNumbers{{
    {"layers", "Layers of the model", &ModelChange::layers, 1, kMostLayers},
    {"hidden", "Width of the model", &ModelChange::hidden, 1, kMuch},
    {"ffn", "Inner width of the MLP", &ModelChange::ffn, 1, kMuch},
    {"heads", "Attention heads", &ModelChange::heads, 1, kMuch},
    {"kv-heads", "Heads of keys and values; 0: as many as heads", &ModelChange::kv_heads, 0, kMuch},
    {"head-dim", "Width of a head; 0: hidden / heads", &ModelChange::head_dim, 0, kMuch},
    {"vocab", "Vocabulary size", &ModelChange::vocabulary, 1, kVeryMuch},
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

Model default_model() {
  Block block;
  block.attention.heads = block.attention.kv_heads = 16;
  block.attention.head_dim = block.attention.value_dim = 64;
  block.mlp.width = 4096;
  Model model;
  model.name = "transformer";
  model.hidden = 1024;
  model.vocabulary = 32'000;
  model.sequence = 2048;
  for (int i = 0; i < 8; ++i) add_layer(model, block);
  return model;
}

namespace {

/// What has no effect on a kind of layer is refused, so that no number seems to follow from it.
Result<void> check_change(const Model& model, const ModelChange& change) {
  if (model.family != Family::mlp && model.family != Family::recommender) return {};
  const auto refuse = [&](std::string_view name) {
    return fail(Code::usage, "gen.step.unsupported", fmt::format("{} does not apply to {}", name, model.name));
  };
  const bool recommender = model.family == Family::recommender;
  for (const ModelNumberRow& row : kModelNumbers) {
    const bool width = row.value == &ModelChange::hidden, count = row.value == &ModelChange::layers;
    if (change.*row.value && (recommender || (!width && !count))) return refuse(row.name);
  }
  if (change.gated) return refuse("gated");
  if (change.causal) return refuse("causal");
  return {};
}
Result<void> check_change(const Block& block, const ModelChange& change) {
  const auto refuse = [](const char* text) { return fail(Code::usage, "gen.step.unsupported", text); };
  if (change.gated && block.experts) return refuse("gated: experts are always gated");
  if (block.attention.kv_rank == 0) return {};
  if (change.kv_heads) return refuse("kv-heads: latent attention has as many as heads");
  if (change.head_dim) return refuse("head-dim: the widths of latent attention come with its model");
  return {};
}

/// The width of a norm of all heads, or of each, when these change.
int64_t norm_width(int64_t width, int64_t heads_before, int64_t dim_before, int64_t heads, int64_t dim) {
  return width == dim_before ? dim : width == heads_before * dim_before ? heads * dim : width;
}

}  // namespace

Result<Model> changed(Model model, const ModelChange& change) {
  for (const ModelNumberRow& row : kModelNumbers)
    if (const std::optional<int64_t> n = change.*row.value; n && (*n < row.least || *n > row.most))
      return fail(Code::usage, "gen.step.range",
                  fmt::format("{} is {}; from {} to {} are possible", row.name, *n, row.least, row.most));
  CHAKRA_TRY(check_change(model, change));
  if (model.family == Family::recommender) return model;
  if (model.layers.empty()) return fail(Code::usage, "gen.step.range", "the model has no layer");
  if (change.layers && model.blocks[model.layers.back()].first) {  // of an MLP only the first layer is
    Block next = model.blocks[model.layers.back()];
    next.first = false;
    add_layer(model, next);
  }
  if (change.layers) model.layers.resize(static_cast<size_t>(*change.layers), model.layers.back());
  model.hidden = change.hidden.value_or(model.hidden);
  model.vocabulary = change.vocabulary.value_or(model.vocabulary);
  model.causal = change.causal.value_or(model.causal);
  if (model.family == Family::mlp) return model;
  for (Block& block : model.blocks) {
    CHAKRA_TRY(check_change(block, change));
    Attention& a = block.attention;
    const Attention before = a;
    const bool all_heads = a.kv_heads == a.heads;
    a.heads = change.heads.value_or(a.heads);
    const int64_t kv = change.kv_heads.value_or(all_heads ? 0 : a.kv_heads);
    a.kv_heads = kv > 0 ? kv : a.heads;
    if (a.heads % a.kv_heads != 0)
      return fail(Code::usage, "gen.step.divide",
                  fmt::format("heads, {}, is not a multiple of kv-heads, {}", a.heads, a.kv_heads));
    const bool dependent = (change.hidden || change.heads) && a.kv_rank == 0;
    if (const int64_t width = change.head_dim.value_or(dependent ? 0 : a.head_dim); width > 0) {
      if (change.head_dim) a.value_dim = width;
      a.head_dim = width;
    } else if (model.hidden % a.heads != 0) {
      return fail(Code::usage, "gen.step.divide",
                  fmt::format("hidden, {}, is not a multiple of heads, {}", model.hidden, a.heads));
    } else {
      a.head_dim = a.value_dim = model.hidden / a.heads;
    }
    a.q_norm = norm_width(a.q_norm, before.heads, before.head_dim, a.heads, a.head_dim);
    a.k_norm = norm_width(a.k_norm, before.kv_heads, before.head_dim, a.kv_heads, a.head_dim);
    block.mlp.width = change.ffn.value_or(block.mlp.width);
    if (block.experts && change.ffn) block.experts->width = *change.ffn;
    block.mlp.gated = change.gated.value_or(block.mlp.gated);
  }
  return model;
}

}  // namespace chakra::gen
