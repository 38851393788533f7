// Tables: the options that are whole numbers, the presets.
#include "chakra/gen/gen.h"

namespace chakra::gen {
namespace {

constexpr int64_t kMuch = int64_t{1} << 20, kVeryMuch = int64_t{1} << 28;

struct Model {
  int64_t layers, hidden, ffn, heads, kv_heads, sequence, vocabulary;
};
struct Spread {
  int64_t tp, pp, virtual_stages, dp, micro_batches;
};
StepOptions preset(const Model& m, const Spread& s, bool gated = true) {
  StepOptions o;
  o.layers = m.layers;
  o.hidden = m.hidden;
  o.ffn = m.ffn;
  o.heads = m.heads;
  o.kv_heads = m.kv_heads;
  o.sequence = m.sequence;
  o.vocabulary = m.vocabulary;
  o.gated = gated;
  o.tp = s.tp;
  o.pp = s.pp;
  o.virtual_stages = s.virtual_stages;
  o.dp = s.dp;
  o.micro_batches = s.micro_batches;
  return o;
}

}  // namespace

const std::array<NumberRow, 16> kNumbers{{
    {"layers", "Layers of the model", &StepOptions::layers, 1, kMuch},
    {"hidden", "Width of the model", &StepOptions::hidden, 1, kMuch},
    {"ffn", "Width of the MLP between its matrices", &StepOptions::ffn, 1, kMuch},
    {"heads", "Attention heads", &StepOptions::heads, 1, kMuch},
    {"kv-heads", "Heads of keys and values; 0: as many as heads", &StepOptions::kv_heads, 0, kMuch},
    {"head-dim", "Width of a head; 0: hidden / heads", &StepOptions::head_dim, 0, kMuch},
    {"sequence", "Tokens of a sequence", &StepOptions::sequence, 1, kVeryMuch},
    {"vocab", "Different tokens", &StepOptions::vocabulary, 1, kVeryMuch},
    {"micro-batches", "Micro-batches of a step, per pipeline", &StepOptions::micro_batches, 1, kMuch},
    {"micro-batch-size", "Sequences of a micro-batch", &StepOptions::micro_batch_size, 1, kMuch},
    {"tp", "Tensor-parallel ranks", &StepOptions::tp, 1, kMuch},
    {"pp", "Pipeline stages", &StepOptions::pp, 1, kMuch},
    {"virtual-stages", "Virtual stages of each pipeline stage", &StepOptions::virtual_stages, 1, kMuch},
    {"dp", "Data-parallel ranks", &StepOptions::dp, 1, kMuch},
    {"bytes-per-element", "Bytes of a parameter or an activation", &StepOptions::bytes_per_element, 1, 16},
    {"gradient-bytes", "Bytes of an element of a gradient that is reduced", &StepOptions::gradient_bytes, 1, 16},
}};

// Sizes of the models: "The Llama 3 Herd of Models" (2024), table 3; "Language Models are Few-Shot Learners" (2020),
// table 2.1. The 405-billion-parameter model is spread as on its 16,384 devices.
const std::array<PresetRow, 5> kPresets{{
    {"tiny", "0.6 million parameters on 16 ranks, to try things out",
     preset({8, 64, 256, 8, 4, 128, 1024}, {2, 4, 2, 2, 8})},
    {"llama3-8b", "Llama 3, 8 billion parameters, on 8 ranks",
     preset({32, 4096, 14336, 32, 8, 8192, 128'256}, {2, 2, 1, 2, 8})},
    {"llama3-70b", "Llama 3, 70 billion parameters, on 256 ranks",
     preset({80, 8192, 28672, 64, 8, 8192, 128'256}, {8, 4, 2, 8, 16})},
    {"llama3-405b", "Llama 3, 405 billion parameters, on 16,384 ranks",
     preset({126, 16384, 53248, 128, 8, 8192, 128'256}, {8, 16, 2, 128, 32})},
    {"gpt3-175b", "GPT-3, 175 billion parameters, on 1,024 ranks",
     preset({96, 12288, 49152, 96, 96, 2048, 50'257}, {8, 8, 2, 16, 32}, false)},
}};

}  // namespace chakra::gen
