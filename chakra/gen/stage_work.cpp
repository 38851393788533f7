#include "chakra/gen/stage_work.h"

namespace chakra::gen {

int64_t kv_heads(const StepOptions& o) { return o.kv_heads ? o.kv_heads : o.heads; }
int64_t head_dim(const StepOptions& o) { return o.head_dim ? o.head_dim : o.hidden / o.heads; }

Sizes sizes(const StepOptions& o) {
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  const double tokens = real(o.sequence) * real(o.micro_batch_size);
  return {.tokens = tokens,
          .token_share = tokens / real(o.tp),
          .hidden = real(o.hidden),
          .q = real(o.heads / o.tp) * real(head_dim(o)),
          .kv = real(std::max<int64_t>(kv_heads(o) / o.tp, 1)) * real(head_dim(o)),
          .ffn = real(o.ffn / o.tp),
          .vocabulary = real((o.vocabulary + o.tp - 1) / o.tp),
          .element = real(o.bytes_per_element)};
}

double layer_parameters(const StepOptions& o, const Sizes& s) {
  return s.hidden * (2 * s.q + 2 * s.kv + (o.gated ? 3 : 2) * s.ffn + 2);
}

std::vector<int64_t> deal_layers(const StepOptions& o) {
  const int64_t stages = o.pp * o.virtual_stages;
  const bool even = o.layers % stages == 0;
  const int64_t dealt = even ? o.layers : o.layers + 2, rest = dealt % stages;
  std::vector<int64_t> first{0};
  for (int64_t s = 0; s < stages; ++s) {
    const bool ends = !even && (s == 0 || s + 1 == stages);
    first.push_back(first.back() + dealt / stages + (s >= 1 && s <= rest) - ends);
  }
  return first;
}

}  // namespace chakra::gen
