// The calls of c10d, one row each, and the records of backends whose communication CPU threads carry out
// ("gloo:all_reduce"): what their arguments say about partners, roots, tags, splits and tensors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "chakra/recording/comm_record.h"

namespace chakra::recording {

/// What an operator's arguments say, as either trace writes lists; views that live as long as the recording.
struct ArgumentTexts {
  std::string_view values, shapes, types;
};

/// An operator of c10d, and where in its inputs things stand; -1: nowhere.
struct CommCallRow {
  std::string_view name;
  CommKind kind;
  int8_t out, in, root, peer, tag, out_split, in_split;
  bool by_messages = false;  ///< Gloo carries it out by messages, and it returns when it is done
};
/// The row of "c10d::allreduce_"; null for other operators.
const CommCallRow* find_comm_call(std::string_view op);

/// A call's arguments. Root and peer are places in its group.
struct CommCall {
  CommKind kind;
  std::vector<TensorRef> in, out;  ///< of a Kineto trace without storages (0), and perhaps element sizes (0)
  int64_t root = -1, peer = -1, tag = -1;
  std::string_view in_split, out_split;
  int64_t members = -1;  ///< ranks of the group, where the tensors tell
};
CommCall read_comm_call(const CommCallRow& row, const ArgumentTexts& texts);

/// The tensors of a backend's record: what its rank puts in, of a message that is received what comes out.
std::vector<TensorRef> read_comm_record(const ArgumentTexts& texts);

/// Whether operators of that name block until the communication is over whose tensors they take.
bool is_comm_wait(std::string_view op);

}  // namespace chakra::recording
