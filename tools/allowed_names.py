#!/usr/bin/env python3
"""Writes chakra/recording/public_names.txt: the names that a recording with level=1 may keep, and that `chakra doctor --secrets` leaves out.

    build/torch-VERSION/bin/python tools/allowed_names.py      # adds the names of that PyTorch to those of the file
    python3 tools/allowed_names.py                             # without a PyTorch: adds the names below

A name is one that PyTorch itself registers, before a script is loaded: operators, autograd nodes, optimizers, and the names below. The
file is a string of C++, which public_names.cpp includes.
"""
import importlib.util
import os
import sys

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "chakra", "recording", "public_names.txt")
BEGIN, END = 'R"names(', ')names"'
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
# Members of the files and of their arguments, and the categories of events.
MEMBERS = """args attr attrs autograd_id backend backend_config baseTimeNanoseconds baseTimeNanosecond bp bytes cat chakraNodes chakraTrace chakra_nodes
chakra_trace comm comm_type comm_size comm_seq comm_in_bytes comm_out_bytes comm_root comm_src comm_dst comm_tag comm_priority comm_request comm_wait
comm_dtype comm_in_split comm_out_split correlation ctrlDeps ctrl_deps cudaDriver cuda_driver_version cuda_runtime_version cupti_version
cuda_sync_kind dataDeps data_deps dep_kinds dep_lag_ns device deviceProperties device_name displayTimeUnit distributedInfo docString doc_string dur
dur_ns durationMicros duration_micros execution_mode finish_ts fw_parent fw_tid group group_size highres-ticks id inputs input_shapes input_strides
input_types int32Val int64Val uint32Val uint64Val sint32Val sint64Val doubleVal floatVal boolVal stringVal bytesVal int64List stringList values
kernel_backend kernel_file labels linked_iteration metadata name nccl_version hip_driver_version hip_runtime_version roctracer_version time parent
node nodes num_ops numSms num_threads op op_dtype op_schema operator outputs output_shapes output_strides output_types overhead part_of pg_config
pg_count pg_desc pg_name pg_size ph pid process_groups profile_memory rank rank_start_ns ranks record_shapes rf_id root schema schemaVersion scope
seq_id shapes sort_index source start_ts startTimeMicros start_time_micros steps stream strides tensor_size tid trace_id traceEvents traceName ts
ts_ns type types uint64 int64 string value version weight_bytes with_flops with_modules with_stack world_size call_late_ns call_dur_ns inside_dur_ns
annotation clock_drift_ppb is_cpu_op ac2g async_cpu_to_gpu async_gpu cpu_op cpu_instant_event cuda_driver cuda_runtime cuda_sync cuda_profiler_range
fwdbwd gpu_memcpy gpu_memset gpu_user_annotation kernel python_function user_annotation Trace process_name process_labels process_sort_index
thread_name thread_sort_index ms ns us X M i s f t e b n g p C COMP_NODE COMM_COLL_NODE COMM_SEND_NODE COMM_RECV_NODE MEM_LOAD_NODE MEM_STORE_NODE
METADATA_NODE INVALID_NODE computeMajor computeMinor maxThreadsPerBlock maxThreadsPerMultiprocessor maxSharedMemoryPerMultiProcessor regsPerBlock
regsPerMultiprocessor sharedMemPerBlock sharedMemPerBlockOptin sharedMemPerMultiprocessor totalGlobalMem warpSize true false null cpu gpu CPU GPU
bytes_per_second allgather allreduce alltoall barrier broadcast gather reduce reducescatter scatter send recv sendrecv irecv isend all_gather
all_reduce all_to_all all_to_allv reduce_scatter _allgather_base _reduce_scatter_base wait collective_name dtype flags cbid context default_pg gloo
classes group_slots peer_slots class file description first step count peers chakra-ranks-1 tp-cp-ep-dp-pp chakra_hidden_level
nccl rccl mpi undefined fake runtime driver ucc xccl custom chakra_hidden channel_id folded_iterations unknown_work xla_run xla_runs shared_clock
recorded_part recorded_unaligned model_fp8_operations_per_rank pass chunk micro_batch storage_tier io_kind comm_priority involved_dim
flop_per_s fp8_flop_per_s memory_bytes_per_rank memory_bytes_per_s model_operations_per_rank tokens schedule stages stage chunks order zero zero_ranks experts
forward backward input_gradient weight_gradient update gpipe 1f1b interleaved zb-h1 dualpipe dataloader ckpt_read ckpt_write kv_fetch kv_evict
world dp shard replica edp tp etp cp ep pp tables""".split() + [
    "Collective name", "Concrete Inputs", "DType", "Dst Rank", "Ev Idx", "External id", "Fwd thread id", "Global rank start", "Global rank stride",
    "Group size", "In msg nelems", "In split size", "Input Dims", "Input Strides", "Input dims", "Input type", "Op count", "Out msg nelems",
    "Out split size", "Process Group Description", "Process Group Name", "Process Group Ranks", "PyTorch Profiler", "Rank", "Record function id",
    "Record Window End", "Iteration Start: PyTorch Profiler", "Seq", "Sequence number", "Src Rank", "Stream Sync", "Stream Wait Event", "Event Sync",
    "Context Sync", "Python id", "Python parent id", "Python module id", "Trace name", "Trace iteration", "blocks per SM", "warps per SM",
    "registers per thread", "shared memory", "est. achieved occupancy %", "memory bandwidth (GB/s)", "external id", "queued", "grid", "block",
    "In tensors start", "Out tensors start", "Is asynchronized op", "Comms Id", "Device Id", "Addr", "Bytes", "Total Allocated", "Total Reserved",
    "[memory]", "[pytorch|profiler|execution_graph|process]", "[pytorch|profiler|execution_graph|thread]", "Device Type", "kernel_kwargs",
    "kernel_file", "kernel_hash", "stream 7"]


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
    names = {*NODES, *CALLS, *GLOO, *ANNOTATIONS, *WORDS, *MEMBERS}
    if importlib.util.find_spec("torch"):
        names |= of_torch()
    if os.path.exists(PATH):
        with open(PATH, encoding="ascii") as file:
            names |= {line for line in file.read().splitlines() if line not in ("", BEGIN, END)}
    with open(PATH, "w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in (BEGIN, *sorted(names), END))
    print(f"{PATH}: {len(names)} names", file=sys.stderr)


if __name__ == "__main__":
    main()
