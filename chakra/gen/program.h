// What a rank does for a part of the model and a micro-batch: a graph of operators, spread over a mesh, as computations
// and collectives in order, forward and backward.
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
  bool keep_gathered = false;     ///< tokens that were gathered are kept for backward, else gathered again
  bool fused_attention = true;    ///< its scores never reach memory
  ContextKind context = ContextKind::ring;
  Recompute recompute = Recompute::none;
  bool eager = false;      ///< Framework::eager
  double logit_bytes = 0;  ///< Framework::logit_bytes
  double element = 2;      ///< bytes
  bool fp8 = false;        ///< products read 8 bits an element
  bool trains = true;      ///< backward follows
  bool merges = false;     ///< products of one input with several matrices are one product
  /// Of a rank's choices of experts, those that fall on each place of ep, and which place is this one; empty: all
  /// alike.
  std::vector<int64_t> choices;
  int64_t place = 0;
  /// What this rank's experts take, over the mean.
  double load() const;
};

/// Operations (products only: a multiply-add counts 2) and bytes read and written.
struct Work {
  double flops = 0, bytes = 0;
};

struct Step {
  enum class Kind : uint8_t {
    compute,
    collective,
    send,    ///< to the next rank of an axis
    receive  ///< from the one before
  };
  std::string name;
  Kind kind = Kind::compute;
  Work work;  ///< of a computation
  trace::CommType type = trace::CommType::unknown;
  double bytes = 0;  ///< what this rank puts in
  Axis axis = Axis::tp;
  /// Steps of the program before, no computations, that it needs besides the computation before it.
  std::vector<size_t> waits = {};
  bool fp8 = false;         ///< of a computation: a product with 8-bit inputs
  std::string kernel = {};  ///< of a computation: the node's attribute (docs/reference/formats/et.md); "": not known
  std::string of = {};      ///< of a computation: the operator that it is a part of
  double weights = 0;       ///< of a computation: of its bytes those of matrices, which any batch reads
  /// Of an uneven all-to-all: elements that this rank sends to each place of the axis, and that it gets from each.
  std::vector<int64_t> in_split = {}, out_split = {};
};
using Program = std::vector<Step>;

/// Parameters of a rank.
struct Parameters {
  double dense = 0, experts = 0;                ///< of two kinds: their gradients are summed by other ranks
  double frozen_dense = 0, frozen_experts = 0;  ///< of them those that are not trained
  /// Of them those that ranks of a tensor-parallel group have in common and whose gradients are terms of a sum there.
  double shared_dense = 0, shared_experts = 0;
  double largest = 0;   ///< elements of the largest tensor
  double tables = 0;    ///< that no other rank has; their update is part of the node of their gradient
  double borrowed = 0;  ///< that another part of the model has
  /// Of the matrices in layers: elements, and operations to make a matrix of their shape orthogonal.
  double matrices = 0, orthogonal_ops = 0;
  double fp8 = 0;  ///< that products with 8-bit inputs multiply with
  /// Where the ranks of a tensor-parallel group share out what they all have; without padding, tables and what is
  /// borrowed.
  double once_dense = 0, once_experts = 0;
};

/// Bytes that a rank reads in forward.
struct Reads {
  double parameters = 0;  ///< matrices, of experts those that tokens take, and rows of tables
  double cache = 0;
};

struct Unit {
  Program forward, backward;                ///< backward: both gradients
  Program input_gradient, weight_gradient;  ///< the same in two
  Parameters parameters;
  double kept = 0;            ///< bytes that forward leaves for backward
  double computed_again = 0;  ///< further bytes while backward is at work: of what it computes again
  double of_loss = 0;         ///< further bytes while the loss is at work: of copies of the logits
  double passed = 0;          ///< bytes of what it hands on, and of that's gradient
  Reads reads;
  double largest = 0;  ///< bytes of the inputs and the output of an operator, the most of them all

  const Program& program(Pass pass) const {
    return *std::array{&forward, &backward, &input_gradient, &weight_gradient}[static_cast<size_t>(pass)];
  }
};

Unit compile(const Graph& graph, const Spread& spread);
/// Without backward, and what is kept for it.
Unit compile_forward(const Graph& graph, const Spread& spread);

}  // namespace chakra::gen
