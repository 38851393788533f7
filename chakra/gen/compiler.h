// The compiler of program.h: forward in program.cpp, backward in backward.cpp, costs in cost.cpp.
#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "chakra/gen/program.h"

namespace chakra::gen {

inline bool is_expert(const Weight& weight) { return weight.dims.size() == 3 && weight.dims[0].dim == Dim::experts; }
/// Return the input dimension of a matrix.
inline const Extent& in_of(const Weight& matrix) { return matrix.dims[matrix.dims.size() - 2]; }

/// Return "gemm:4096,4096,1024"; "" if a size is not a whole number above 0.
std::string named_kernel(std::string_view name, std::initializer_list<double> sizes);

enum class Product : uint8_t { forward, input_gradient, weight_gradient };

class Compiler {
 public:
  Compiler(const Graph& graph, const Spread& spread) : g_(graph), s_(spread), made_(graph.tensors.size(), kNone) {}

  void forward(Program& program);
  /// `weights`: the program for the gradients of weights; may be the same. Requires a previous forward().
  void backward(Program& inputs, Program& weights);
  Parameters parameters() const;
  /// Return the bytes that forward keeps for backward.
  double kept(Recompute recompute) const;
  /// Return the bytes of the copies of logits that a loss makes; passed(): of the output for the next part.
  double copies_of_logits() const;
  double passed() const;
  Reads reads() const;
  /// Return the bytes of the inputs and the output of the largest operator.
  double largest() const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  /// A tensor, or its gradient, at one point of a program.
  struct Value {
    size_t tensor;
    Placements at;
    double element = 0;                ///< bytes; 0: as the tensor
    const Program* program = nullptr;  ///< the program whose step `wait` brings the value
    size_t wait = kNone;
  };
  struct LateGradient {
    size_t op, dy, x;
  };

  // ---- placements ----------------------------------------------------------------------------------------------
  Placements natural(size_t tensor) const;
  Placements settled(const Placements& at, size_t tensor) const;
  Placements weight_at(const Weight& weight) const;
  /// Return the placements needed of an operator's inputs; that of the output; the one needed of the output's gradient.
  std::vector<Placements> needs(const Op& op) const;
  Placements result(const Op& op, const std::vector<Placements>& inputs) const;
  Placements wanted(const Op& op) const;
  /// Return the placement in which the gradient of a tensor is kept.
  Placements gradient_at(size_t tensor) const;
  bool is_source(size_t tensor) const;

  // ---- steps ---------------------------------------------------------------------------------------------------
  size_t value(size_t tensor, const Placements& at, double element = 0) {
    values_.push_back({tensor, at, element});
    return values_.size() - 1;
  }
  /// Move the value to the needed placement, with the collectives of move(): reductions first, gathers last.
  size_t convert(size_t v, const Placements& to, const char* suffix);
  void compute(std::string name, const Work& work, const std::vector<size_t>& inputs, std::string kernel = {});
  /// Add one of the two multiplications of a matmul's backward pass.
  void multiply(const Op& op, Product product, const std::vector<size_t>& inputs);

  // ---- matrix multiplications with 8-bit inputs --------------------------------------------------------------------
  bool reads_fp8(const Op& op) const { return s_.fp8 && op.kind == OpKind::matmul && !op.precise; }
  /// Move the value to the placement that an operator needs, in the element that the operator reads.
  /// `share`: the multiplied share of each vector's numbers. Values that are only gathered are cast before.
  size_t operand(const Op& op, size_t v, const Placements& to, double share, const char* suffix);
  size_t cast(size_t v, double share, const char* suffix);
  /// Return the average bytes of an element of a matmul's input, as read; 0: as in the tensor.
  double element_read(const Op& op) const { return reads_fp8(op) ? cast_element(multiplied(op)) : 0; }
  double cast_element(double share) const { return share + (1 - share) * s_.element; }
  double multiplied(const Op& op) const;

