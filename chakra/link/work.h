// Work from shapes: the FLOPs and the bytes read and written of an operator, by a table from operators' names to
// formulas. docs/explanation/linking.md, Work, defines the counting rules and the nodes that get the work.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/link/from_recording.h"

namespace chakra::link {

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
};
inline constexpr std::array<std::string_view, 15> kWorkKindNames{
    "matrix", "convolution", "attention", "normalization", "softmax", "elementwise", "reduction", "pooling",
    "lookup", "loss",        "optimizer", "random",        "copy",    "fill",        "compiled"};
inline std::string_view name(WorkKind kind) { return kWorkKindNames[static_cast<size_t>(kind)]; }

struct Work {
  Count operations;  ///< a multiply-add counts 2
  Count bytes;       ///< inputs read once, outputs written once
  trace::DType dtype = trace::DType::unknown;
  bool estimated = false;             ///< unrecorded values were assumed, as described in the row
  std::array<uint64_t, 3> product{};  ///< m, n, k of a single matrix multiplication; zeros for all other operators
};

struct WorkRow;
/// Compute the work; false if the recorded shapes do not suffice.
using WorkFormula = bool (*)(const WorkRow& row, std::string_view name, const Arguments& arguments, Work& work);

struct WorkRow {
  WorkKind kind;
  std::string_view names;  ///< of operators, separated by spaces; "triton_poi_*": all names with this beginning
  WorkFormula formula;
  std::string_view operations;  ///< for people; n: elements of the output
  std::string_view bytes;
  uint8_t per_element = 0;  ///< operations, for formulas that use this
  uint8_t reads = 0;        ///< tensors that are read, for formulas that use this
};
/// Rows with names that end in * come last.
extern const std::span<const WorkRow> kWorkRows;

/// Return the row of an operator; nullptr if there is no row.
const WorkRow* find_work_row(std::string_view operator_name);

/// Whether the operator is autograd's node of a convolution, whose input is the gradient of the output.
inline bool is_convolution_node(std::string_view operator_name) {
  return operator_name.find("ConvolutionBackward") != std::string_view::npos &&
         !operator_name.starts_with("autograd::");
}

/// Compute the work of an operator. False if the recorded shapes do not suffice.
inline bool work_of(const WorkRow& row, std::string_view name, const Arguments& arguments, Work& work) {
  work = {};
  return !arguments.impossible && row.formula(row, name, arguments, work);
}

/// Whether formulas of a kind need numbers beside shapes.
constexpr bool needs_values(WorkKind kind) {
  return kind == WorkKind::convolution || kind == WorkKind::normalization || kind == WorkKind::reduction ||
         kind == WorkKind::pooling || kind == WorkKind::lookup || kind == WorkKind::compiled;
}

/// Results of linking about work. Times are those of device operations, in nanoseconds.
struct WorkReport {
  struct Kind {
    uint64_t operations = 0, bytes = 0;
    int64_t device_ns = 0;
  };
  /// Device time without known work, by operator or kernel.
  struct Rest {
    std::string name;
    std::string_view reason;
    int64_t device_ns = 0;
    int64_t count = 0;
  };
  uint64_t operations = 0, bytes = 0;
  int64_t device_ns = 0;         ///< of all device operations but communication
  int64_t communication_ns = 0;  ///< of kernels that communicate
  int64_t covered_ns = 0;        ///< of operations with known work
  int64_t aten_ns = 0;           ///< launched under aten:: operators with recorded tensor shapes
  int64_t aten_covered_ns = 0;
  int64_t operators = 0;                          ///< with known work
  int64_t estimated = 0;                          ///< of these, by an assumption
  int64_t impossible = 0;                         ///< operators with impossible shapes
  std::array<Kind, kWorkKindNames.size()> kinds;  ///< by WorkKind
  std::vector<Rest> rest;                         ///< longest first
};

}  // namespace chakra::link
