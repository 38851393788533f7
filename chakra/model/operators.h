// A block of a model as a table of tensor operators with named dimensions. What an operator costs follows from the
// sizes of its tensors, what it communicates from their placements (room gen); no operator knows of ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/model/model.h"

namespace chakra::model {

/// What a dimension of a tensor counts.
enum class Dim : uint8_t {
  none,
  batch,       ///< sequences of a micro-batch, of all dp ranks
  sequence,    ///< tokens
  hidden,      ///< width of the model
  heads,       ///< of queries, and of attention's output
  kv_heads,    ///< of keys and values
  latent,      ///< width of what is between the two matrices of a latent projection
  inner,       ///< width between the matrices of an MLP
  vocabulary,  ///< different tokens
  experts,     ///< of a layer
  tables,      ///< of a recommender
  slots        ///< of an expert: tokens that it takes
};

struct Extent {
  Dim dim = Dim::none;
  double count = 1;  ///< what can be dealt out to ranks
  double unit = 1;   ///< elements of each: of heads their width
};
struct Tensor {
  std::string name;
  std::vector<Extent> dims;
  bool wide = false;  ///< 32 bits an element, whatever the model's are
  /// Of an example, and read for each of its tokens. Its gradient stays a sum of terms over the ranks that have
  /// different tokens, up to the weights'.
  bool condition = false;
};

/// Parameters. `cut`: the dimension along which the tensor-parallel ranks have parts of it; none: each has all of it.
struct Weight {
  std::vector<Extent> dims;
  Dim cut = Dim::none;
  bool borrowed = false;  ///< another part of the model has it
  bool frozen = false;    ///< not trained: no gradient, nothing of an optimizer
};

enum class OpKind : uint8_t {
  source,      ///< numbers that come with the data; they need no gradient
  lookup,      ///< rows of a table, or of several tables that ranks have shared out
  matmul,      ///< the last dimension of the input times weights[0]; a bias follows
  per_head,    ///< the last dimension of the input times weights[0], each head with its part: heads, in, out
  norm,        ///< along the last dimension
  rotate,      ///< positions into queries or keys
  attention,   ///< inputs: queries; keys; values (absent: in the keys' tensor)
  activation,  ///< of one input, or of one times the other
  add,
  append,    ///< inputs one after the other, and a learned token
  select,    ///< one token of a sequence
  modulate,  ///< inputs: tokens; numbers of the example that scale and shift them
  interact,  ///< products of each pair of vectors; inputs: one; the others
  reduce,    ///< one number of the last dimension
  loss,      ///< inputs: what came out; numbers about it
  dispatch,  ///< tokens to the experts they take: inputs: tokens; router's choice
  combine    ///< and back: inputs: tokens of experts; router's choice
};

/// Sequences that attention works on, for its kernel's shape: of a data-parallel rank, and tokens of each, those in
/// the cache included, on average.
struct Met {
  double sequences = 0, tokens = 0;
  bool decode = false;  ///< one query a sequence
  bool whole = false;   ///< sequences are alike, and none has tokens in the cache
};

struct Op {
  OpKind kind;
  std::string name;
  std::vector<size_t> inputs;  ///< into Block graph's tensors
  size_t output = 0;
  std::vector<Weight> weights;
  double keys = 0;       ///< attention: that a query is multiplied with, on average; interact: vectors
  double widths = 0;     ///< attention: elements of a key and of a value; interact: of a vector
  double reads = 1;      ///< passes over the inputs; lookup: rows that are summed up; modulate: over the second, a part
  bool precise = false;  ///< matmul: its inputs never have 8 bits
  bool mask = false;     ///< a byte per element of the output is kept for backward (dropout)
  /// Attention where there is a cache: the keys and values that are read, instead of those of the inputs, and the bytes
  /// of an element.
  std::vector<Extent> cache = {};
  double cache_element = 0;
  Met met = {};
  double choices = 0;  ///< of experts: that a token takes
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;  ///< each after what it needs
  static constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> inputs, outputs;  ///< what comes from the part before, and goes to the one after
};

/// What attention meets where tokens of earlier passes are in a cache.
struct Cached {
  double keys = 0;     ///< that a query is multiplied with, on average
  double tokens = 0;   ///< of a data-parallel rank, whose keys and values are read: those of this pass included
  double element = 2;  ///< bytes of an element of the cache
  bool over_latents =
      false;  ///< latent attention multiplies with what it keeps; else with keys and values of all heads
  Met met = {};
};
/// Of a micro-batch, all data-parallel ranks' together.
struct Batch {
  double sequences = 1, tokens = 1;  ///< tokens of a sequence
  bool dropout = false;
  std::optional<Cached> cached = {};
};

/// What a token leaves in the cache of a layer.
Extent cache_extent(const Attention& attention, bool over_latents);

/// Keys that a query of a sequence meets, on average: half of it where tokens look back only.
double average_keys(double tokens, bool causal, int64_t window);

}  // namespace chakra::model
