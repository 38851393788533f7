// A block of a model as a table of tensor operators with named dimensions. The cost of an operator follows from the
// sizes of its tensors, the communication from the placements (room gen); operators are independent of ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/model/model.h"

namespace chakra::model {

/// The meaning of a dimension of a tensor.
enum class Dim : uint8_t {
  none,
  batch,       ///< sequences of a micro-batch, of all dp ranks
  sequence,    ///< tokens
  hidden,      ///< width of the model
  heads,       ///< of queries, and of attention's output
  kv_heads,    ///< of keys and values
  latent,      ///< width between the two matrices of a latent projection
  inner,       ///< width between the matrices of an MLP
  vocabulary,  ///< different tokens
  experts,     ///< of a layer
  tables,      ///< of a recommender
  slots        ///< of an expert: tokens that the expert takes
};

struct Extent {
  Dim dim = Dim::none;
  double count = 1;  ///< units that can be dealt out to ranks
  double unit = 1;   ///< elements per unit: for heads the width
};
struct Tensor {
  std::string name;
  std::vector<Extent> dims;
  bool wide = false;  ///< 32 bits per element, regardless of the model's type
  /// The tensor belongs to an example, and is read for each token. The gradient stays a sum
  /// of terms over the ranks that have different tokens, up to the gradients of the weights.
  bool condition = false;
};

/// Parameters. `cut`: the dimension that the tensor-parallel ranks divide; Dim::none: each rank has all of the weight.
struct Weight {
  std::vector<Extent> dims;
  Dim cut = Dim::none;
  bool borrowed = false;  ///< owned by another part of the model
  bool frozen = false;    ///< not trained: no gradient, no optimizer state
};

enum class OpKind : uint8_t {
  source,      ///< numbers that come with the data; need no gradient
  lookup,      ///< embedding lookup: rows of a table, or of several tables that ranks share
  matmul,      ///< the last dimension of the input times weights[0]; weights[1]: the bias, if any
  per_head,    ///< like matmul, each head with a separate part of weights[0]: heads, in, out
  norm,        ///< along the last dimension
  rotate,      ///< RoPE on queries or keys
  attention,   ///< inputs: queries; keys; values (absent: part of the keys' tensor)
  activation,  ///< of one input, or of one input times the other
  add,
  append,    ///< inputs one after the other, and a learned token
  select,    ///< one token of a sequence
  modulate,  ///< inputs: tokens; numbers of the example that scale and shift the tokens
  interact,  ///< dot products of each pair of vectors; inputs: one; the others
  reduce,    ///< one number of the last dimension
  loss,      ///< inputs: the output; numbers about the output
  dispatch,  ///< tokens to the chosen experts; inputs: tokens; router's choice
  combine    ///< the reverse; inputs: tokens of experts; router's choice
};

/// Sequences that attention works on, for the shape of the kernel: sequences of a
/// data-parallel rank, and the average tokens of a sequence, including tokens in the cache.
struct Met {
  double sequences = 0, tokens = 0;
  bool decode = false;  ///< one query per sequence
  bool whole = false;   ///< sequences are equal, without tokens in the cache
};

struct Op {
  OpKind kind;
  std::string name;
  std::vector<size_t> inputs;  ///< into Graph::tensors
  size_t output = 0;
  std::vector<Weight> weights;
  double keys = 0;       ///< attention: keys that multiply a query, on average; interact: vectors
  double widths = 0;     ///< attention: elements of a key and of a value; interact: of a vector
  double reads = 1;      ///< passes over the inputs; embedding lookup: rows to sum; modulate: part of the second input
  bool precise = false;  ///< matmul: inputs never have 8 bits
  bool mask = false;     ///< a byte per element of the output is kept for backward (dropout)
  /// Attention with a cache: the keys and values to read, instead of
  /// the keys and values of the inputs, and the bytes of an element.
  std::vector<Extent> cache = {};
  double cache_element = 0;
  Met met = {};
  double choices = 0;  ///< of experts: number per token
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;  ///< each after the operators that it needs
  static constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> inputs, outputs;  ///< from the previous part, and for the next part
};

/// The tokens that attention meets if a cache holds tokens of earlier passes.
struct Cached {
  double keys = 0;     ///< that multiply a query, on average
  double tokens = 0;   ///< of a data-parallel rank, with keys and values to read: including the tokens of this pass
  double element = 2;  ///< bytes of an element of the cache
  bool over_latents =
      false;  ///< latent attention multiplies with cached latents; else with keys and values of all heads
  Met met = {};
};
/// A micro-batch, of all data-parallel ranks together.
struct Batch {
  double sequences = 1, tokens = 1;  ///< tokens of a sequence
  bool dropout = false;
  std::optional<Cached> cached = {};
};

/// Return the elements that a token adds to the cache of a layer.
Extent cache_extent(const Attention& attention, bool over_latents);

/// Return the keys that a query of a sequence meets, on average: without a window, half of the sequence if causal.
double average_keys(double tokens, bool causal, int64_t window);

}  // namespace chakra::model
