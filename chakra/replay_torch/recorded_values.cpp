#include "chakra/replay_torch/recorded_values.h"

#include <cstdlib>
#include <string>

namespace chakra::replay_torch {
namespace {

constexpr int kDeepest = 4;  ///< lists in lists: recorders write two

bool opens(char c) { return c == '[' || c == '(' || c == '{'; }
bool closes(char c) { return c == ']' || c == ')' || c == '}'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Parts between commas outside brackets and quotes.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0, depth = 0;
  char quoted = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted != 0) {
      if (c == '\\') ++i;
      else if (c == quoted) quoted = 0;
    } else if (c == '\'' || c == '"') {
      quoted = c;
    } else if (opens(c)) {
      ++depth;
    } else if (closes(c)) {
      depth -= depth > 0;
    } else if (c == ',' && depth == 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (const std::string_view last = trimmed(text.substr(std::min(begin, text.size()))); !last.empty())
    parts.push_back(last);
  return parts;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

/// What stands in the brackets of "Tensor(float)", "GenericList[Int,Int]".
std::string_view inner(std::string_view type) {
  const size_t open = type.find_first_of("([");
  return open == type.npos || type.size() < open + 2 ? std::string_view()
                                                     : type.substr(open + 1, type.size() - open - 2);
}

bool is_number(std::string_view text, double& value) {
  const std::string copy(text);
  char* end = nullptr;
  value = std::strtod(copy.c_str(), &end);
  return !copy.empty() && *end == 0;
}

/// A value as the recording has it, and what stands beside it.
struct Recorded {
  std::string_view value, type, shape, strides;
};

std::string_view item(const std::vector<std::string_view>& items, size_t i) {
  return i < items.size() ? items[i] : std::string_view();
}

class Reader {
 public:
  Reader(OperatorPlan& plan, const TensorSeen& seen) : plan_(plan), seen_(seen) {}

  chakra_torch_value read(const Recorded& r, int depth) {
    const std::string_view type = unquoted(r.type);
    if (unquoted(r.value) == "<None>" || type == "None" || r.value == "None") return of(CHAKRA_TORCH_NONE);
    if (type.starts_with("Tensor(")) return tensor(r, inner(type));
    if (r.value.starts_with('[') || r.value.starts_with('(')) return list(r, inner(type), depth);
    return scalar(r.value, type);
  }

 private:
  static chakra_torch_value of(chakra_torch_kind kind) {
    chakra_torch_value value{};
    value.kind = kind;
    return value;
  }

  const char* keep(std::string_view text) { return plan_.texts.emplace_back(text).c_str(); }

  chakra_torch_value unknown(std::string_view what) {
    chakra_torch_value value = of(CHAKRA_TORCH_UNKNOWN);
    value.text = keep(what);
    return value;
  }

  chakra_torch_value scalar(std::string_view text, std::string_view type) {
    chakra_torch_value value{};
    if (text == "True" || text == "False") {
      value.kind = CHAKRA_TORCH_BOOLEAN;
      value.integer = text == "True";
    } else if (type != "Double" && parse_integer(text, value.integer)) {
      value.kind = type == "Bool" ? CHAKRA_TORCH_BOOLEAN : CHAKRA_TORCH_INTEGER;
    } else if (is_number(unquoted(text), value.real) && (type == "Double" || unquoted(text) == text)) {
      value.kind = CHAKRA_TORCH_REAL;
    } else if (type == "String" || type == "Device") {
      value.kind = CHAKRA_TORCH_TEXT;
      value.text = keep(unquoted(text));
    } else {
      return unknown(type.empty() ? text : type);
    }
    return value;
  }

  bool numbers(std::string_view list, std::vector<int64_t>& to) {
    for (const std::string_view text : list_items(list))
      if (!parse_integer(text, to.emplace_back())) return false;
    return true;
  }

  chakra_torch_value tensor(const Recorded& r, std::string_view dtype) {
    if (dtype.starts_with("nullptr")) return of(CHAKRA_TORCH_NONE);
    const std::vector<std::string_view> fields = list_items(r.value);
    std::vector<int64_t> sizes, strides;
    chakra_torch_tensor t{};
    int64_t storage = 0;
    if (fields.size() < 5 || !parse_integer(fields[0], t.id) || !parse_integer(fields[1], storage) ||
        !parse_integer(fields[2], t.offset) || !parse_integer(fields[3], t.elements) ||
        !parse_integer(fields[4], t.item_bytes) || !numbers(r.shape, sizes) || !numbers(r.strides, strides) ||
        t.offset < 0 || t.item_bytes < 0 || t.item_bytes > 64 || (t.item_bytes == 0 && t.elements > 0))
      return unknown("Tensor");
    uint64_t elements = 1;
    for (const int64_t size : sizes)
      if (size < 0 || __builtin_mul_overflow(elements, static_cast<uint64_t>(size), &elements))
        return unknown("Tensor");
    for (const int64_t stride : strides)
      if (stride < 0) return unknown("Tensor");
    if (storage == 0 && t.elements == 0 && elements > 0) t.storage = CHAKRA_TORCH_NO_STORAGE;
    else if (elements != static_cast<uint64_t>(t.elements)) return unknown("Tensor");
    t.dtype = keep(dtype);
    t.dims = static_cast<uint32_t>(sizes.size());
    const bool has_strides = !r.strides.empty() && strides.size() == sizes.size();
    t.sizes = plan_.numbers.emplace_back(std::move(sizes)).data();
    if (has_strides) t.strides = plan_.numbers.emplace_back(std::move(strides)).data();
    chakra_torch_value value = of(CHAKRA_TORCH_TENSOR);
    chakra_torch_tensor& kept = plan_.tensors.emplace_back(t);
    seen_(kept, storage);
    value.tensor = &kept;
    return value;
  }

  chakra_torch_value list(const Recorded& r, std::string_view types, int depth) {
    if (depth >= kDeepest) return unknown("a list of lists of lists");
    const std::vector<std::string_view> values = list_items(r.value), shapes = list_items(r.shape),
                                        strides = list_items(r.strides), kinds = parts_of(types);
    std::vector<chakra_torch_value> items;
    for (size_t i = 0; i < values.size(); ++i)
      items.push_back(read({values[i], item(kinds, i), item(shapes, i), item(strides, i)}, depth + 1));
    chakra_torch_value value = of(CHAKRA_TORCH_LIST);
    value.integer = static_cast<int64_t>(items.size());
    value.items = plan_.values.emplace_back(std::move(items)).data();
    return value;
  }

  OperatorPlan& plan_;
  const TensorSeen& seen_;
};

}  // namespace

std::vector<std::string_view> list_items(std::string_view list) {
  list = trimmed(list);
  if (list.size() < 2 || !opens(list.front()) || !closes(list.back())) return {};
  return parts_of(list.substr(1, list.size() - 2));
}

OperatorSchema parse_schema(std::string_view text) {
  OperatorSchema schema;
  const size_t open = text.find('(');
  const std::string_view whole = text.substr(0, open);
  const size_t dot = whole.find('.');
  schema.name = whole.substr(0, dot);
  if (dot != whole.npos) schema.overload = whole.substr(dot + 1);
  if (open == text.npos) return schema;
  size_t close = open, depth = 0;
  for (; close < text.size(); ++close) {
    if (text[close] == '(') ++depth;
    else if (text[close] == ')' && --depth == 0) break;
  }
  for (const std::string_view part : parts_of(text.substr(open + 1, close - open - 1))) {
    if (part == "*") continue;
    const std::string_view declared = trimmed(part.substr(0, part.find('=')));
    const size_t space = declared.rfind(' ');
    schema.arguments.push_back(space == declared.npos ? declared : declared.substr(space + 1));
  }
  return schema;
}

const std::vector<chakra_torch_value>& read_values(const trace::Trace& trace, const trace::Tensors& tensors,
                                                   OperatorPlan& plan, const TensorSeen& seen) {
  const std::vector<std::string_view> values = list_items(tensors.values),
                                      types = list_items(trace.strings[tensors.types]),
                                      shapes = list_items(trace.strings[tensors.shapes]),
                                      strides = list_items(trace.strings[tensors.strides]);
  Reader reader(plan, seen);
  std::vector<chakra_torch_value> read;
  for (size_t i = 0; i < values.size(); ++i)
    read.push_back(reader.read({values[i], item(types, i), item(shapes, i), item(strides, i)}, 0));
  return plan.values.emplace_back(std::move(read));
}

}  // namespace chakra::replay_torch
