// The arguments of c10d's calls and of the records of backends, by position, as Ops.cpp has them.
#include "chakra/recording/comm_calls.h"

#include <algorithm>
#include <array>

#include "chakra/base/base.h"
#include "chakra/work/work.h"

namespace chakra::recording {
namespace {

using trace::CommType;
using trace::NodeType;
using work::Count;
using work::element_type;
using work::ElementType;
using work::list_items;

constexpr CommKind coll(CommType type) { return {NodeType::coll, type}; }
constexpr CommKind kSend{NodeType::send, CommType::unknown}, kRecv{NodeType::recv, CommType::unknown};

/// torch/csrc/distributed/c10d/Ops.cpp, 2.0 to 2.15.
constexpr std::array<CommCallRow, 20> kCalls{{
    {"allreduce_", coll(CommType::all_reduce), 0, 0, -1, -1, -1, -1, -1},
    {"allreduce_coalesced_", coll(CommType::all_reduce), 0, 0, -1, -1, -1, -1, -1},
    {"allgather_", coll(CommType::all_gather), 0, 1, -1, -1, -1, -1, -1},
    {"_allgather_base_", coll(CommType::all_gather), 0, 1, -1, -1, -1, -1, -1},
    {"allgather_coalesced_", coll(CommType::all_gather), 0, 1, -1, -1, -1, -1, -1},
    {"allgather_into_tensor_coalesced_", coll(CommType::all_gather), 0, 1, -1, -1, -1, -1, -1},
    {"reduce_scatter_", coll(CommType::reduce_scatter), 0, 1, -1, -1, -1, -1, -1},
    {"_reduce_scatter_base_", coll(CommType::reduce_scatter), 0, 1, -1, -1, -1, -1, -1},
    {"reduce_scatter_tensor_coalesced_", coll(CommType::reduce_scatter), 0, 1, -1, -1, -1, -1, -1},
    {"broadcast_", coll(CommType::broadcast), 0, 0, 2, -1, -1, -1, -1},
    {"reduce_", coll(CommType::reduce), 0, 0, 3, -1, -1, -1, -1},
    {"gather_", coll(CommType::gather), 0, 1, 3, -1, -1, -1, -1},
    {"scatter_", coll(CommType::scatter), 0, 1, 3, -1, -1, -1, -1},
    {"alltoall_", coll(CommType::all_to_all), 0, 1, -1, -1, -1, -1, -1},
    {"alltoall_base_", coll(CommType::all_to_all), 0, 1, -1, -1, -1, 3, 4},
    {"barrier", coll(CommType::barrier), -1, -1, -1, -1, -1, -1, -1},
    {"monitored_barrier_", coll(CommType::barrier), -1, -1, -1, -1, -1, -1, -1, true},
    {"send", kSend, -1, 0, -1, 2, 3, -1, -1},
    {"recv_", kRecv, 0, -1, -1, 2, 3, -1, -1},
    {"recv_any_source_", kRecv, 0, -1, -1, -1, 2, -1, -1},
}};

int64_t number_in(std::string_view text) {
  int64_t number = -1;
  return parse_integer(text, number) && number >= 0 ? number : -1;
}

std::string_view item(const std::vector<std::string_view>& items, int at) {
  return at >= 0 && static_cast<size_t>(at) < items.size() ? items[static_cast<size_t>(at)] : std::string_view();
}

/// The tensors in an argument's sizes: "[4, 2]" of a tensor, "[[4, 2], [3]]" of a list, also of lists.
void add_shapes(std::string_view sizes, bool list, uint64_t element_bytes, int depth, std::vector<TensorRef>& to) {
  constexpr int kDeepest = 4;
  const std::vector<std::string_view> items = list_items(sizes);
  if (list && items.empty()) return;
  if (!items.empty() && items[0].starts_with('[')) {
    if (depth < kDeepest)
      for (const std::string_view inner : items) add_shapes(inner, false, element_bytes, depth + 1, to);
    return;
  }
  Count elements = 1;
  for (const std::string_view size : items) {
    const int64_t number = number_in(size);
    if (number < 0) return;
    elements = elements * static_cast<uint64_t>(number);
  }
  to.push_back({0, 0, 0, static_cast<int64_t>(elements.value()), static_cast<int64_t>(element_bytes)});
}

int64_t elements_of(const std::vector<TensorRef>& tensors) {
  Count sum;
  for (const TensorRef& tensor : tensors) sum = sum + static_cast<uint64_t>(std::max<int64_t>(tensor.elements, 0));
  return static_cast<int64_t>(sum.value());
}

/// "[100, 100]": what each of a list's tensors holds.
int64_t count_of(std::string_view list) { return list.size() < 2 ? -1 : static_cast<int64_t>(list_items(list).size()); }

/// How many ranks the group of a call has, as its tensors tell.
int64_t members_of(const CommCall& call) {
  const int64_t in = elements_of(call.in), out = elements_of(call.out);
  const auto ratio = [](int64_t all, int64_t part) { return part > 0 && all % part == 0 ? all / part : -1; };
  switch (call.kind.collective) {
    case CommType::all_gather: return ratio(out, in);
    case CommType::reduce_scatter: return ratio(in, out);
    case CommType::all_to_all: {
      const int64_t in_parts = count_of(call.in_split), out_parts = count_of(call.out_split);
      if (in_parts > 0) return in_parts;
      return out_parts > 0 ? out_parts : -1;
    }
    case CommType::gather: return call.out.empty() ? -1 : ratio(out, in);
    case CommType::scatter: return call.in.empty() ? -1 : ratio(in, out);
    default: return -1;
  }
}

}  // namespace

const CommCallRow* find_comm_call(std::string_view op) {
  if (!op.starts_with("c10d::")) return nullptr;
  op.remove_prefix(6);
  return find_row(kCalls, op);
}

bool is_comm_wait(std::string_view op) { return op.ends_with("c10d_functional::wait_tensor"); }

CommCall read_comm_call(const CommCallRow& row, const ArgumentTexts& texts) {
  const std::vector<std::string_view> values = list_items(texts.values), shapes = list_items(texts.shapes),
                                      types = list_items(texts.types);
  const auto tensors = [&](int at) {
    std::vector<TensorRef> found = parse_tensors(item(values, at));
    const std::string_view type = item(types, at), sizes = item(shapes, at);
    if (found.empty() && !sizes.empty()) {
      const ElementType element = element_type(type);
      const bool list = element.bytes == 0 || type.starts_with("GenericList");
      add_shapes(sizes, list, element.bytes, 0, found);
    }
    return found;
  };
  CommCall call;
  call.kind = row.kind;
  call.in = tensors(row.in);
  call.out = row.out == row.in ? call.in : tensors(row.out);
  call.root = number_in(item(values, row.root));
  call.peer = number_in(item(values, row.peer));
  call.tag = number_in(item(values, row.tag));
  const auto split = [](std::string_view text) { return text.size() > 2 ? text : std::string_view(); };
  call.out_split = split(item(values, row.out_split));
  call.in_split = split(item(values, row.in_split));
  call.members = members_of(call);
  return call;
}

std::vector<TensorRef> read_comm_record(const ArgumentTexts& texts) {
  std::vector<TensorRef> found = parse_tensors(texts.values);
  if (!found.empty()) return found;
  const std::vector<std::string_view> shapes = list_items(texts.shapes), types = list_items(texts.types);
  for (size_t i = 0; i < std::min(shapes.size(), types.size()); ++i)
    if (const ElementType element = element_type(types[i]); element.bytes > 0)
      add_shapes(shapes[i], false, element.bytes, 0, found);
  return found;
}

}  // namespace chakra::recording
