#include "chakra/recording/arguments.h"

#include <array>

#include "chakra/base/base.h"
#include "chakra/recording/comm_record.h"

namespace chakra::recording {
namespace {

using trace::DType;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

/// Calls visit with each element of a list, quotes taken off; a tuple is a list. False where it is no list.
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

/// False where it is no list of sizes.
bool parse_shape(std::string_view text, TensorShape& shape) {
  bool good = true;
  const bool list = for_each_item(text, [&](std::string_view item) {
    int64_t size = 0;
    good = good && parse_integer(item, size) && size >= 0;
    shape.dims.push_back(static_cast<uint64_t>(size));
    shape.elements = shape.elements * static_cast<uint64_t>(size);
  });
  return list && good && !(shape.elements * 16).full();
}

/// Whether a recorded type is that of a tensor: types of numbers begin with a capital ("Int", "Scalar").
bool is_tensor(std::string_view type) {
  if (type.starts_with("Tensor(")) return !contains(type, "nullptr");
  return !type.empty() && ((type[0] >= 'a' && type[0] <= 'z'));
}

bool add_tensor(std::string_view shape, std::string_view type, Argument& to) {
  TensorShape tensor;
  const ElementType element = element_type(type);
  tensor.dtype = element.dtype;
  tensor.element_bytes = element.bytes;
  if (!parse_shape(shape, tensor)) return false;
  to.tensors.push_back(std::move(tensor));
  return true;
}

}  // namespace

std::vector<std::string_view> list_items(std::string_view list) {
  std::vector<std::string_view> items;
  for_each_item(list, [&](std::string_view item) { items.push_back(item); });
  return items;
}

ElementType element_type(std::string_view type) {
  struct Row {
    std::string_view plain;
    DType dtype;
  };
  static constexpr std::array<Row, 12> kRows{{
      {"Float", DType::f32},
      {"BFloat16", DType::bf16},
      {"Half", DType::f16},
      {"Double", DType::f64},
      {"Long", DType::i64},
      {"Int", DType::i32},
      {"Short", DType::i16},
      {"Byte", DType::i8},
      {"Char", DType::i8},
      {"Bool", DType::boolean},
      {"ComplexFloat", DType::complex},
      {"ComplexDouble", DType::complex},
  }};
  const uint64_t bytes = static_cast<uint64_t>(element_bytes(type));
  if (bytes == 0) return {};
  if (contains(type, "Float8")) return {DType::f8, bytes};
  const std::string_view plain = plain_dtype(type);
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.plain == plain; });
  return {row == kRows.end() ? DType::unknown : row->dtype, bytes};
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
                     std::vector<Argument>& side) {
  side.clear();
  std::vector<std::string_view> type_of;
  for_each_item(types, [&](std::string_view type) { type_of.push_back(type); });
  bool good = true;
  for_each_item(shapes, [&](std::string_view shape) {
    Argument& argument = side.emplace_back();
    const std::string_view type = side.size() <= type_of.size() ? type_of[side.size() - 1] : std::string_view();
    argument.is_list = type == "TensorList" || (type.starts_with("GenericList[") && contains(type, "Tensor("));
    if (argument.is_list)
      for_each_item(shape, [&](std::string_view item) { good = good && add_tensor(item, type, argument); });
    else if (is_tensor(type)) good = good && add_tensor(shape, type, argument);
  });
  size_t i = 0;
  for_each_item(values, [&](std::string_view value) {
    if (i == side.size()) side.emplace_back();
    if (side[i].tensors.empty()) side[i].value = value;
    ++i;
  });
  return good;
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

}  // namespace chakra::recording
