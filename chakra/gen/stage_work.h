// A transformer as one rank has it: widths, the operations and bytes of its parts, and which stage has which layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "chakra/gen/gen.h"

namespace chakra::gen {

/// Widths as a rank has them, with nothing left to a default.
struct Sizes {
  double tokens;         ///< of a micro-batch
  double token_share;    ///< of them that a rank keeps between the tensor-parallel parts
  double hidden, q, kv;  ///< widths
  double ffn, vocabulary;
  double element;
};

Sizes sizes(const StepOptions& o);
int64_t kv_heads(const StepOptions& o);
int64_t head_dim(const StepOptions& o);

/// Parameters of one rank.
double layer_parameters(const StepOptions& o, const Sizes& s);

/// The first layer of each virtual stage, then the number of layers. Where the layers cannot be dealt out evenly,
/// the embedding and the head count as a layer each, and the remaining ones go to the virtual stages after the first.
std::vector<int64_t> deal_layers(const StepOptions& o);

/// Of a computation: what the roofline needs.
struct Work {
  double flops, bytes;
};

/// The parts of a layer.
struct StageWork {
  const StepOptions& o;
  const Sizes s;

  explicit StageWork(const StepOptions& options) : o(options), s(sizes(options)) {}

  Work gemm(double in, double out) const {
    return {2 * s.tokens * in * out, s.element * (s.tokens * (in + out) + in * out)};
  }
  /// Elements read and written, and operations per element.
  Work elementwise(double elements, double tensors, double flops) const {
    return {elements * flops, elements * tensors * s.element};
  }
  Work attention() const {
    return {4 * s.tokens * static_cast<double>(o.sequence) * s.q * (o.causal ? 0.5 : 1.0),
            s.element * s.tokens * 2 * (s.q + s.kv)};
  }
  Work norm() const { return elementwise(s.token_share * s.hidden, 2, 4); }
  Work residual() const { return elementwise(s.token_share * s.hidden, 3, 1); }
  Work sum(double terms) const { return elementwise(s.tokens * s.hidden, terms + 1, terms - 1); }
  Work rotation(double width) const { return elementwise(s.tokens * width, 2, 3); }
  Work activation() const { return elementwise(s.tokens * s.ffn, o.gated ? 3 : 2, o.gated ? 5 : 8); }
  static Work twice(const Work& work) { return {2 * work.flops, 2 * work.bytes}; }
};

}  // namespace chakra::gen
