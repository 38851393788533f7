#include "chakra/work/arguments.h"

#include <array>

#include "chakra/base/base.h"

namespace chakra::work {
namespace {

using trace::DType;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

/// Call visit with each element of a list, quotes taken off; a tuple is a list. Return false for other values.
template <class Visit>
bool for_each_item(std::string_view list, const Visit& visit) {
  list = trimmed(list);
  if (list.size() < 2 || !(list.front() == '[' || list.front() == '(')) return false;
  list = list.substr(1, list.size() - 2);
  size_t begin = 0, depth = 0;
  char quote = 0;
  const auto hand_out = [&](size_t end) {
    std::string_view item = trimmed(list.substr(begin, end - begin));
    if (item.size() >= 2 && (item.front() == '"' || item.front() == '\'') && item.back() == item.front())
      item = item.substr(1, item.size() - 2);
    visit(item);
    begin = end + 1;
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      else if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') quote = c;
    else if (c == '[' || c == '(') ++depth;
    else if (c == ']' || c == ')') depth -= depth > 0;
    else if (c == ',' && depth == 0) hand_out(i);
  }
  if (!trimmed(list.substr(std::min(begin, list.size()))).empty()) hand_out(list.size());
  return true;
}

/// Return false if the text is not a list of sizes.
bool parse_shape(std::string_view text, TensorShape& shape) {
  bool good = true;
  const bool list = for_each_item(text, [&](std::string_view item) {
    int64_t size = 0;
    good = good && parse_integer(item, size) && size >= 0;
    shape.dims.push_back(static_cast<uint64_t>(size));
    shape.elements = shape.elements * static_cast<uint64_t>(size);
  });
  shape.distinct = shape.elements;
  return list && good && !(shape.elements * 16).full();
}

/// The strides of a shape; empty for other lists.
std::vector<uint64_t> parse_strides(std::string_view text, const TensorShape& shape) {
  std::vector<uint64_t> strides;
  const bool list = for_each_item(text, [&](std::string_view item) {
    uint64_t stride = 0;
    if (parse_unsigned(item, stride)) strides.push_back(stride);
  });
  if (!list || strides.size() != shape.rank()) strides.clear();
  return strides;
}
/// From the first element in memory to the last. Requires as many strides as dimensions.
Count span_of(const TensorShape& shape, const std::vector<uint64_t>& strides) {
  Count span = 1;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (shape[d] == 0) return 0;
    span = span + Count(shape[d] - 1) * strides[d];
  }
  return span;
}
/// Count the elements of overlapping tensors once: at most those that the dimensions with a stride have, and at most
/// those between the first and the last one.
void set_strides(std::string_view text, TensorShape& shape) {
  const std::vector<uint64_t> strides = parse_strides(text, shape);
  if (strides.empty()) return;
  Count moved = 1;
  for (size_t d = 0; d < strides.size(); ++d)
    if (strides[d] > 0 || shape[d] == 0) moved = moved * shape[d];
  shape.distinct = std::min(moved, span_of(shape, strides));
}

/// Whether a recorded type is that of a tensor: types of numbers begin with a capital ("Int", "Scalar").
bool is_tensor(std::string_view type) {
  if (type.starts_with("Tensor(")) return !contains(type, "nullptr");
  return !type.empty() && ((type[0] >= 'a' && type[0] <= 'z'));
}

bool add_tensor(std::string_view shape, std::string_view type, std::string_view strides, Argument& to) {
  TensorShape tensor;
  const ElementType element = element_type(type);
  tensor.dtype = element.dtype;
  tensor.element_bytes = element.bytes;
  if (!parse_shape(shape, tensor)) return false;
  set_strides(strides, tensor);
  to.tensors.push_back(std::move(tensor));
  return true;
}

struct ElementName {
  std::string_view name;   ///< lower case, without "Tensor()" and "c10::"
  std::string_view plain;  ///< c10d's
  int bytes;
  DType dtype = DType::unknown;  ///< of the arithmetic; unknown: devices have no peak for it
};
constexpr std::array<ElementName, 31> kElementNames{{
    {"float", "Float", 4, DType::f32},
    {"float32", "Float", 4, DType::f32},
    {"double", "Double", 8, DType::f64},
    {"float64", "Double", 8, DType::f64},
    {"half", "Half", 2, DType::f16},
    {"float16", "Half", 2, DType::f16},
    {"bfloat16", "BFloat16", 2, DType::bf16},
    {"byte", "Byte", 1, DType::i8},
    {"unsigned char", "Byte", 1, DType::i8},
    {"uint8", "Byte", 1, DType::i8},
    {"char", "Char", 1, DType::i8},
    {"signed char", "Char", 1, DType::i8},
    {"int8", "Char", 1, DType::i8},
    {"short", "Short", 2, DType::i16},
    {"short int", "Short", 2, DType::i16},
    {"int16", "Short", 2, DType::i16},
    {"int", "Int", 4, DType::i32},
    {"int32", "Int", 4, DType::i32},
    {"long", "Long", 8, DType::i64},
    {"long int", "Long", 8, DType::i64},
    {"long long", "Long", 8, DType::i64},
    {"int64", "Long", 8, DType::i64},
    {"bool", "Bool", 1, DType::boolean},
    {"uint16", "UInt16", 2},
    {"uint32", "UInt32", 4},
    {"uint64", "UInt64", 8},
    {"complexfloat", "ComplexFloat", 8, DType::complex},
    {"complex<float>", "ComplexFloat", 8, DType::complex},
    {"complexdouble", "ComplexDouble", 16, DType::complex},
    {"complex<double>", "ComplexDouble", 16, DType::complex},
    {"float8", "Float8", 1, DType::f8},
}};

const ElementName* find_element(std::string_view dtype) {
  if (const size_t tensor = dtype.find("Tensor("); tensor != std::string_view::npos) {  // also in lists of lists
    dtype.remove_prefix(tensor + 7);
    dtype = dtype.substr(0, dtype.find(')'));
  }
  if (dtype.starts_with("c10::")) dtype.remove_prefix(5);
  const std::string name = to_lower(dtype);
  for (const ElementName& row : kElementNames)
    if (row.name == name || (row.name == "float8" && name.starts_with("float8"))) return &row;
  return nullptr;
}

}  // namespace

