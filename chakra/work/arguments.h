// The recorded arguments of an operator: shapes and element types of tensors, and numbers. Inside the room; work.h
// brings it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::work {

/// A count that saturates at the largest value of an attribute (2^63 - 1) instead of overflowing.
class Count {
 public:
  static constexpr uint64_t kMost = INT64_MAX;
  constexpr Count(uint64_t value = 0) : value_(std::min(value, kMost)) {}  // NOLINT: it is one
  constexpr uint64_t value() const { return value_; }
  constexpr bool full() const { return value_ == kMost; }
  friend constexpr Count operator*(Count a, Count b) {
    uint64_t product = 0;
    return __builtin_mul_overflow(a.value_, b.value_, &product) ? kMost : product;
  }
  friend constexpr Count operator+(Count a, Count b) { return a.value_ + b.value_; }
  friend constexpr Count operator/(Count a, uint64_t b) { return b == 0 ? a.value_ : a.value_ / b; }
  friend constexpr bool operator==(Count a, Count b) { return a.value_ == b.value_; }
  friend constexpr bool operator<(Count a, Count b) { return a.value_ < b.value_; }

 private:
  uint64_t value_;
};

struct TensorShape {
  std::vector<uint64_t> dims;
  trace::DType dtype = trace::DType::unknown;
  uint64_t element_bytes = 0;  ///< 0: unknown
  Count elements = 1;
  Count distinct = 1;  ///< elements in memory: the strides of an expanded tensor are 0

  size_t rank() const { return dims.size(); }
  uint64_t operator[](size_t dim) const { return dims[dim]; }
  uint64_t last(size_t back = 0) const { return dims[dims.size() - 1 - back]; }
  Count bytes() const { return distinct * element_bytes; }       ///< in memory: what a reader reads
  Count full_bytes() const { return elements * element_bytes; }  ///< of a new tensor of this shape
};

struct Argument {
  bool is_list = false;              ///< of tensors
  std::vector<TensorShape> tensors;  ///< one, or those of a list; empty: not a tensor, or the shape is not recorded
  std::string_view value;            ///< a number, a list of numbers or a truth value; empty: not recorded
};

struct Arguments {
  std::vector<Argument> inputs, outputs;
  bool impossible = false;  ///< a shape with negative or huge sizes, or not a list of numbers
  /// Whether no other operator copies or fills the output, as in programs. In recordings, functional operators call
  /// others for this.
  bool alone = false;

  const TensorShape* input(size_t i) const { return tensor(inputs, i); }
  const TensorShape* output(size_t i) const { return tensor(outputs, i); }
  std::span<const TensorShape> list(size_t i) const {
    return i < inputs.size() ? std::span<const TensorShape>(inputs[i].tensors) : std::span<const TensorShape>();
  }
  /// Return the integers of an argument, "[3, 3]" or "3"; std::nullopt for missing and other arguments.
  std::optional<std::vector<int64_t>> numbers(size_t i) const;
  /// Return True, False or a list of these.
  std::optional<std::vector<bool>> truths(size_t i) const;
  bool any_tensor() const;

 private:
  static const TensorShape* tensor(const std::vector<Argument>& side, size_t i) {
    return i < side.size() && !side[i].is_list && !side[i].tensors.empty() ? &side[i].tensors[0] : nullptr;
  }
};

/// Parse one side of an operator in the notation of either trace: lists in the form of JSON or of Python.
/// `shapes` "[[32, 3], [], [[2], [3]]]", `types` "['float', 'Scalar', 'TensorList']" or "['Tensor(float)',
/// 'Int', 'GenericList[Tensor(float)]']", `values` "['', '1', '']" or "[[7, 8, 0, 64, 4, 'cpu'], 1, [...]]".
/// The values of the result are views into `values`. `strides` "[[3, 1], [], [[1], [1]]]", in elements; tensors without
/// strides are contiguous. False if a shape is impossible. Cost: O(text).
bool parse_arguments(std::string_view shapes, std::string_view types, std::string_view values,
                     std::vector<Argument>& side, std::string_view strides = {});
/// Return how many elements the memory of a tensor spans, from its first to its last; 0 for a tensor without elements.
/// Texts as above, for one tensor. Without strides that fit: the number of elements. nullopt for an impossible shape.
std::optional<uint64_t> span_of(std::string_view shape, std::string_view strides);

/// Return the elements of a list in JSON or Python, without quotes; empty if the text is not a list. Cost: O(text).
std::vector<std::string_view> list_items(std::string_view list);

/// Return the bytes of one element of any name that plain_dtype understands; 0 if unknown.
int element_bytes(std::string_view dtype);
/// Return c10d's name for an element type, in any notation of the record: "Float" for "float" and
/// "Tensor(float)", also inside lists. Unknown names stay unchanged; other lists give "".
std::string_view plain_dtype(std::string_view dtype);

/// Return the element type of a tensor's recorded type ("float", "c10::BFloat16",
/// "Tensor(float)"), with the bytes of one element; unknown and 0 for others.
struct ElementType {
  trace::DType dtype = trace::DType::unknown;
  uint64_t bytes = 0;
};
ElementType element_type(std::string_view type);
/// Return the element type in a kernel's name: "..._kernel<c10::BFloat16, ...>", "OpaqueType<4u>".
ElementType element_type_of_kernel(std::string_view kernel);

}  // namespace chakra::work