  /// Attention in several kernels, with the scores in memory between kernels; the gradients.
  bool in_kernels(const Op& op) const { return op.kind == OpKind::attention && !s_.fused_attention && !rings(op); }
  void attend(const Op& op, const std::string& name, const std::vector<size_t>& inputs);
  void attend_gradients(const Op& op, const std::vector<size_t>& inputs);
  bool rings(const Op& op) const;
  struct Kernel {
    Work work;
    std::string name;
  };
  void ring(const Op& op, const std::string& name, const Kernel& kernel, bool gradients,
            const std::vector<size_t>& inputs);
  /// Return the elements of a tensor on a rank.
  double count(const std::vector<Extent>& dims, const Placements& at) const;
  double bytes(size_t tensor, const Placements& at, double element = 0) const;
  void split(Step& step, const Value& from) const;
  Work work(const Op& op, const std::vector<Placements>& inputs, const Placements& output) const;
  Work matmul(const Op& op, const Placements& x, Product product = Product::forward) const;
  /// Attention: multiplications and memory without the scores; bytes of the scores, and of the mask.
  struct AttentionWork {
    Work keys, values;
    double scores = 0, mask = 0;
  };
  AttentionWork attention(const Op& op, const std::vector<Placements>& inputs) const;
  double weights_read(const Op& op, const Placements& x) const;
  void add_matrices(const Weight& weight, double elements, Parameters& sum) const;
  double cache_read(const Op& op, const std::vector<Placements>& inputs) const;
  /// Return Step::weights of one of a matmul's multiplications.
  double fixed_bytes(const Op& op, const Placements& x, Product product) const;
  /// Return whether ranks of a tensor-parallel group have the same tokens, including tokens of the experts.
  bool same_tokens() const { return !s_.sequence_parallel && s_.mesh.of(Axis::tp) > 1; }
  /// Return Step::kernel of a matrix multiplication, with m, n and k in that order for `order` {0, 1, 2}.
  std::string product(const Op& op, const Placements& x, const std::array<size_t, 3>& order) const;
  /// Merge a matmul into the previous step if that step multiplies the same input: Spread::merges.
  bool merge(const Op& op, const Placements& x, const Work& cost);
  std::string kernel(const Op& op, const std::vector<Placements>& inputs, const Placements& output) const;
  std::string experts(const Op& op, const Placements& x) const;
  std::string cached_attention(const Op& op, const std::vector<Placements>& inputs) const;

  // ---- backward ------------------------------------------------------------------------------------------------
  Placements kept_at(const Op& op, size_t input, const Placements& needed) const;
  void recompute();
  /// Recompute::per_operator: whether forward keeps the output of an
  /// operator, by operator; whether backward needs the output again.
  std::vector<uint8_t> stays() const;
  std::vector<uint8_t> needed(const std::vector<uint8_t>& stays) const;
  double kept_by_operator() const;
  double kept_scores(const Op& op, const Placements& out) const;
  /// Return the bytes of an element of an operator's input, as kept for backward; 0: as in the tensor.
  double kept_element(const Op& op, size_t input) const;
  void count_terms();
  void gradients_of(const Op& op);
  void matmul_gradients(const Op& op, size_t dy);
  void contribute(size_t tensor, size_t gradient);
  void finish_gradient(size_t tensor);
  void late_gradients();

  const Graph& g_;
  const Spread& s_;
  std::vector<Value> values_;
  std::vector<size_t> made_;                                        ///< by tensor
  std::map<std::tuple<size_t, Placements, double>, size_t> moved_;  ///< value, placement, bytes of an element
  std::map<size_t, size_t> cast_;                                   ///< value, the 8-bit copy
  struct {
    Program *to = nullptr, *weights = nullptr;  ///< program for steps; program for the gradients of weights
    const Op* op = nullptr;                     ///< the operator of these steps
    bool again = false;                         ///< sums over ranks were kept: do not add them again
    const Op* merged = nullptr;                 ///< the first matmul of the last step
    double columns = 0;                         ///< of the matrices of that step
  } now_;
  std::vector<std::vector<size_t>> terms_;  ///< of gradients, by tensor
  std::vector<size_t> left_, gradient_;     ///< by tensor: operators that have not given a term
  std::vector<LateGradient> late_;
};

}  // namespace chakra::gen