std::vector<std::string_view> list_items(std::string_view list) {
  std::vector<std::string_view> items;
  for_each_item(list, [&](std::string_view item) { items.push_back(item); });
  return items;
}

int element_bytes(std::string_view dtype) {
  const ElementName* row = find_element(dtype);
  return row ? row->bytes : 0;
}

std::string_view plain_dtype(std::string_view dtype) {
  const ElementName* row = find_element(dtype);
  if (!row && dtype.starts_with("GenericList")) return {};
  return row && row->dtype != DType::f8 ? row->plain : dtype;
}

ElementType element_type(std::string_view type) {
  const ElementName* row = find_element(type);
  return row ? ElementType{row->dtype, static_cast<uint64_t>(row->bytes)} : ElementType{};
}

ElementType element_type_of_kernel(std::string_view kernel) {
  struct Row {
    std::string_view part;
    ElementType type;
  };
  // The first row whose text is in the name.
  static constexpr std::array<Row, 11> kRows{{
      {"OpaqueType<1u>", {DType::unknown, 1}},
      {"OpaqueType<2u>", {DType::unknown, 2}},
      {"OpaqueType<4u>", {DType::unknown, 4}},
      {"OpaqueType<8u>", {DType::unknown, 8}},
      {"bfloat16", {DType::bf16, 2}},
      {"BFloat16", {DType::bf16, 2}},
      {"Half", {DType::f16, 2}},
      {"<double", {DType::f64, 8}},
      {"<float", {DType::f32, 4}},
      {"<long", {DType::i64, 8}},
      {"<int", {DType::i32, 4}},
  }};
  for (const Row& row : kRows)
    if (contains(kernel, row.part)) return row.type;
  return {};
}

bool parse_arguments(std::string_view shapes, std::string_view types, std::string_view values,
                     std::vector<Argument>& side, std::string_view strides) {
  side.clear();
  std::vector<std::string_view> type_of;
  for_each_item(types, [&](std::string_view type) { type_of.push_back(type); });
  const std::vector<std::string_view> stride_of = list_items(strides);
  const auto at = [](const std::vector<std::string_view>& list, size_t i) {
    return i < list.size() ? list[i] : std::string_view();
  };
  bool good = true;
  for_each_item(shapes, [&](std::string_view shape) {
    Argument& argument = side.emplace_back();
    const std::string_view type = at(type_of, side.size() - 1), of_shape = at(stride_of, side.size() - 1);
    argument.is_list = type == "TensorList" || (type.starts_with("GenericList[") && contains(type, "Tensor("));
    const std::vector<std::string_view> of_items =
        argument.is_list ? list_items(of_shape) : std::vector<std::string_view>();
    if (argument.is_list)
      for_each_item(shape, [&](std::string_view item) {
        good = good && add_tensor(item, type, at(of_items, argument.tensors.size()), argument);
      });
    else if (is_tensor(type)) good = good && add_tensor(shape, type, of_shape, argument);
  });
  size_t i = 0;
  for_each_item(values, [&](std::string_view value) {
    if (i == side.size()) side.emplace_back();
    if (side[i].tensors.empty()) side[i].value = value;
    ++i;
  });
  return good;
}

std::optional<uint64_t> span_of(std::string_view shape, std::string_view strides) {
  TensorShape tensor;
  if (!parse_shape(shape, tensor)) return std::nullopt;
  const std::vector<uint64_t> steps = parse_strides(strides, tensor);
  return (steps.empty() ? tensor.elements : span_of(tensor, steps)).value();
}

std::optional<std::vector<int64_t>> Arguments::numbers(size_t i) const {
  if (i >= inputs.size() || inputs[i].value.empty()) return std::nullopt;
  std::vector<int64_t> list;
  bool good = true;
  const auto add = [&](std::string_view item) {
    int64_t number = 0;
    good = good && parse_integer(item, number);
    list.push_back(number);
  };
  if (!for_each_item(inputs[i].value, add)) add(inputs[i].value);
  return good ? std::optional(std::move(list)) : std::nullopt;
}

std::optional<std::vector<bool>> Arguments::truths(size_t i) const {
  if (i >= inputs.size() || inputs[i].value.empty()) return std::nullopt;
  std::vector<bool> list;
  bool good = true;
  const auto add = [&](std::string_view item) {
    const bool yes = item == "True" || item == "true", no = item == "False" || item == "false";
    good = good && (yes || no);
    list.push_back(yes);
  };
  if (!for_each_item(inputs[i].value, add)) add(inputs[i].value);
  return good ? std::optional(std::move(list)) : std::nullopt;
}

bool Arguments::any_tensor() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const Argument& a) { return !a.tensors.empty(); });
}

}  // namespace chakra::work
