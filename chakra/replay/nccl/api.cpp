#include "chakra/replay/nccl/api.h"

#include "chakra/replay/plugin.h"

namespace chakra::replay::nccl {

Result<Api> open_api(const std::string& nccl, const std::string& driver) {
  CHAKRA_ASSIGN(void* const n, open_library(nccl));
  CHAKRA_ASSIGN(void* const d, open_library(driver));
  Api a;
  CHAKRA_TRY(find_function(n, "ncclGetUniqueId", a.unique_id));
  CHAKRA_TRY(find_function(n, "ncclCommInitRank", a.init_rank));
  CHAKRA_TRY(find_function(n, "ncclAllReduce", a.all_reduce));
  CHAKRA_TRY(find_function(n, "ncclReduce", a.reduce));
  CHAKRA_TRY(find_function(n, "ncclBroadcast", a.broadcast));
  CHAKRA_TRY(find_function(n, "ncclAllGather", a.all_gather));
  CHAKRA_TRY(find_function(n, "ncclReduceScatter", a.reduce_scatter));
  CHAKRA_TRY(find_function(n, "ncclSend", a.send));
  CHAKRA_TRY(find_function(n, "ncclRecv", a.receive));
  CHAKRA_TRY(find_function(n, "ncclGroupStart", a.group_start));
  CHAKRA_TRY(find_function(n, "ncclGroupEnd", a.group_end));
  CHAKRA_TRY(find_function(n, "ncclCommDestroy", a.destroy));
  CHAKRA_TRY(find_function(n, "ncclCommAbort", a.abort));
  CHAKRA_TRY(find_function(n, "ncclGetErrorString", a.nccl_error));
  CHAKRA_TRY(find_function(d, "cuInit", a.init));
  CHAKRA_TRY(find_function(d, "cuDeviceGetCount", a.device_count));
  CHAKRA_TRY(find_function(d, "cuDeviceGet", a.device));
  CHAKRA_TRY(find_function(d, "cuDevicePrimaryCtxRetain", a.retain_context));
  CHAKRA_TRY(find_function(d, "cuCtxSetCurrent", a.set_context));
  CHAKRA_TRY(find_function(d, "cuStreamCreate", a.stream_create));
  CHAKRA_TRY(find_function(d, "cuStreamDestroy_v2", a.stream_destroy));
  CHAKRA_TRY(find_function(d, "cuMemAlloc_v2", a.allocate));
  CHAKRA_TRY(find_function(d, "cuMemFree_v2", a.release));
  CHAKRA_TRY(find_function(d, "cuMemcpyHtoD_v2", a.to_device));
  CHAKRA_TRY(find_function(d, "cuMemcpyDtoH_v2", a.to_host));
  CHAKRA_TRY(find_function(d, "cuEventCreate", a.event_create));
  CHAKRA_TRY(find_function(d, "cuEventRecord", a.event_record));
  CHAKRA_TRY(find_function(d, "cuEventQuery", a.event_query));
  CHAKRA_TRY(find_function(d, "cuEventDestroy_v2", a.event_destroy));
  CHAKRA_TRY(find_function(d, "cuGetErrorString", a.cuda_error));
  return a;
}

}  // namespace chakra::replay::nccl
