// What a record of either trace says about a communication: the arguments that PyTorch attaches to
// record_param_comms and to communication kernels, and how its words map to ours.
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
  int64_t group_size = -1;
  int64_t rank_start = -1, rank_stride = -1;  ///< the group is start, start + stride, ...; -1: not said
  int64_t sequence = -1, root = -1, src = -1, dst = -1;
  int64_t rank = -1;  ///< as c10d records it, in the group: the root, of a message the partner, else the rank itself

  bool empty() const { return collective == 0 && in_elements < 0 && dims.empty() && types.empty(); }
};

/// What a collective's name means: "all_reduce", "allreduce_coalesced", "_allgather_base",
/// "AllReduce_RING_LL", ...; type is invalid where it names no communication.
struct CommKind {
  trace::NodeType type = trace::NodeType::invalid;
  trace::CommType collective = trace::CommType::unknown;
};
CommKind comm_kind(std::string_view name);
/// "all_reduce" of "gloo:all_reduce", "allreduce_" of "c10d::allreduce_".
inline std::string_view after_colon(std::string_view name) { return name.substr(name.rfind(':') + 1); }

/// Bytes of one element of any name that plain_dtype understands; 0 if not known.
int element_bytes(std::string_view dtype);

/// An operator of c10d or NCCL around the launch of a communication kernel, whose inputs are its tensors.
bool is_comm_record(std::string_view op);

/// An annotation of a backend whose communication runs on the device: "nccl:all_reduce".
bool is_device_comm(std::string_view annotation);

/// An annotation of a backend whose communication runs on CPU threads: "gloo:all_reduce".
bool is_host_comm(std::string_view annotation);

/// The name c10d uses for an element type, whatever the record calls it: "Float" for "float" and
/// "Tensor(float)", also inside lists. The name as it is where it is not known; "" for other lists.
std::string_view plain_dtype(std::string_view dtype);

/// A tensor as the host trace writes it: [id, storage, offset, elements, bytes of one, 'device'].
struct TensorRef {
  int64_t id = 0, storage = 0, offset = 0, elements = 0, element_bytes = 0;
};
/// All tensors in a list of values, however deep.
std::vector<TensorRef> parse_tensors(std::string_view values);

/// The numbers in "[0, 1]" or "0,1".
std::vector<int64_t> parse_ranks(std::string_view text);

}  // namespace chakra::recording
