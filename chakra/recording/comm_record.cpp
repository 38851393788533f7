#include "chakra/recording/comm_record.h"

#include <array>

#include "chakra/recording/vendors.h"

namespace chakra::recording {

using trace::CommType;
using trace::NodeType;

CommKind comm_kind(std::string_view name) {
  std::string plain;  // lower case letters only: all_reduce, AllReduce and allreduce are one
  for (const char c : to_lower(name))
    if (c >= 'a' && c <= 'z') plain += c;
  struct Row {
    std::string_view part;
    CommKind kind;
  };
  const auto coll = [](CommType type) { return CommKind{NodeType::coll, type}; };
  // The first row whose text is in the name: longer names before those they contain.
  static const std::array<Row, 14> kRows{{
      {"allreduce", coll(CommType::all_reduce)},
      {"allgather", coll(CommType::all_gather)},
      {"reducescatter", coll(CommType::reduce_scatter)},
      {"alltoall", coll(CommType::all_to_all)},
      {"broadcast", coll(CommType::broadcast)},
      {"barrier", coll(CommType::barrier)},
      {"gather", coll(CommType::gather)},
      {"scatter", coll(CommType::scatter)},
      {"reduce", coll(CommType::reduce)},
      {"sendrecv", coll(CommType::all_to_all)},  // what NCCL runs all-to-all with
      {"isend", {NodeType::send, CommType::unknown}},
      {"irecv", {NodeType::recv, CommType::unknown}},
      {"send", {NodeType::send, CommType::unknown}},
      {"recv", {NodeType::recv, CommType::unknown}},
  }};
  for (const Row& row : kRows)
    if (contains(plain, row.part)) return row.kind;
  return {};
}

bool is_host_comm(std::string_view annotation) {
  const BackendRow* backend = backend_of(annotation);
  return backend && backend->on_cpu && comm_kind(annotation.substr(backend->name.size() + 1)).type != NodeType::invalid;
}

bool is_device_comm(std::string_view annotation) {
  const BackendRow* backend = backend_of(annotation);
  return backend && !backend->on_cpu;
}

bool is_comm_record(std::string_view op) { return op == "record_param_comms" || is_device_comm(op); }

std::vector<TensorRef> parse_tensors(std::string_view values) {
  std::vector<TensorRef> tensors;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    if (values[i] != '[' || values[i + 1] < '0' || values[i + 1] > '9') continue;
    const size_t close = values.find(']', i);
    if (close == std::string_view::npos) break;
    const std::string_view tuple = values.substr(i, close - i);
    if (const size_t device = tuple.find('\''); device != std::string_view::npos) {
      const std::vector<int64_t> numbers = parse_ranks(tuple.substr(0, device));
      if (numbers.size() == 5) tensors.push_back({numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]});
    }
    i = close;
  }
  return tensors;
}

std::vector<int64_t> parse_ranks(std::string_view text) {
  std::vector<int64_t> ranks;
  size_t i = 0;
  while (i < text.size()) {
    if (text[i] < '0' || text[i] > '9') {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    int64_t rank = 0;
    if (parse_integer(text.substr(i, end - i), rank)) ranks.push_back(rank);
    i = end;
  }
  return ranks;
}

}  // namespace chakra::recording
