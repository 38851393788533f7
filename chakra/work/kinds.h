// The kinds of work: what an operator, a kernel or a node computes. Inside the room; work.h brings it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace chakra::work {

enum class WorkKind : uint8_t {
  matrix,
  convolution,
  attention,
  normalization,
  softmax,
  elementwise,
  reduction,
  pooling,
  lookup,
  loss,
  optimizer,
  random,
  copy,
  fill,
  compiled,
  other
};

struct WorkKindRow {
  std::string_view name, meaning;
  bool product = false;       ///< an operator hands such work on to others (aten::linear to aten::addmm)
  bool needs_values = false;  ///< formulas need numbers beside shapes
};
/// By WorkKind.
inline constexpr std::array<WorkKindRow, 16> kWorkKinds{{
    {"matrix", "matrix multiplications", true},
    {"convolution", "convolutions", true, true},
    {"attention", "attention in one kernel", true},
    {"normalization", "normalisation along a dimension", false, true},
    {"softmax", "softmax in a separate kernel", false, true},
    {"elementwise", "elementwise functions and sums, RoPE"},
    {"reduction", "sums, means and largest elements", false, true},
    {"pooling", "pooling", false, true},
    {"lookup", "embedding lookups", false, true},
    {"loss", "losses", false, true},
    {"optimizer", "updates of parameters"},
    {"random", "random numbers, dropout"},
    {"copy", "copies within a device"},
    {"fill", "memset"},
    {"compiled", "fused kernels of a compiler", false, true},
    {"other", "all other computation"},
}};
constexpr const WorkKindRow& row_of(WorkKind kind) { return kWorkKinds[static_cast<size_t>(kind)]; }
constexpr std::string_view name(WorkKind kind) { return row_of(kind).name; }

}  // namespace chakra::work
