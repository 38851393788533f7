// What communication that CPU threads carry out moves, to whom and where: the tensors of the backend's record, and what
// the call of c10d that asked for it says.
#include <algorithm>

#include "chakra/link/comm_nodes.h"

namespace chakra::link {
namespace {

using trace::CommType;
using trace::NodeType;

std::string_view name_of(const Linking& l, uint32_t op) {
  return l.text(l.profile().file.empty() ? l.host().ops[op].name : l.profile().ops[op].name);
}

/// Bytes of tensors; where they do not say how large an element is, it is `element`.
uint64_t bytes_of(const std::vector<TensorRef>& tensors, int64_t element) {
  Count sum;
  for (const TensorRef& tensor : tensors) {
    const int64_t size = tensor.element_bytes > 0 ? tensor.element_bytes : std::max<int64_t>(element, 0);
    sum = sum + Count(static_cast<uint64_t>(std::max<int64_t>(tensor.elements, 0))) * static_cast<uint64_t>(size);
  }
  return sum.value();
}

/// Of parts in separate tensors, how many elements each has: "[100, 100]".
std::string split_of(const std::vector<TensorRef>& tensors) {
  std::string text = "[";
  for (const TensorRef& tensor : tensors) text += (text.size() > 1 ? ", " : "") + std::to_string(tensor.elements);
  return text + "]";
}

/// The first element type in "['Tensor(float)', ...]".
std::string_view dtype_in(std::string_view types) {
  for (const std::string_view type : list_items(types))
    if (element_bytes(type) > 0) return plain_dtype(type);
  return {};
}

}  // namespace

void CommNodes::carried_out(const HostComm& comm, CommNode& node) {
  const bool host_alone = l_.profile().file.empty();
  const std::string_view name = name_of(l_, comm.record);
  CommRecord record;
  ArgumentTexts texts = l_.arguments_of(comm.record);
  const uint32_t h = host_alone ? comm.record : l_.match.host_of_op[comm.record];
  if (h != kNone)
    if (const CommRecord* more = l_.host().comm(l_.host().ops[h])) complete(record, *more);
  if (!host_alone && l_.profile().ops[comm.record].comm != trace::kNoRow) {
    const CommRecord& here = l_.profile().comms[l_.profile().ops[comm.record].comm];
    complete(record, here);
    if (h == kNone) texts = {{}, here.dims, here.types};
  }
  CommKind kind = comm_kind(after_colon(name));
  const CommCallRow* row = comm.call == kNone ? nullptr : find_comm_call(name_of(l_, comm.call));
  CommCall call;
  ArgumentTexts asked;
  if (row) {
    asked = l_.arguments_of(comm.call);
    call = read_comm_call(*row, asked);
    kind = call.kind;
  }
  if (comm.group != 0) record.group = comm.group;
  if (record.group == 0) record.group = only_group("gloo");

  const bool receives = kind.type == NodeType::recv;
  std::vector<TensorRef> moved = receives ? call.out : call.in;
  if (moved.empty() && kind.collective != CommType::barrier) moved = read_comm_record(texts);
  std::string_view dtype = dtype_in(texts.types);
  if (dtype.empty()) dtype = dtype_in(asked.types);
  const int64_t element = element_bytes(dtype);
  const bool known = !moved.empty() || kind.collective == CommType::barrier || (row && !asked.shapes.empty());
  size_unknown_ += !known || (!moved.empty() && moved[0].element_bytes <= 0 && element <= 0);

  find_place(kind, record, kind.type == NodeType::coll ? call.root : call.peer);
  describe(node, kind, record, dtype, "gloo");
  trace::Comm& to = node.comm;
  to.bytes = bytes_of(moved, element);
  to.in_bytes = receives ? 0 : to.bytes;
  to.out_bytes = receives ? to.bytes : bytes_of(call.out, element);
  if (call.tag >= 0) to.tag = call.tag;
  if (!call.in_split.empty()) to.in_split = l_.trace.texts.add(call.in_split);
  if (!call.out_split.empty()) to.out_split = l_.trace.texts.add(call.out_split);
  if (row && row->name == "alltoall_") {
    to.in_split = l_.trace.texts.add(split_of(call.in));
    to.out_split = l_.trace.texts.add(split_of(call.out));
  }
  turns_.push_back(comm.turn);
}

/// Where a message goes or comes from, and the root, are places in a group; a group that nobody names may be any in
/// which the place is the same rank.
void CommNodes::find_place(CommKind kind, CommRecord& record, int64_t place) {
  if (place < 0) return;
  if (record.group == 0 && groups_.size() > 1) {
    std::vector<int64_t> ranks;
    for (const trace::ProcessGroup& group : groups_) {
      const bool all = group.ranks.empty();
      const size_t size = all ? static_cast<size_t>(std::max<int64_t>(group.size, 0)) : group.ranks.size();
      if (static_cast<size_t>(place) >= size) continue;
      const int64_t there = all ? place : group.ranks[static_cast<size_t>(place)];
      if (kind.type != NodeType::coll && there == l_.rank) continue;  // no rank sends to itself
      if (std::find(ranks.begin(), ranks.end(), there) == ranks.end()) ranks.push_back(there);
    }
    if (ranks.size() == 1)
      (kind.type == NodeType::send ? record.dst : kind.type == NodeType::recv ? record.src : record.root) = ranks[0];
    else if (kind.type != NodeType::coll && !ranks.empty()) peers_.emplace(turns_.size(), std::move(ranks));
    return;
  }
  record.rank = place;
  find_ends(record, kind, {});
}

/// Ranks make their calls in one order, though threads may begin them in another.
void CommNodes::put_in_turn(std::vector<Turn>& collectives) {
  if (std::any_of(collectives.begin(), collectives.end(), [](const Turn& t) { return t.turn == kNone; })) return;
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const Turn& a, const Turn& b) { return a.turn < b.turn; });
}

}  // namespace chakra::link
