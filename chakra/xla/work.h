// FLOPs and bytes of instructions, by the rules of XLA's HloCostAnalysis: a multiply-add counts 2, transcendental
// functions count separately (not here), a fusion computes the sum of its parts and moves parameters and results once.
#pragma once

#include <vector>

#include "chakra/xla/program.h"

namespace chakra::xla {

struct Work {
  uint64_t flops = 0, bytes = 0;
  trace::DType type = trace::DType::unknown;  ///< of the arithmetic
  uint64_t unknown = 0;                       ///< executed instructions whose work is not known, and not counted
};

/// The work of a program. The program must outlive this object. Cost: O(instructions); a convolution also O(its
/// window).
class ProgramWork {
 public:
  explicit ProgramWork(const Program& program);

  /// Return the work of one execution; a loop counts one iteration, a conditional the longest branch.
  const Work& of(uint32_t computation, uint32_t instruction) const { return works_[first_[computation] + instruction]; }
  /// Return the sum over the instructions of a computation.
  const Work& of(uint32_t computation) const { return sums_[computation]; }
  /// Return the work of one execution with all iterations of loops: of those without a known number, one.
  const Work& whole(uint32_t computation, uint32_t instruction) const {
    return wholes_[first_[computation] + instruction];
  }

 private:
  Work count(const Computation& c, const Instruction& i) const;
  Work with_iterations(const Instruction& i, const Work& once) const;
  uint64_t flops(const Computation& c, const Instruction& i) const;
  uint64_t bytes(const Computation& c, const Instruction& i) const;
  bool is_product(const Instruction& i) const;
  uint64_t fusion_bytes(const Instruction& i) const;
  uint64_t called(const Instruction& i, uint64_t Work::*member) const;
  trace::DType type(const Computation& c, const Instruction& i) const;
  std::vector<uint64_t> reads_of_parameters(uint32_t computation) const;
  const Shape& operand(const Computation& c, const Instruction& i, uint32_t number) const;

  const Program& p_;
  std::vector<size_t> first_;  ///< by computation: in works_
  std::vector<Work> works_, sums_;
  std::vector<Work> wholes_, whole_sums_;     ///< as works_ and sums_, with all iterations
  std::vector<std::vector<uint64_t>> reads_;  ///< by computation and parameter, where a fusion calls it
  std::vector<std::pair<uint64_t, trace::DType>>
      heaviest_;  ///< by computation: FLOPs of its largest GEMM or convolution, the type
};

}  // namespace chakra::xla
