// What an operator or a kernel is, and its work: FLOPs, and bytes read and written. One list of kinds (kWorkKinds), and
// three tables that map names to a kind and a formula: operators of recordings (kWorkRows, from recorded shapes),
// kernels of device files and of generated traces (kKernelKinds, from sizes), and nodes of generated traces that name
// no kernel (names.cpp). No rates and no times: prices of work belong to the room device.
// docs/explanation/linking.md, Work, defines the counting rules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "chakra/trace/trace.h"
#include "chakra/work/arguments.h"     // IWYU pragma: export
#include "chakra/work/hidden_names.h"  // IWYU pragma: export
#include "chakra/work/kernels.h"       // IWYU pragma: export
#include "chakra/work/kinds.h"         // IWYU pragma: export

namespace chakra::work {

// ---- operators -----------------------------------------------------------------------------------------------------

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

/// Return the element type of the arithmetic: matrix multiplications of floats may run in tf32, which only the name of
/// the kernel shows. `type`: of the operator's tensors.
trace::DType computed_in(WorkKind kind, trace::DType type, std::string_view kernel);

// ---- device operations ---------------------------------------------------------------------------------------------

/// From where to where a copy moves data.
enum class CopyRoute : uint8_t {
  none,     ///< not a copy
  unknown,  ///< a copy of unknown direction
  host_to_device,
  device_to_host,
  within_device,
  between_devices,
  within_host
};
/// Return the route of a device operation by its name: "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice".
CopyRoute copy_route(std::string_view device_op);
/// Whether the time of a copy is that of a link, and not that of a device's memory.
constexpr bool uses_link(CopyRoute route) { return route != CopyRoute::none && route != CopyRoute::within_device; }
/// Whether a device operation sets memory.
inline bool is_memset(std::string_view device_op) { return device_op.starts_with("Memset"); }
/// Return whether a device operation is a kernel of a library of collectives: NCCL, RCCL or MSCCL.
bool is_communication_kernel(std::string_view device_op);

// ---- nodes of generated traces -------------------------------------------------------------------------------------

/// Return the kind of a node without the attribute "kernel" by the end of its name: "layer0.mlp.up.dgrad" is matrix.
std::optional<WorkKind> kind_of_generated(std::string_view name);
/// Remove what the backward pass appends to the name of an operator ("layer0.attention.norm.grad"); false if the name
/// has no such ending.
bool remove_backward(std::string_view& name);

// ---- work of nodes -------------------------------------------------------------------------------------------------

/// The work of a node as the trace contains it.
struct NodeWork {
  uint64_t ops = 0, bytes = 0;
  trace::DType type = trace::DType::unknown;
};
/// Return the work of a node in the trace; all zero if absent.
NodeWork work_of(const trace::Trace& trace, trace::NodeId node);

/// Work of many nodes. Sums saturate at the largest number.
struct WorkSum {
  std::array<uint64_t, trace::kDTypeNames.size()> ops{};  ///< by DType
  uint64_t bytes = 0;
  void add(const NodeWork& work);
  uint64_t all_ops() const;
};

}  // namespace chakra::work
