// The calls of c10d, one row each, and the records of backends that communicate by CPU threads
// ("gloo:all_reduce"): partners, roots, tags, splits and tensors from the recorded arguments.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "chakra/recording/comm_record.h"

namespace chakra::recording {

/// The arguments of an operator, in the list notation of either trace; views that live as long as the recording.
struct ArgumentTexts {
  std::string_view values, shapes, types;
};

/// An operator of c10d, and the positions of its arguments among the inputs; -1: absent.
struct CommCallRow {
  std::string_view name;
  CommKind kind;
  int8_t out, in, root, peer, tag, out_split, in_split;
  bool by_messages = false;  ///< Gloo implements the call by messages, and the call returns at completion
};
/// Return the row of "c10d::allreduce_"; null for other operators.
const CommCallRow* find_comm_call(std::string_view op);

/// A call's arguments. Root and peer are indices in the call's group.
struct CommCall {
  CommKind kind;
  std::vector<TensorRef> in, out;  ///< from a Kineto trace: without storages (0), and perhaps without element sizes (0)
  int64_t root = -1, peer = -1, tag = -1;
  std::string_view in_split, out_split;
  int64_t members = -1;  ///< ranks of the group, if the tensors determine the number
};
CommCall read_comm_call(const CommCallRow& row, const ArgumentTexts& texts);

/// Return the tensors of a backend's record: the contribution of the rank, or the output of a received message.
std::vector<TensorRef> read_comm_record(const ArgumentTexts& texts);

/// Whether operators of that name block until the communication on their tensors is complete.
bool is_comm_wait(std::string_view op);

}  // namespace chakra::recording
