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

namespace {

struct Dtype {
  std::string_view name;   ///< lower case, without "Tensor()" and "c10::"
  std::string_view plain;  ///< c10d's
  int bytes;
};
constexpr std::array<Dtype, 31> kDtypes{{
    {"float", "Float", 4},
    {"float32", "Float", 4},
    {"double", "Double", 8},
    {"float64", "Double", 8},
    {"half", "Half", 2},
    {"float16", "Half", 2},
    {"bfloat16", "BFloat16", 2},
    {"byte", "Byte", 1},
    {"unsigned char", "Byte", 1},
    {"uint8", "Byte", 1},
    {"char", "Char", 1},
    {"signed char", "Char", 1},
    {"int8", "Char", 1},
    {"short", "Short", 2},
    {"short int", "Short", 2},
    {"int16", "Short", 2},
    {"int", "Int", 4},
    {"int32", "Int", 4},
    {"long", "Long", 8},
    {"long int", "Long", 8},
    {"long long", "Long", 8},
    {"int64", "Long", 8},
    {"bool", "Bool", 1},
    {"uint16", "UInt16", 2},
    {"uint32", "UInt32", 4},
    {"uint64", "UInt64", 8},
    {"complexfloat", "ComplexFloat", 8},
    {"complex<float>", "ComplexFloat", 8},
    {"complexdouble", "ComplexDouble", 16},
    {"complex<double>", "ComplexDouble", 16},
    {"float8", "Float8", 1},
}};

const Dtype* find_dtype(std::string_view dtype) {
  if (const size_t tensor = dtype.find("Tensor("); tensor != std::string_view::npos) {  // also in lists of lists
    dtype.remove_prefix(tensor + 7);
    dtype = dtype.substr(0, dtype.find(')'));
  }
  if (dtype.starts_with("c10::")) dtype.remove_prefix(5);
  const std::string name = to_lower(dtype);
  for (const Dtype& row : kDtypes)
    if (row.name == name || (row.name == "float8" && name.starts_with("float8"))) return &row;
  return nullptr;
}

}  // namespace

int element_bytes(std::string_view dtype) {
  const Dtype* row = find_dtype(dtype);
  return row ? row->bytes : 0;
}

std::string_view plain_dtype(std::string_view dtype) {
  const Dtype* row = find_dtype(dtype);
  if (!row && dtype.starts_with("GenericList")) return {};
  return row && row->plain != "Float8" ? row->plain : dtype;
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
