#!/usr/bin/env python3
"""Writes python/chakra_et/_record/allowed.txt: the names that a recording with level=1 may keep.

    build/torch-VERSION/bin/python tools/allowed_names.py      # adds the names of that PyTorch to those of the file

A name is one that PyTorch itself registers, before a script is loaded: operators, autograd nodes, optimizers, and the names below.
"""
import os
import sys

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python", "chakra_et", "_record", "allowed.txt")
LEFT_OUT = {"_test", "debugprims", "onnx", "quantization", "static_runtime"}  # namespaces

NODES = ["[chakra|host_gap]", "[chakra|sync_remainder]", "[chakra|unrecorded]", "[chakra|initial_condition]",
         "[pytorch|profiler|execution_trace|process]", "[pytorch|profiler|execution_trace|thread]", "## process_group:init ##"]
CALLS = """cudaLaunchKernel cudaLaunchKernelExC cuLaunchKernel cuLaunchKernelEx cudaMemcpyAsync cudaMemcpy cudaMemsetAsync cudaMemset
cudaStreamSynchronize cudaDeviceSynchronize cudaEventSynchronize cudaEventRecord cudaEventRecordWithFlags cudaEventQuery cudaStreamWaitEvent
cudaStreamIsCapturing cudaGraphLaunch cudaMalloc cudaFree cudaMallocAsync cudaFreeAsync cudaHostAlloc cudaFuncGetAttributes
cudaFuncSetAttribute cudaGetDeviceProperties cudaEventCreateWithFlags cudaEventElapsedTime cudaStreamCreateWithPriority
cudaStreamGetCaptureInfo cudaThreadExchangeStreamCaptureMode cudaPeekAtLastError cudaOccupancyMaxActiveBlocksPerMultiprocessor
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaDeviceGetAttribute cudaDeviceGetStreamPriorityRange cudaPointerGetAttributes
hipLaunchKernel hipExtLaunchKernel hipModuleLaunchKernel hipExtModuleLaunchKernel hipMemcpyAsync hipMemcpyWithStream hipMemsetAsync
hipStreamSynchronize hipDeviceSynchronize hipEventRecord hipEventSynchronize hipEventQuery hipStreamWaitEvent hipGraphLaunch hipMalloc hipFree
hipStreamIsCapturing hipGetDevicePropertiesR0600""".split()
GLOO = [f"{library}:{call}" for library in ("gloo", "nccl", "mpi", "ucc", "xccl") for call in (
    "all_reduce all_gather all_gatherv _all_gather_base all_to_all all_to_allv barrier broadcast gather reduce reduce_scatter _reduce_scatter_base "
    "scatter send recv sparse_all_reduce all_reduce_coalesced all_gather_into_tensor_coalesced reduce_scatter_tensor_coalesced coalesced "
    "all_to_all_base recvAnySource allgather_into_tensor_coalesced monitoredBarrier").split()]
ANNOTATIONS = ["record_param_comms", "DistributedDataParallel.forward", "Optimizer.step#ZeroRedundancyOptimizer.step", "detach", "detach_",
               "<forked function>", "Torch-Compiled Region", "TorchDynamo Cache Lookup", "CompiledFunction", "CompiledFunctionBackward",
               "torch::autograd::AccumulateGrad", "torch::autograd::CopySlices", "torch::autograd::GraphRoot", "torch::autograd::CopyBackwards",
               "torch.distributed.ddp.reducer::copy_bucket_to_grad", "_FromTorchTensor", "_FromTorchTensorBackward", "_ToTorchTensor",
               "_ToTorchTensorBackward", "Redistribute", "RedistributeBackward", "FSDP::pre_forward", "FSDP::post_forward", "FSDP::pre_backward",
               "FSDP::post_backward", "FSDP::post_backward_reduce", "FSDP::all_gather", "FSDP::all_gather_copy_in", "FSDP::all_gather_copy_out",
               "FSDP::reduce_scatter", "FSDP::root_pre_forward", "FSDP::root_post_backward_callback", "FSDP::all_reduce",
               "RegisterPostBackwardFunction", "RegisterPostBackwardFunctionBackward",
               "FullyShardedDataParallel.forward", "FullyShardedDataParallel._pre_forward_prefetch", "FullyShardedDataParallel._post_backward_hook",
               "FullyShardedDataParallel._pre_unshard", "FullyShardedDataParallel._post_backward_prefetch", "FullyShardedDataParallel._to_kwargs",
               "FullyShardedDataParallel._pre_forward", "FullyShardedDataParallel._pre_backward_hook", "FullyShardedDataParallel._pre_backward_prefetch",
               "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"]
WORDS = """Tensor GenericList GenericDict Tuple Object None Bool Int Double Device String Stream Generator Storage Capsule Future SymInt SymFloat
SymBool Scalar Enum Blob Quantizer RRef PyObject <None> True False float double int long short char unsigned signed bool c10::BFloat16 c10::Half
c10::complex<float> c10::complex<double> c10::Float8_e4m3fn c10::Float8_e5m2 c10::Float8_e4m3fnuz c10::Float8_e5m2fnuz nullptr std::string
Long Float Byte Char Short Half BFloat16 ComplexFloat ComplexDouble Float8_e4m3fn Float8_e5m2
f64 f32 tf32 f16 bf16 f8 f4 i64 i32 i16 i8 boolean complex unknown triton <Tensor> <Object> <unknown> nan inf -inf sum mean none""".split()


def of_torch():
    import torch
    import torch.distributed
    import torch.distributed.fsdp  # registers its operators
    names = {schema.name for schema in torch._C._jit_get_all_schemas()}
    names = {name for name in names if name.split("::")[0] not in LEFT_OUT}
    nodes = {name for name in dir(torch._C._functions) if name[0].isupper()}
    optimizers = [name for name in dir(torch.optim) if isinstance(getattr(torch.optim, name), type)]
    steps = {f"Optimizer.{call}#{name}.{call}" for name in optimizers for call in ("step", "zero_grad")}
    return names | nodes | steps


def main():
    names = of_torch() | {*NODES, *CALLS, *GLOO, *ANNOTATIONS, *WORDS}
    if os.path.exists(PATH):
        with open(PATH, encoding="ascii") as file:
            names |= {line for line in file.read().splitlines() if line and not line.startswith("# ")}
    with open(PATH, "w", encoding="ascii") as file:
        file.write("# Written by tools/allowed_names.py: names and words that a recording with level=1 keeps.\n")
        file.writelines(f"{name}\n" for name in sorted(names))
    print(f"{PATH}: {len(names)} names", file=sys.stderr)


if __name__ == "__main__":
    main()
