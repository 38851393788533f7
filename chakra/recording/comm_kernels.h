// Kernels that communicate, of all vendors and libraries, recognized by name: one row each.
#pragma once

#include <array>
#include <string_view>

#include "chakra/trace/trace.h"

namespace chakra::recording {

/// In patterns `*` stands for any text, including the empty text.
struct CommKernelRow {
  std::string_view library;
  std::string_view kernel;                          ///< pattern of the function's name with namespaces: function_name()
  trace::CommType type = trace::CommType::unknown;  ///< unknown: from the kernel's name, if possible
  std::string_view caller = {};  ///< the launching operator; its first tensor is this rank's contribution
  bool of_c10d = false;          ///< c10d's records contain the data moved
};

inline constexpr auto kCommKernels = std::to_array<CommKernelRow>({
    {"NCCL", "nccl*Kernel*", trace::CommType::unknown, "", true},
    {"RCCL", "rccl*Kernel*", trace::CommType::unknown, "", true},
    {"MSCCL", "msccl*Kernel*", trace::CommType::unknown, "", true},
    // Tokens go to the ranks of their experts and come back.
    {"DeepEP", "*::intranode::dispatch", trace::CommType::all_to_all},
    {"DeepEP", "*::intranode::combine", trace::CommType::all_to_all},
    {"DeepEP", "*::intranode::notify_dispatch", trace::CommType::all_to_all},
    {"DeepEP", "*::intranode::cached_notify*", trace::CommType::barrier},
    {"DeepEP", "*::intranode::barrier", trace::CommType::barrier},
    {"DeepEP", "*::internode::dispatch", trace::CommType::all_to_all},
    {"DeepEP", "*::internode::combine", trace::CommType::all_to_all},
    {"DeepEP", "*::internode::notify_dispatch", trace::CommType::all_to_all},
    {"DeepEP", "*::internode::cached_notify*", trace::CommType::barrier},
    {"DeepEP", "*::internode_ll::dispatch", trace::CommType::all_to_all},
    {"DeepEP", "*::internode_ll::combine", trace::CommType::all_to_all},
    // PyTorch's symmetric memory, through NVLink's multicast and directly.
    {"symm_mem", "*multimem_*reduce_kernel*", trace::CommType::unknown, "symm_mem::*"},
    {"symm_mem", "*multimem_all_gather_kernel*", trace::CommType::all_gather, "symm_mem::*"},
    {"symm_mem", "*one_shot_all_reduce_kernel*", trace::CommType::all_reduce, "symm_mem::*"},
    {"symm_mem", "*two_shot_all_reduce_kernel*", trace::CommType::all_reduce, "symm_mem::*"},
    {"vLLM", "*cross_device_reduce*", trace::CommType::all_reduce, "_C_custom_ar::*"},
    {"AITER", "aiter::*allreduce_fusion*", trace::CommType::all_reduce},
    {"TensorRT-LLM", "*allreduce_fusion*", trace::CommType::all_reduce},
    {"TensorRT-LLM", "*oneShotAllReduceKernel*", trace::CommType::all_reduce},
    {"TensorRT-LLM", "*twoShotAllReduceKernel*", trace::CommType::all_reduce},
});

/// "void deep_ep::intranode::dispatch<int, 8>(...)" -> "deep_ep::intranode::dispatch"; omit unnamed namespaces.
/// Cost: O(name).
std::string function_name(std::string_view kernel_name);

/// Return the first row whose pattern fits the kernel; null: not a communication kernel. Cost: O(rows x name).
const CommKernelRow* comm_kernel(std::string_view kernel_name);

/// Whether an operator launches kernels of a row.
bool calls(std::string_view operator_name, const CommKernelRow& row);
/// Whether the operator launches kernels of any row.
bool is_comm_caller(std::string_view operator_name);

}  // namespace chakra::recording
