// A communication as recorded in either trace: the arguments that PyTorch attaches to record_param_comms
// and to communication kernels, and the mapping from PyTorch's terms to chakra's terms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::recording {

struct CommRecord {
  StringId collective = 0;  ///< "allreduce", "_allgather_base", "send", ...
  StringId dtype = 0;       ///< "Float", "Long", ...
  StringId group = 0;
  StringId group_description = 0;
  std::string_view ranks;  ///< "[0, 1]"
  std::string_view in_split, out_split;
  std::string_view dims, types;  ///< "Input Dims" and "Input type" of a record of a Kineto trace
  int64_t in_elements = -1, out_elements = -1;
  int64_t in_bytes = -1, out_bytes = -1;  ///< where elements are not recorded
  int64_t group_size = -1;
  int64_t rank_start = -1, rank_stride = -1;  ///< the group is start, start + stride, ...; -1: not recorded
  int64_t sequence = -1, root = -1, src = -1, dst = -1;
  int64_t rank = -1;      ///< c10d's rank in the group: the root, for messages the partner, else the rank itself
  bool in_group = false;  ///< `rank` counts in the group alone: unknown if the group's members are unknown

  bool empty() const { return collective == 0 && in_elements < 0 && in_bytes < 0 && dims.empty() && types.empty(); }
};

/// Parse the name of a collective: "all_reduce", "allreduce_coalesced", "_allgather_base",
/// "AllReduce_RING_LL", ...; type is invalid if the name is not a communication.
struct CommKind {
  trace::NodeType type = trace::NodeType::invalid;
  trace::CommType collective = trace::CommType::unknown;
};
CommKind comm_kind(std::string_view name);
/// Return "all_reduce" of "gloo:all_reduce", "allreduce_" of "c10d::allreduce_".
inline std::string_view after_colon(std::string_view name) { return name.substr(name.rfind(':') + 1); }

/// Whether the operator is one of c10d or NCCL around the launch of a communication kernel, with its tensors as inputs.
bool is_comm_record(std::string_view op);

/// Whether the annotation is of a backend that communicates on the device: "nccl:all_reduce".
bool is_device_comm(std::string_view annotation);

/// Whether the annotation is of a backend that communicates on CPU threads: "gloo:all_reduce".
bool is_host_comm(std::string_view annotation);

/// A tensor in the host trace's notation: [id, storage, offset, elements, bytes of one, 'device'].
struct TensorRef {
  int64_t id = 0, storage = 0, offset = 0, elements = 0, element_bytes = 0;
};
/// Return all tensors in a list of values, at any depth.
std::vector<TensorRef> parse_tensors(std::string_view values);

/// Return the numbers in "[0, 1]" or "0,1".
std::vector<int64_t> parse_ranks(std::string_view text);

}  // namespace chakra::recording
