// Kernels by name and sizes, as device files measure them and as nodes have them in their attribute "kernel": the kind
// of work, FLOPs and elements. Inside the room; work.h brings it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "chakra/trace/trace.h"
#include "chakra/work/kinds.h"

namespace chakra::work {

/// The most sizes of a shape, each of which is above 0.
inline constexpr size_t kMostSizes = 6;
using Sizes = std::array<double, kMostSizes>;

/// The most tensors that a kernel reads and writes.
inline constexpr size_t kMostTensors = 3;
using Tensors = std::array<double, kMostTensors>;
inline double sum_of(const Tensors& tensors) { return tensors[0] + tensors[1] + tensors[2]; }

/// A kind of kernel, and its work by shape: FLOPs, elements of each tensor, and sequential steps in one unit of
/// the device, regardless of the number of units (the depth of a matrix multiplication, the keys of attention).
struct KernelKind {
  std::string_view name;
  WorkKind work;
  std::array<std::string_view, kMostSizes> sizes;      ///< names of the sizes; "" after the last
  std::array<std::string_view, kMostTensors> tensors;  ///< likewise
  double (*ops)(const Sizes& sizes);
  Tensors (*elements)(const Sizes& sizes);
  double (*steps)(const Sizes& sizes);
  std::string_view meaning;
  uint32_t rows = 0;    ///< bit i: sizes[i] is the length of a row in memory
  bool is_own = false;  ///< the ratio to the data sheet is not representative of kernels without a table
  size_t size() const;
  size_t tensor_count() const;
};
extern const std::array<KernelKind, 16> kKernelKinds;
/// Find a kind by name, or by the part before the dot: "gemm.fp8_block" is a gemm. Null if unknown.
const KernelKind* find_kernel_kind(std::string_view name);

/// A shape of a kernel, in the form of the node attribute "kernel": "gemm:4096,4096,1024".
struct KernelShape {
  std::string_view name;
  const KernelKind* kind = nullptr;
  Sizes sizes{};
};
/// Parse a shape; nullopt if the text is not a known kernel with as many sizes as its kind has.
std::optional<KernelShape> parse_kernel(std::string_view text);

/// Return the bytes of an element; 2 if the type is unknown.
double bytes_of(trace::DType type);

}  // namespace chakra::work
