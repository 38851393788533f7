// The work of a rank for a part of the model and a micro-batch: a graph of operators,
// spread over a mesh, as computations and collectives in order, forward and backward.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "chakra/gen/gen.h"
#include "chakra/gen/placement.h"
#include "chakra/model/blocks.h"

namespace chakra::gen {

using model::Graph, model::Op, model::OpKind, model::Tensor, model::Weight;

struct Spread {
  Mesh mesh;
  bool sequence_parallel = true;  ///< between the tensor-parallel parts a rank has a share of the tokens
  bool keep_gathered = false;     ///< gathered tokens are kept for backward, else gathered again
  bool fused_attention = true;    ///< attention scores never reach memory
  ContextKind context = ContextKind::ring;
  Recompute recompute = Recompute::none;
  bool eager = false;      ///< Framework::eager
  double logit_bytes = 0;  ///< Framework::logit_bytes
  double element = 2;      ///< bytes
  bool fp8 = false;        ///< matrix multiplications read 8 bits per element
  bool trains = true;      ///< backward follows
  bool merges = false;     ///< matrix multiplications of one input with several matrices are merged
  double dispatched = 1;   ///< bytes of a dispatch or combine, relative to a copy of a token for each of its experts
  /// Of a rank's expert choices, the number for each place of ep,
  /// and the place of this rank; empty: all places are equal.
  std::vector<int64_t> choices;
  int64_t place = 0;
  /// Return the load of this rank's experts, relative to the mean.
  double load() const;
};

/// FLOPs (matrix multiplications only: a multiply-add counts 2) and bytes read and written.
struct Work {
  double flops = 0, bytes = 0;
};

struct Step {
  enum class Kind : uint8_t {
    compute,
    collective,
    send,    ///< to the next rank of an axis
    receive  ///< from the previous rank
  };
  std::string name;
  Kind kind = Kind::compute;
  Work work;  ///< of a computation
  trace::CommType type = trace::CommType::unknown;
  double bytes = 0;  ///< contribution of this rank
  Axis axis = Axis::tp;
  /// Earlier steps of the program, other than computations, that this step needs besides the previous computation.
  std::vector<size_t> waits = {};
  bool fp8 = false;         ///< of a computation: a matrix multiplication with 8-bit inputs
  std::string kernel = {};  ///< of a computation: the node's attribute (docs/reference/formats/et.md); "": unknown
  std::string of = {};      ///< of a computation: the operator that contains the step
  double weights = 0;       ///< of a computation: bytes of matrices, which any batch reads
  /// Of an uneven all-to-all: elements that this rank sends to, and receives from, each place of the axis.
  std::vector<int64_t> in_split = {}, out_split = {};
};
using Program = std::vector<Step>;

/// Parameters of a rank.
struct Parameters {
  double dense = 0, experts = 0;                ///< separate because different ranks sum the gradients
  double frozen_dense = 0, frozen_experts = 0;  ///< part of these: not trained
  /// Part of these: on all ranks of a tensor-parallel group, with gradients that are terms of a sum there.
  double shared_dense = 0, shared_experts = 0;
  double largest = 0;   ///< elements of the largest tensor
  double tables = 0;    ///< on no other rank; the update is part of the node of the gradient
  double borrowed = 0;  ///< owned by another part of the model
  /// Matrices in layers: elements, and FLOPs to orthogonalize matrices of this shape.
  double matrices = 0, orthogonal_ops = 0;
  double fp8 = 0;  ///< weights of multiplications with 8-bit inputs
  /// `dense` and `experts`, if the ranks of a tensor-parallel group divided the
  /// parameters that all of them have; without padding, tables and borrowed parameters.
  double once_dense = 0, once_experts = 0;
};

/// Bytes that a rank reads in forward.
struct Reads {
  double parameters = 0;  ///< matrices, of experts only the chosen ones, and rows of tables
  double cache = 0;
};

struct Unit {
  Program forward, backward;                ///< backward: both gradients
  Program input_gradient, weight_gradient;  ///< the two gradients separately
  Parameters parameters;
  double kept = 0;            ///< bytes that forward leaves for backward
  double computed_again = 0;  ///< further bytes during backward: recomputed activations
  double of_loss = 0;         ///< further bytes during the loss: copies of the logits
  double passed = 0;          ///< bytes of the output for the next part, and of its gradient
  Reads reads;
  double largest = 0;  ///< bytes of the inputs and the output of the largest operator

  const Program& program(Pass pass) const {
    return *std::array{&forward, &backward, &input_gradient, &weight_gradient}[static_cast<size_t>(pass)];
  }
};

Unit compile(const Graph& graph, const Spread& spread);
/// Compile without backward, and without the tensors kept for backward.
Unit compile_forward(const Graph& graph, const Spread& spread);

}  // namespace chakra::gen
