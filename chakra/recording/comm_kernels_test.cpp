#include "chakra/recording/comm_kernels.h"

#include <gtest/gtest.h>

namespace chakra::recording {
namespace {

using trace::CommType;

TEST(CommKernels, AreToldByTheNamesThatProfilersWrite) {
  struct Expected {
    std::string_view kernel, library;  ///< "": it does not communicate
    CommType type = CommType::unknown;
  };
  for (const Expected& e : std::initializer_list<Expected>{
           {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "NCCL"},
           {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "NCCL"},
           {"void ncclKernel_Generic<4>(ncclDevComm*)", "NCCL"},
           {"rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)", "RCCL"},
           {"mscclKernel_Sum_half_Simple_false(ncclDevComm*)", "MSCCL"},
           {"nccl:all_reduce", ""},
           {"void reduce_Kernel<nccl>(ncclKernel)", ""},
           {"void deep_ep::intranode::dispatch<int, 8>(int4*, float*)", "DeepEP", CommType::all_to_all},
           {"void deep_ep::intranode::notify_dispatch<8>(int const*)", "DeepEP", CommType::all_to_all},
           {"void deep_ep::intranode::cached_notify_combine<8>(void**)", "DeepEP", CommType::barrier},
           {"void deep_ep::internode::notify_dispatch<false, 4>(int const*, int*)", "DeepEP", CommType::all_to_all},
           {"void deep_ep::internode::combine<true, 4, __nv_bfloat16>(int4*)", "DeepEP", CommType::all_to_all},
           {"void deep_ep::internode::cached_notify<false>(int, int)", "DeepEP", CommType::barrier},
           {"void primus_turbo::deep_ep::intranode::notify_dispatch<8>(int const*)", "DeepEP", CommType::all_to_all},
           {"void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)", "DeepEP", CommType::all_to_all},
           {"void deep_ep::internode::get_dispatch_layout<256, 32, 8>(long const*)", ""},
           {"void deep_ep::layout::get_dispatch_layout<256, 4, 8>(long const*)", ""},
           {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", "symm_mem"},
           {"void <unnamed>::multimem_all_reduce_kernel<c10::BFloat16, (int)16>(T1 *)", "symm_mem"},
           {"void c10d::(anonymous namespace)::two_shot_all_reduce_kernel_inplace<float, 16, 8>(float**)", "symm_mem",
            CommType::all_reduce},
           {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "vLLM", CommType::all_reduce},
           {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::"
            "trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8>(x)",
            "TensorRT-LLM", CommType::all_reduce},
           {"void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>(x)", "AITER", CommType::all_reduce},
           {"void at::native::reduce_kernel<512, 1>(at::native::ReduceOp<float>)", ""},
           {"void cub::DeviceReduceKernel<deep_ep::intranode::dispatch>(x)", ""},
           {"dispatch", ""},
           {"", ""},
           {"(", ""},
           {"*", ""}}) {
    const CommKernelRow* row = comm_kernel(e.kernel);
    ASSERT_EQ(row != nullptr, !e.library.empty()) << e.kernel;
    if (row == nullptr) continue;
    EXPECT_EQ(row->library, e.library) << e.kernel;
    EXPECT_EQ(row->type, e.type) << e.kernel;
  }
}

TEST(CommKernels, HaveCallers) {
  EXPECT_TRUE(is_comm_caller("symm_mem::multimem_all_reduce_"));
  EXPECT_TRUE(is_comm_caller("_C_custom_ar::all_reduce"));
  EXPECT_FALSE(is_comm_caller("aten::mm"));
  EXPECT_FALSE(is_comm_caller(""));
}

}  // namespace
}  // namespace chakra::recording
