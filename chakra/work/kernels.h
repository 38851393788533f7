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

/// A shape is at most that many sizes, each above 0.
inline constexpr size_t kMostSizes = 6;
using Sizes = std::array<double, kMostSizes>;

/// What a kernel reads and writes is in at most that many tensors.
inline constexpr size_t kMostTensors = 3;
using Tensors = std::array<double, kMostTensors>;
inline double sum_of(const Tensors& tensors) { return tensors[0] + tensors[1] + tensors[2]; }

/// A kind of kernel. What it takes by its shape: operations, elements of each tensor, and steps that follow each other
/// in one unit of the device, however many units there are (a product's depth, the keys of attention).
struct KernelKind {
  std::string_view name;
  WorkKind work;
  std::array<std::string_view, kMostSizes> sizes;      ///< what they are called; "" after the last
  std::array<std::string_view, kMostTensors> tensors;  ///< likewise
  double (*ops)(const Sizes& sizes);
  Tensors (*elements)(const Sizes& sizes);
  double (*steps)(const Sizes& sizes);
  std::string_view meaning;
  uint32_t rows = 0;    ///< bit i: sizes[i] is the length of a row in memory
  bool is_own = false;  ///< how near it comes to the data sheet says nothing of kernels without a table
  size_t size() const;
  size_t tensor_count() const;
};
extern const std::array<KernelKind, 16> kKernelKinds;
/// By the name, or what is before its dot: "gemm.fp8_block" is a gemm. Null where there is none.
const KernelKind* find_kernel_kind(std::string_view name);

/// A shape of a kernel, as nodes have it in their attribute "kernel": "gemm:4096,4096,1024".
struct KernelShape {
  std::string_view name;
  const KernelKind* kind = nullptr;
  Sizes sizes{};
};
/// Nothing where the text is not a known kernel with as many sizes as its kind has.
std::optional<KernelShape> parse_kernel(std::string_view text);

/// Bytes of an element; 2 where the type is not known.
double bytes_of(trace::DType type);

}  // namespace chakra::work
