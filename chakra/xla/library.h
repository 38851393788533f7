// What custom calls compute, by their targets: GEMMs of cuBLAS, convolutions and attention of cuDNN. Inside
// the room.
#pragma once

#include <optional>

#include "chakra/xla/program.h"

namespace chakra::xla {

/// What a custom call is.
enum class Library : uint8_t {
  unknown,  ///< neither FLOPs nor bytes are known
  nothing,  ///< marks a value or its place
  moves,    ///< reads operands and writes results
  product,
  convolution,
  attention
};
Library library_of(std::string_view target);

/// Return the FLOPs of a custom call; no value if its shapes and its configuration do not tell.
std::optional<uint64_t> library_flops(const Program& program, const Computation& c, const Instruction& i);
/// Return the bytes of operands and results without the library's workspace.
uint64_t library_bytes(const Program& program, const Computation& c, const Instruction& i);

/// FLOPs of a convolution with the dimensions and the window of `detail`: 2 x multiplications whose input is not
/// padding.
uint64_t convolution_flops(const Program& program, const Detail& detail, const Shape& input, const Shape& kernel,
                           const Shape& output);

}  // namespace chakra::xla
