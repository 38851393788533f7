// The table of formulas. A row's text says what is counted; docs/explanation/linking.md, Work, says why.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "chakra/base/base.h"
#include "chakra/work/work.h"

namespace chakra::work {
namespace {

using trace::DType;

Count product(std::span<const uint64_t> dims) {
  Count product = 1;
  for (const uint64_t dim : dims) product = product * dim;
  return product;
}
std::span<const uint64_t> leading(const TensorShape& t, size_t last) {
  return std::span(t.dims).first(t.rank() - std::min(last, t.rank()));
}

bool is_floating(DType type) { return type >= DType::f64 && type <= DType::f4; }

/// The tensors among the inputs, at most `most`; nothing of lists.
std::vector<const TensorShape*> tensors_of(const Arguments& a, size_t most = SIZE_MAX) {
  std::vector<const TensorShape*> tensors;
  for (size_t i = 0; i < a.inputs.size() && tensors.size() < most; ++i)
    if (const TensorShape* t = a.input(i)) tensors.push_back(t);
  return tensors;
}
/// All bytes of an argument, list or tensor.
Count bytes_of(const Arguments& a, size_t i) {
  Count bytes = 0;
  for (const TensorShape& t : a.list(i)) bytes = bytes + t.bytes();
  return bytes;
}
/// The bytes of all elements of an argument, list or tensor.
Count full_bytes_of(const Arguments& a, size_t i) {
  Count bytes = 0;
  for (const TensorShape& t : a.list(i)) bytes = bytes + t.full_bytes();
  return bytes;
}
/// What the recording says of the outputs, else `else_bytes`.
Count written(const Arguments& a, Count else_bytes) {
  Count bytes = 0;
  bool any = false;
  for (const Argument& output : a.outputs)
    for (const TensorShape& t : output.tensors) {
      any |= t.element_bytes > 0;
      bytes = bytes + t.full_bytes();
    }
  return any ? bytes : else_bytes;
}
bool in_place(std::string_view name) { return name.ends_with('_'); }
/// The bytes of an operator that changes a part of its output: `part`, where another operator fills in the rest. Else
/// the arguments `read`, and the whole output.
Count part_or_whole(std::string_view name, const Arguments& a, Count part, std::initializer_list<size_t> read,
                    Count output) {
  if (!a.alone || in_place(name)) return part;
  Count bytes = written(a, output);
  for (const size_t i : read) bytes = bytes + bytes_of(a, i);
  return bytes;
}

/// The element type of an output. Same, except: of whole numbers and truth values the default floating type, or the
/// type of indices; always indices; always truth values.
enum class Output : uint8_t { same, floating, whole, index, truth };

/// Bytes of an element of the output, from the element type of the input that decides.
uint64_t output_bytes(Output output, const TensorShape& type) {
  constexpr uint64_t kIndex = 8, kDefaultFloating = 4;
  switch (output) {
    case Output::truth: return 1;
    case Output::index: return kIndex;
    case Output::whole: return is_floating(type.dtype) || type.dtype == DType::complex ? type.element_bytes : kIndex;
    case Output::floating:
      return is_floating(type.dtype) || type.dtype == DType::complex ? type.element_bytes : kDefaultFloating;
    case Output::same: break;
  }
  return type.element_bytes;
}

/// The bytes of an element of the type that a number names, as PyTorch counts its types: 5 is half.
std::optional<uint64_t> bytes_of_type(const Arguments& a, size_t i) {
  constexpr std::array<uint8_t, 16> kBytes{1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 0, 0, 0, 2};
  const auto number = a.numbers(i);
  if (!number || number->size() != 1 || number->front() < 0 || number->front() >= 16) return std::nullopt;
  const uint64_t bytes = kBytes[static_cast<size_t>(number->front())];
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

/// The element type of the result of what takes both, as PyTorch promotes types: floating before whole before truth
/// values, then tensors with dimensions before those without, then the wider.
const TensorShape* wider(const TensorShape* a, const TensorShape* b) {
  const auto rank = [](const TensorShape& t) {
    const int category = is_floating(t.dtype) ? 2 : t.dtype != DType::boolean ? 1 : 0;
    return std::tuple(category, t.rank() > 0, t.element_bytes);
  };
  return rank(*a) < rank(*b) ? b : a;
}

/// The elements of what several shapes broadcast to; false where they do not.
bool broadcast(std::span<const std::span<const uint64_t>> shapes, Count& elements) {
  size_t rank = 0;
  for (const auto& shape : shapes) rank = std::max(rank, shape.size());
  elements = 1;
  for (size_t back = 0; back < rank; ++back) {
    uint64_t size = 1;
    for (const auto& shape : shapes) {
      if (back >= shape.size() || shape[shape.size() - 1 - back] == 1) continue;
      const uint64_t dim = shape[shape.size() - 1 - back];
      if (size != 1 && size != dim) return false;
      size = dim;
    }
    elements = elements * size;
  }
  return true;
}

// ---- matrix multiplications ------------------------------------------------------------------------------

/// Bytes of an element of a GEMM: of 8 bits, whole numbers are added up in 32, floats written in 16.
uint64_t product_bytes(std::string_view name, const TensorShape& a) {
  if (name == "aten::_int_mm") return 4;
  return is_floating(a.dtype) ? std::max<uint64_t>(a.element_bytes, 2) : a.element_bytes;
}

/// [..., m, k] times [..., k, n], arguments A and B; those before are added to it.
template <size_t A, size_t B>
bool matrix_product(const WorkRow&, std::string_view name, const Arguments& arguments, Work& work) {
  const TensorShape *a = arguments.input(A), *b = arguments.input(B);
  if (!a || !b || a->rank() == 0 || b->rank() == 0 || a->element_bytes == 0 || b->element_bytes == 0) return false;
  const uint64_t m = a->rank() > 1 ? a->last(1) : 1, k = a->last();
  const uint64_t n = b->rank() > 1 ? b->last() : 1, other_k = b->rank() > 1 ? b->last(1) : b->last();
  Count batch;
  const std::array<std::span<const uint64_t>, 2> batches{leading(*a, 2), leading(*b, 2)};
  if (k != other_k || !broadcast(batches, batch)) return false;
  const Count out = batch * m * n;
  work.operations = out * k * 2;
  if (batch == Count(1)) work.product = {m, n, k};
  work.bytes = a->bytes() + b->bytes() + written(arguments, out * product_bytes(name, *a));
  for (size_t i = 0; i < A; ++i) work.bytes = work.bytes + bytes_of(arguments, i);
  work.dtype = a->dtype;
  return true;
}

/// [..., k] times [n, k] turned round.
bool linear(const WorkRow&, std::string_view, const Arguments& arguments, Work& work) {
  const TensorShape *x = arguments.input(0), *w = arguments.input(1);
  if (!x || !w || x->rank() == 0 || w->rank() != 2 || x->last() != w->last() || x->element_bytes == 0) return false;
  const Count out = product(leading(*x, 1)) * (*w)[0];
  work.operations = out * x->last() * 2;
  work.product = {product(leading(*x, 1)).value(), (*w)[0], x->last()};
  work.bytes = x->bytes() + w->bytes() + bytes_of(arguments, 2) + written(arguments, out * x->element_bytes);
  work.dtype = x->dtype;
  return true;
}

/// Each row of [M, k] belongs to one of [G, k, n], each column of [k, N] to one of [G, m, k]; or [m, K] times [K, n] in
/// groups along K, whose ends are argument Ends: G matrices of [m, n].
template <size_t Ends>
bool grouped_product(const WorkRow& row, std::string_view name, const Arguments& arguments, Work& work) {
  const TensorShape *a = arguments.input(0), *b = arguments.input(1), *ends = arguments.input(Ends);
  if (!a || !b || (a->rank() == 3 && b->rank() == 3)) return matrix_product<0, 1>(row, name, arguments, work);
  if (a->rank() < 2 || a->rank() > 3 || b->rank() < 2 || b->rank() > 3) return false;
  if (a->last() != b->last(1) || a->element_bytes == 0 || b->element_bytes == 0) return false;
  const Count one = Count(a->last(1)) * b->last();
  const bool along_k = a->rank() == 2 && b->rank() == 2;
  if (along_k && (!ends || ends->rank() != 1)) return false;
  const Count out = along_k ? one * ends->elements.value() : one;
  work.operations = one * a->last() * 2;
  work.bytes = a->bytes() + b->bytes() + written(arguments, out * product_bytes(name, *a));
  work.dtype = a->dtype;
  return true;
}

// ---- convolution -----------------------------------------------------------------------------------------

/// How many multiply-adds each element of the output takes (of the input, if transposed).
Count weights_of_one(const TensorShape& weight) { return product(std::span(weight.dims).subspan(1)); }

std::optional<Count> convolved(const Arguments& a, const TensorShape& x, const TensorShape& w, size_t stride_at,
                               size_t padding_at, size_t dilation_at) {
  if (const TensorShape* out = a.output(0)) return out->elements;
  const auto stride = a.numbers(stride_at), padding = a.numbers(padding_at), dilation = a.numbers(dilation_at);
  if (!stride || !padding || stride->empty() || padding->empty()) return std::nullopt;
  Count out = Count(x[0]) * w[0];
  const auto at = [](const std::vector<int64_t>& list, size_t i) { return list[std::min(i, list.size() - 1)]; };
  for (size_t d = 2; d < x.rank(); ++d) {
    const int64_t step = at(*stride, d - 2), pad = at(*padding, d - 2);
    const int64_t dilate = dilation && !dilation->empty() ? at(*dilation, d - 2) : 1;
    constexpr int64_t kMost = 1 << 30;
    if (step <= 0 || step > kMost || pad < 0 || pad > kMost || dilate <= 0 || dilate > kMost) return std::nullopt;
    if (x[d] > kMost || w[d] > kMost || w[d] == 0) return std::nullopt;
    const int64_t room = static_cast<int64_t>(x[d]) + 2 * pad - dilate * (static_cast<int64_t>(w[d]) - 1) - 1;
    if (room < 0) return std::nullopt;
    out = out * static_cast<uint64_t>(room / step + 1);
  }
  return out;
}

/// Where the numbers stand among the arguments; kNever: not an argument.
constexpr size_t kNever = SIZE_MAX;
template <size_t Stride, size_t Padding, size_t Dilation, size_t Transposed = kNever>
bool convolve(const WorkRow&, std::string_view name, const Arguments& a, Work& work) {
  const TensorShape *x = a.input(0), *w = a.input(1);
  if (!x || !w || x->rank() < 3 || x->rank() != w->rank() || x->element_bytes == 0) return false;
  const auto turned = a.truths(Transposed);
  const bool transposed = contains(name, "transpose") || (turned && turned->size() == 1 && turned->front());
  std::optional<Count> out;
  if (transposed) {
    if (const TensorShape* y = a.output(0)) out = y->elements;
  } else {
    out = convolved(a, *x, *w, Stride, Padding, Dilation);
    if (!out) return false;
  }
  work.operations = (transposed ? x->elements : *out) * weights_of_one(*w) * 2;
  work.bytes = x->bytes() + w->bytes() + written(a, out.value_or(x->elements) * x->element_bytes);
  work.estimated = transposed && !out;
  work.dtype = x->dtype;
  return true;
}

/// Each of the two large gradients takes what the forward pass took.
template <size_t Dy, size_t X, size_t Transposed>
bool convolution_backward(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *dy = a.input(Dy), *x = a.input(X), *w = a.input(2);
  if (!dy || !x || !w || dy->rank() < 3 || dy->rank() != w->rank() || x->rank() != w->rank()) return false;
  if (dy->element_bytes == 0) return false;
  std::array<bool, 2> wanted{true, true};
  if (const auto mask = a.truths(10); mask && mask->size() == 3) wanted = {(*mask)[0], (*mask)[1]};
  else if (a.output(0) || a.output(1))
    wanted = {a.output(0) && a.output(0)->rank() > 0, a.output(1) && a.output(1)->rank() > 0};
  else work.estimated = true;
  const auto turned = a.truths(Transposed);
  const bool transposed = turned && turned->size() == 1 && turned->front();
  const Count one = (transposed ? x->elements : dy->elements) * weights_of_one(*w) * 2;
  work.operations = one * (uint64_t{wanted[0]} + uint64_t{wanted[1]});
  work.bytes = dy->bytes() + x->bytes() + w->bytes();
  if (wanted[0]) work.bytes = work.bytes + x->full_bytes();
  if (wanted[1]) work.bytes = work.bytes + w->full_bytes();
  work.dtype = dy->dtype;
  return true;
}

/// cudnn_convolution_backward_input(sizes, dy, w, ...); what it writes is the output, or what the sizes say.
bool convolution_backward_input(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *dy = a.input(1), *w = a.input(2);
  if (!dy || !w || dy->rank() < 3 || dy->rank() != w->rank() || dy->element_bytes == 0) return false;
  Count dx = dy->elements;  // of a stride of 1 and as many channels; said to be an estimate
  if (const TensorShape* out = a.output(0)) dx = out->elements;
  else if (const auto sizes = a.numbers(0)) {
    dx = 1;
    for (const int64_t size : *sizes) dx = dx * static_cast<uint64_t>(std::max<int64_t>(size, 0));
  } else {
    work.estimated = true;
  }
  work.operations = dy->elements * weights_of_one(*w) * 2;
  work.bytes = dy->bytes() + w->bytes() + dx * dy->element_bytes;
  work.dtype = dy->dtype;
  return true;
}

/// cudnn_convolution_backward_weight(sizes, dy, x, ...): the weight's shape is the output's, or what the sizes say.
bool convolution_backward_weight(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *dy = a.input(1), *x = a.input(2);
  if (!dy || !x || dy->rank() < 3 || dy->rank() != x->rank() || dy->element_bytes == 0) return false;
  TensorShape weight;
  if (const TensorShape* out = a.output(0)) weight = *out;
  else if (const auto sizes = a.numbers(0)) {
    for (const int64_t size : *sizes) weight.dims.push_back(static_cast<uint64_t>(std::max<int64_t>(size, 0)));
    weight.elements = product(weight.dims);
  }
  if (weight.rank() != dy->rank()) return false;
  work.operations = dy->elements * weights_of_one(weight) * 2;
  work.bytes = dy->bytes() + x->bytes() + weight.elements * dy->element_bytes;
  work.dtype = dy->dtype;
  return true;
}

// ---- attention -------------------------------------------------------------------------------------------

enum class Layout : uint8_t { heads_first, tokens_first };  // [B, H, S, D], [B, S, H, D] or [tokens, H, D]

/// softmax(q k^T) v: all pairs of positions, also where a mask or a causal kernel leaves half of them out. Q is the
/// place of the query, key and value follow; Lengths that of the sums of sequence lengths of packed tokens.
template <Layout L, size_t Q, size_t Lengths, bool Backward>
bool attend(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *q = a.input(Q), *k = a.input(Q + 1), *v = a.input(Q + 2);
  if (!q || !k || !v || q->rank() < 3 || q->rank() > 4) return false;
  if (q->rank() != k->rank() || k->rank() != v->rank()) return false;
  if (q->element_bytes == 0 || q->last() != k->last()) return false;
  const bool packed = L == Layout::tokens_first && q->rank() == 3;
  const size_t s = L == Layout::heads_first ? q->rank() - 2 : q->rank() - 3;
  const TensorShape* lengths = Lengths == kNever ? nullptr : a.input(Lengths);
  const bool sequences = lengths && lengths->rank() == 1 && lengths->elements.value() > 1;
  if (packed && !sequences) return false;
  Count pairs = q->elements / std::max<uint64_t>(q->last(), 1) * (*k)[s];  // B H Sq Sk
  if (sequences) {                                                         // of equal length, which none recording says
    const uint64_t count = lengths->elements.value() - 1;
    pairs = pairs / count;
    work.estimated = count > 1;
  }
  const Count out = q->elements / std::max<uint64_t>(q->last(), 1) * v->last();
  const Count inputs = q->bytes() + k->bytes() + v->bytes(), output = out * q->element_bytes;
  const Count gradients = q->full_bytes() + k->full_bytes() + v->full_bytes();
  work.operations =
      Backward ? pairs * (Count(q->last()) * 3 + Count(v->last()) * 2) * 2 : pairs * (Count(q->last()) + v->last()) * 2;
  work.bytes = Backward ? inputs + gradients + output * 2 : inputs + output;
  work.dtype = q->dtype;
  return true;
}

// ---- elementwise and the like ----------------------------------------------------------------------------

/// The first `reads` tensors broadcast to the output; one more is the output itself.
template <Output O>
bool pointwise(const WorkRow& row, std::string_view name, const Arguments& a, Work& work) {
  const std::vector<const TensorShape*> in = tensors_of(a, row.reads);
  if (in.empty()) return false;
  const TensorShape* type = in[0];
  std::vector<std::span<const uint64_t>> shapes;
  for (const TensorShape* t : in) {
    if (t->element_bytes == 0) return false;
    type = wider(type, t);
    shapes.emplace_back(t->dims);
    work.bytes = work.bytes + t->bytes();
  }
  if (in_place(name)) type = in[0];
  Count out = in[0]->elements;
  if (!in_place(name) && !broadcast(shapes, out)) return false;
  work.operations = out * row.per_element;
  const Output output = in_place(name) ? Output::same : O;
  work.bytes = work.bytes + written(a, out * output_bytes(output, *type));
  work.dtype = type->dtype;
  return true;
}

/// x is read; the output is as large, and a byte for each element says which ones stay.
bool dropout(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(0);
  if (!x || x->element_bytes == 0) return false;
  work.operations = x->elements * row.per_element;
  work.bytes = x->bytes() + written(a, x->elements * (x->element_bytes + 1));
  work.dtype = x->dtype;
  return true;
}

/// Forward (x, dimension, whether half becomes float); backward (dy, output, dimension, type of dx).
template <bool Backward>
bool softmax_of(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *x = a.input(0), *y = Backward ? a.input(1) : x;
  if (!x || !y || x->element_bytes == 0) return false;
  uint64_t out = x->element_bytes;
  if (Backward) {
    out = bytes_of_type(a, 3).value_or(out);
  } else if (const auto floats = a.truths(2); floats && floats->size() == 1 && floats->front()) {
    out = 4;
  }
  work.operations = x->elements * row.per_element;
  work.bytes = x->bytes() + (Backward ? y->bytes() : Count(0)) + written(a, x->elements * out);
  work.dtype = x->dtype;
  return true;
}

/// All tensors are read, the output is like argument Like.
template <size_t Like>
bool like(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(Like);
  if (!x || x->element_bytes == 0) return false;
  for (const TensorShape* t : tensors_of(a)) work.bytes = work.bytes + t->bytes();
  work.operations = x->elements * row.per_element;
  work.bytes = work.bytes + written(a, x->full_bytes());
  work.dtype = x->dtype;
  return true;
}

/// Batch normalisation normalises by what it was given where it does not train: two operations an element.
bool batch_norm(const WorkRow& row, std::string_view name, const Arguments& a, Work& work) {
  if (!like<0>(row, name, a, work)) return false;
  if (const auto training = a.truths(5); training && training->size() == 1 && !training->front())
    work.operations = a.input(0)->elements * 2;
  return true;
}

/// Along a dimension, max and min also return where the values were.
bool extremes_with_places(std::string_view name) { return name == "aten::max" || name == "aten::min"; }
bool two_results(std::string_view name) { return name.ends_with("_mean") || name == "aten::aminmax"; }

/// The input is read; the output is what the recording or the list of dimensions (argument Dims) leaves of it.
template <size_t Dims, Output O = Output::same>
bool reduce(const WorkRow& row, std::string_view name, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(0);
  if (!x || x->element_bytes == 0) return false;
  if (a.input(1)) return pointwise<O>(row, name, a, work);  // max(a, b)
  Count out = 1;
  if (const auto dims = a.numbers(Dims); dims && !dims->empty()) {
    std::vector<uint64_t> left = x->dims;
    for (const int64_t dim : *dims) {
      const int64_t at = dim < 0 ? dim + static_cast<int64_t>(x->rank()) : dim;
      if (at >= 0 && at < static_cast<int64_t>(x->rank())) left[static_cast<size_t>(at)] = 1;
    }
    out = product(left);
  }
  uint64_t one = output_bytes(O, *x);
  if (extremes_with_places(name) && a.numbers(Dims)) one += 8;
  if (two_results(name)) one *= 2;
  work.operations = x->elements * row.per_element;
  work.bytes = x->bytes() + written(a, out * one);
  work.dtype = x->dtype;
  return true;
}

/// The first argument, a list or a tensor, is read and written elsewhere.
bool move_first(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const std::span<const TensorShape> tensors = a.list(0);
  if (tensors.empty() || tensors[0].element_bytes == 0) return false;
  work.bytes = bytes_of(a, 0) + full_bytes_of(a, 0);
  work.dtype = tensors[0].dtype;
  return true;
}

/// The size of the dimension that the first of the numbers from argument `at` on names; nothing if it has none.
std::optional<uint64_t> size_along(const Arguments& a, const TensorShape& x, std::initializer_list<size_t> at) {
  int64_t dim = -1;
  for (const size_t i : at)
    if (const auto number = a.numbers(i); number && number->size() == 1) {
      dim = number->front();
      break;
    }
  const auto rank = static_cast<int64_t>(x.rank());
  if (rank == 0) return 1;
  if (dim < 0) dim += rank;
  return dim >= 0 && dim < rank ? std::optional(x[static_cast<size_t>(dim)]) : std::nullopt;
}

/// (x, dimension, descending) or (x, stable, dimension, descending): values and indices in order.
bool sort(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(0);
  if (!x || x->element_bytes == 0) return false;
  const auto size = size_along(a, *x, {1, 2});
  if (!size) return false;
  work.operations = x->elements * static_cast<uint64_t>(*size > 1 ? std::bit_width(*size - 1) : 0);
  work.bytes = x->bytes() + written(a, x->elements * (x->element_bytes + 8));
  work.dtype = x->dtype;
  return true;
}

/// (x, how many, dimension, ...): the largest, with their indices. A comparison with each element.
bool topk(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(0);
  if (!x || x->element_bytes == 0) return false;
  const auto size = size_along(a, *x, {2});
  const auto number = a.numbers(1);
  if (!size) return false;
  Count out = 0;
  if (number && number->size() == 1 && number->front() >= 0 && *size > 0)
    out = Count(static_cast<uint64_t>(number->front())) * (x->elements / *size);
  else if (a.outputs.empty()) return false;
  work.operations = x->elements * row.per_element;
  work.bytes = x->bytes() + written(a, out * (x->element_bytes + 8));
  work.dtype = x->dtype;
  return true;
}

/// Lists of tensors: `reads` lists are read. An optimizer writes all but the second (the gradients), what is
/// elementwise the first, a reduction none.
bool foreach (const WorkRow& row, std::string_view, const Arguments& a, Work & work) {
  Count first = 0;
  size_t seen = 0;
  const bool optimizer = row.kind == WorkKind::optimizer;
  for (size_t i = 0; i < a.inputs.size() && (optimizer ? i : seen) < row.reads; ++i) {
    if (!a.inputs[i].is_list) continue;
    if (seen == 0 && a.inputs[i].tensors.empty()) return false;
    const bool writes = optimizer ? i != 1 : row.kind == WorkKind::elementwise && seen == 0;
    for (const TensorShape& t : a.inputs[i].tensors) {
      if (t.element_bytes == 0) return false;
      if (seen == 0) first = first + t.elements, work.dtype = t.dtype;
      work.bytes = work.bytes + t.bytes() * (writes ? 2 : 1);
    }
    ++seen;
  }
  work.operations = first * row.per_element;
  return seen > 0;
}

// ---- what only moves -------------------------------------------------------------------------------------

/// copy_(to, from), of tensors or lists of them.
bool copy_into(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  for (const size_t side : {0, 1}) {
    if (a.list(side).empty() || a.list(side)[0].element_bytes == 0) return false;
    work.bytes = work.bytes + bytes_of(a, side);
  }
  work.dtype = a.list(0)[0].dtype;
  return true;
}

/// Floats to bytes or back; which side is given, its element type tells.
bool quantize(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(0);
  if (!x || x->element_bytes == 0) return false;
  work.bytes = x->elements * (x->element_bytes == 1 ? 5 : x->element_bytes + 1);
  work.dtype = x->dtype;
  return true;
}

/// Lists or tensors are read and written elsewhere, all of them.
bool move_all(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  Count read = 0, moved = 0;
  for (const Argument& argument : a.inputs)
    for (const TensorShape& t : argument.tensors) {
      if (t.element_bytes == 0) return false;
      read = read + t.bytes();
      moved = moved + t.full_bytes();
      work.dtype = t.dtype;
    }
  work.bytes = read + written(a, moved);
  return a.any_tensor();
}

/// The first tensor is written, or the output where there is none.
bool fill_tensor(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(0);
  if (!x) x = a.output(0);
  if (!x || x->element_bytes == 0) return false;
  work.operations = x->elements * row.per_element;
  work.bytes = x->bytes();
  work.dtype = x->dtype;
  return true;
}

/// The output is written, whatever the inputs are.
bool fill_output(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* out = a.output(0);
  if (!out || out->element_bytes == 0) return false;
  work.bytes = out->full_bytes();
  work.dtype = out->dtype;
  return true;
}

/// (table [v, d], indices): rows are read and written.
bool embedding(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *table = a.input(0), *index = a.input(1);
  if (!table || !index || table->rank() == 0 || table->element_bytes == 0) return false;
  const Count rows = index->elements * product(std::span(table->dims).subspan(1)) * table->element_bytes;
  work.bytes = index->bytes() + std::min(rows, table->bytes()) + written(a, rows);
  work.dtype = table->dtype;
  return true;
}

/// (table [v, d], indices, offsets): rows are read and added up.
bool embedding_bag(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *table = a.input(0), *index = a.input(1), *offsets = a.input(2);
  if (!table || !index || !offsets || table->rank() != 2 || table->element_bytes == 0) return false;
  const Count values = index->elements * table->last();
  work.operations = values;
  work.bytes = index->bytes() + offsets->bytes() + std::min(values * table->element_bytes, table->bytes()) +
               written(a, offsets->elements * table->last() * table->element_bytes);
  work.dtype = table->dtype;
  return true;
}

/// (gradient [..., d], indices, ...): rows are read, and added to rows of the table's gradient.
bool embedding_backward(const WorkRow&, std::string_view name, const Arguments& a, Work& work) {
  const TensorShape *dy = a.input(0), *index = a.input(1);
  if (!dy || !index || dy->element_bytes == 0) return false;
  const Count rows = dy->rank() > 0 ? index->elements * dy->last() * dy->element_bytes : dy->bytes();
  work.operations = dy->elements;
  work.bytes = part_or_whole(name, a, index->bytes() + dy->bytes() + rows * 2, {0, 1}, rows);
  work.dtype = dy->dtype;
  return true;
}

/// index_select(x, dimension, index).
bool index_select(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *x = a.input(0), *index = a.input(2);
  if (!x || !index || x->rank() == 0 || x->element_bytes == 0) return false;
  Count out = 0;
  if (const TensorShape* y = a.output(0)) out = y->elements;
  else {
    const auto dims = a.numbers(1);
    if (!dims || dims->size() != 1) return false;
    const int64_t at = (*dims)[0] < 0 ? (*dims)[0] + static_cast<int64_t>(x->rank()) : (*dims)[0];
    if (at < 0 || at >= static_cast<int64_t>(x->rank())) return false;
    std::vector<uint64_t> left = x->dims;
    left[static_cast<size_t>(at)] = 1;
    out = product(left) * index->elements;
  }
  const Count selected = out * x->element_bytes;
  work.bytes = index->bytes() + std::min(selected, x->bytes()) + selected;
  work.dtype = x->dtype;
  return true;
}

/// index(x, [indices]): with the output recorded.
bool indexed(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *x = a.input(0), *out = a.output(0);
  if (!x || !out || out->element_bytes == 0) return false;
  work.bytes = bytes_of(a, 1) + std::min(out->full_bytes(), x->bytes()) + out->full_bytes();
  work.dtype = x->dtype;
  return true;
}

/// gather(x, dimension, index).
bool gather(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *x = a.input(0), *index = a.input(2);
  if (!x || !index || x->element_bytes == 0) return false;
  const Count gathered = index->elements * x->element_bytes;
  work.bytes = index->bytes() + std::min(gathered, x->bytes()) + gathered;
  work.dtype = x->dtype;
  return true;
}

/// scatter_(x, dimension, index, source): `per_element` 0 writes, 1 adds to the old values.
bool scatter(const WorkRow& row, std::string_view name, const Arguments& a, Work& work) {
  const TensorShape *x = a.input(0), *index = a.input(2), *source = a.input(3);
  if (!x || !index || x->element_bytes == 0) return false;
  const Count moved = source && source->rank() > 0 ? source->elements : index->elements;
  work.operations = moved * row.per_element;
  const Count part = index->bytes() + moved * x->element_bytes * (2 + uint64_t{row.per_element});
  work.bytes = part_or_whole(name, a, part, {0, 2, 3}, x->full_bytes());
  work.dtype = x->dtype;
  return true;
}

/// index_put_(x, [indices], values, add): values are read, and written or added.
bool index_put(const WorkRow&, std::string_view name, const Arguments& a, Work& work) {
  const TensorShape *x = a.input(0), *values = a.input(2);
  if (!x || !values || x->element_bytes == 0) return false;
  const auto adds = a.truths(3);
  const bool add = adds && adds->size() == 1 && adds->front();
  work.operations = add ? values->elements : Count(0);
  const Count part = bytes_of(a, 1) + values->elements * x->element_bytes * (add ? 3 : 2);
  work.bytes = part_or_whole(name, a, part, {0, 1, 2}, x->full_bytes());
  work.dtype = x->dtype;
  return true;
}

// ---- losses ----------------------------------------------------------------------------------------------

/// (x, target, weight, ...): one value of x for each target is read, and where there are weights one of these. Without
/// a reduction each loss is written, else their sum and the sum of the weights.
bool nll_loss(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *x = a.input(0), *target = a.input(1), *weight = a.input(2);
  if (!x || !target || x->element_bytes == 0 || target->element_bytes == 0) return false;
  const auto reduction = a.numbers(3);
  const bool each = reduction && reduction->size() == 1 && reduction->front() == 0;
  const Count losses = each ? target->elements + 1 : Count(2);
  work.operations = target->elements * row.per_element;
  work.bytes =
      target->bytes() + target->elements * x->element_bytes * (weight ? 2 : 1) + written(a, losses * x->element_bytes);
  work.dtype = x->dtype;
  return true;
}

/// (dy, x, target, weight, ...): dx has one value for each target. In recordings, another operator fills in zeros.
bool nll_loss_backward(const WorkRow&, std::string_view name, const Arguments& a, Work& work) {
  const TensorShape *dy = a.input(0), *x = a.input(1), *target = a.input(2), *weight = a.input(3);
  if (!dy || !x || !target || x->element_bytes == 0 || target->element_bytes == 0) return false;
  const Count part = dy->bytes() + target->bytes() + target->elements * x->element_bytes * (weight ? 2 : 1);
  work.bytes = part_or_whole(name, a, part, {0, 2, 3}, x->full_bytes());
  work.dtype = x->dtype;
  return true;
}

/// Forward (x, target, weight, ...): a loss for each element; another operator reduces them. Backward (dy, x, target,
/// weight, ...): dx, which may also be an argument.
template <bool Backward>
bool elementwise_loss(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(Backward ? 1 : 0);
  if (!x || x->element_bytes == 0) return false;
  for (size_t i = 0; i < (Backward ? 4 : 3); ++i) work.bytes = work.bytes + bytes_of(a, i);
  work.operations = x->elements * row.per_element;
  work.bytes = work.bytes + x->full_bytes();
  work.dtype = x->dtype;
  return true;
}

// ---- windows ---------------------------------------------------------------------------------------------

/// (x, window, stride, padding, dilation): each element of the output looks at a window.
template <bool Indices>
bool pool(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(0);
  const auto window = a.numbers(1);
  if (!x || x->rank() < 3 || x->element_bytes == 0 || !window || window->empty()) return false;
  TensorShape kernel;  // as a convolution of each channel
  kernel.dims = {(*x)[1], 1};
  Count size = 1;
  for (size_t d = 2; d < x->rank(); ++d) {
    kernel.dims.push_back(static_cast<uint64_t>(std::max<int64_t>((*window)[std::min(d - 2, window->size() - 1)], 0)));
    size = size * kernel.dims.back();
  }
  const auto steps = a.numbers(2);
  const auto out = convolved(a, *x, kernel, steps && !steps->empty() ? 2 : 1, 3, Indices ? 4 : kNever);
  if (!out) return false;
  work.operations = *out * size;
  work.bytes = x->bytes() + written(a, *out * (x->element_bytes + (Indices ? 8 : 0)));
  work.dtype = x->dtype;
  return true;
}

/// (dy, x, ...): the gradient is as large as x.
bool pool_backward(const WorkRow&, std::string_view, const Arguments& a, Work& work) {
  const TensorShape *dy = a.input(0), *x = a.input(1);
  if (!dy || !x || dy->element_bytes == 0) return false;
  Count indices = 0;
  for (size_t i = 2; i < a.inputs.size(); ++i) indices = indices + bytes_of(a, i);
  work.operations = dy->elements;
  work.bytes = dy->bytes() + indices + x->full_bytes();
  work.dtype = dy->dtype;
  return true;
}

/// (x, sizes, ...): the output has as many channels, of these sizes.
bool resized(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  const TensorShape* x = a.input(0);
  if (!x || x->rank() < 3 || x->element_bytes == 0) return false;
  Count out = Count((*x)[0]) * (*x)[1];
  if (const TensorShape* y = a.output(0)) out = y->elements;
  else if (const auto sizes = a.numbers(1); sizes && !sizes->empty())
    for (const int64_t size : *sizes) out = out * static_cast<uint64_t>(std::max<int64_t>(size, 0));
  else return false;
  work.operations = std::max(out, x->elements) * row.per_element;
  work.bytes = x->bytes() + out * x->element_bytes;
  work.dtype = x->dtype;
  return true;
}

// ---- others ----------------------------------------------------------------------------------------------

/// Inductor's pointwise and reducing kernels: pointers, then the sizes of the index space. Each pointer is touched
/// once for each index at most.
bool triton(const WorkRow& row, std::string_view, const Arguments& a, Work& work) {
  Count indices = 1;
  bool said = false;
  for (size_t i = a.inputs.size(); i-- > 0 && !a.input(i);)
    if (const auto size = a.numbers(i); size && size->size() == 1 && (*size)[0] > 0) {
      indices = indices * static_cast<uint64_t>((*size)[0]);
      said = true;
    }
  if (!said) return false;
  const TensorShape* largest = nullptr;
  for (const TensorShape* t : tensors_of(a)) {
    if (t->element_bytes == 0) return false;
    work.bytes = work.bytes + std::min(t->elements, indices) * t->element_bytes;
    if (!largest || largest->elements < t->elements) largest = t;
  }
  if (!largest) return false;
  work.operations = std::min(largest->elements, indices) * row.per_element;
  work.dtype = largest->dtype;
  return true;
}

/// fbgemm's embedding lookup: rows of many tables, one after the other in one tensor. total_D (7), the sum of the
/// tables' row lengths, indices (11) and offsets (12, tables times batch + 1); D_offsets (6, tables + 1). Where total_D
/// is not recorded, the optimizer's state of a number for each row (20) tells how long rows are.
bool fbgemm_lookup(const WorkRow&, std::string_view name, const Arguments& a, Work& work) {
  const TensorShape *index = a.input(11), *offsets = a.input(12), *d_offsets = a.input(6);
  const TensorShape* weights = nullptr;
  for (size_t i = 0; i < 4; ++i)
    if (const TensorShape* t = a.input(i); t && t->element_bytes > 0 && (!weights || weights->elements < t->elements))
      weights = t;
  const TensorShape* rows = contains(name, "rowwise") ? a.input(20) : nullptr;
  const auto total = a.numbers(7);
  if (!index || !offsets || !d_offsets || !weights || d_offsets->elements.value() < 2) return false;
  const uint64_t tables = d_offsets->elements.value() - 1;
  const uint64_t bags = offsets->elements.value() > 0 ? offsets->elements.value() - 1 : 0;
  // Rows of average length: which table an index belongs to is not recorded.
  Count length = 0;
  if (total && total->size() == 1 && (*total)[0] > 0) length = Count(static_cast<uint64_t>((*total)[0])) / tables;
  else if (rows && rows->elements.value() > 0) length = weights->elements / rows->elements.value();
  else return false;
  const Count values = index->elements * length, out = Count(bags) * length;
  work.estimated = tables > 1;
  work.operations = values;
  work.bytes = index->bytes() + offsets->bytes() + values * weights->element_bytes + out * 4;
  work.dtype = weights->dtype;
  return true;
}

using enum WorkKind;
constexpr auto kSdpa = Layout::heads_first;
constexpr auto kFlash = Layout::tokens_first;

constexpr std::array kRows{
    // clang-format off
    WorkRow{matrix, "aten::mm aten::bmm aten::matmul aten::mv aten::dot aten::vdot aten::_int_mm aten::_scaled_mm "
                    "aten::__rmatmul__",
            matrix_product<0, 1>, "2 m n k per matrix multiplication", "a, b, output"},
    WorkRow{matrix, "aten::addmm aten::addmm_ aten::baddbmm aten::baddbmm_ aten::addbmm aten::addbmm_ aten::addmv "
                    "aten::addmv_ aten::_addmm_activation",
            matrix_product<1, 2>, "2 m n k per multiplication; the addition counts as 0", "addend, a, b, output"},
    WorkRow{matrix, "aten::linear aten::mkldnn_linear aten::_mkldnn_linear vllm::rocm_unquantized_gemm",
            linear, "2 m n k", "x, weight, bias, output"},
    WorkRow{matrix, "aten::_grouped_mm", grouped_product<2>,
            "2 m n k; each row of a, column of b or part of k belongs to one group", "a, b, output"},
    WorkRow{matrix, "aten::_scaled_grouped_mm", grouped_product<4>, "as above", "a, b, output"},

    WorkRow{convolution, "aten::convolution aten::_convolution aten::convolution_overrideable",
            convolve<3, 4, 5, 6>, "2 n (weights per output channel); transposed: per input element",
            "x, weight, output"},
    WorkRow{convolution, "aten::cudnn_convolution aten::cudnn_convolution_transpose",
            convolve<3, 2, 4>, "as aten::convolution", "x, weight, output"},
    WorkRow{convolution, "aten::miopen_convolution aten::miopen_depthwise_convolution aten::mkldnn_convolution "
                         "aten::miopen_convolution_transpose",
            convolve<4, 3, 5>, "as aten::convolution", "x, weight, output"},
    WorkRow{convolution, "aten::thnn_conv2d aten::_slow_conv2d_forward aten::slow_conv3d_forward "
                         "aten::_conv_depthwise2d aten::conv_depthwise3d",
            convolve<4, 5, 6>, "as aten::convolution", "x, weight, output"},
    WorkRow{convolution, "aten::cudnn_convolution_relu aten::miopen_convolution_relu",
            convolve<3, 4, 5>, "as aten::convolution", "x, weight, output"},
    WorkRow{convolution, "aten::convolution_backward aten::convolution_backward_overrideable",
            convolution_backward<0, 1, 7>,
            "the forward pass's for each of the gradients of x and weight in output_mask", "dy, x, weight, gradients"},
    WorkRow{convolution, "aten::cudnn_convolution_backward aten::miopen_convolution_backward",
            convolution_backward<1, 0, kNever>, "as above", "dy, x, weight, gradients"},
    WorkRow{convolution, "aten::cudnn_convolution_backward_input aten::miopen_convolution_backward_input "
                         "aten::cudnn_convolution_transpose_backward_input",
            convolution_backward_input, "the forward pass's", "dy, weight, dx"},
    WorkRow{convolution, "aten::cudnn_convolution_backward_weight aten::miopen_convolution_backward_weight "
                         "aten::cudnn_convolution_transpose_backward_weight",
            convolution_backward_weight, "the forward pass's", "dy, x, dw"},

    WorkRow{attention, "aten::_scaled_dot_product_flash_attention aten::_scaled_dot_product_efficient_attention "
                       "aten::_scaled_dot_product_cudnn_attention aten::_scaled_dot_product_flash_attention_for_cpu "
                       "aten::_scaled_dot_product_fused_attention_overrideable",
            attend<kSdpa, 0, kNever, false>, "2 B H Sq Sk (Dqk + Dv), also if causal", "q, k, v, output"},
    WorkRow{attention, "aten::_scaled_dot_product_flash_attention_backward "
                       "aten::_scaled_dot_product_efficient_attention_backward "
                       "aten::_scaled_dot_product_cudnn_attention_backward "
                       "aten::_scaled_dot_product_flash_attention_for_cpu_backward "
                       "aten::_scaled_dot_product_fused_attention_overrideable_backward",
            attend<kSdpa, 1, kNever, true>, "2 B H Sq Sk (3 Dqk + 2 Dv), also if causal",
            "q, k, v and their gradients, output, its gradient"},
    WorkRow{attention, "aten::_flash_attention_forward flash_attn::_flash_attn_varlen_forward "
                       "FlashAttnVarlenFunc aiter::_flash_attn_varlen_forward",
            attend<kFlash, 0, 3, false>, "as above; packed sequences count as of equal length", "q, k, v, output"},
    WorkRow{attention, "flash_attn::_flash_attn_forward FlashAttnFunc aiter::_flash_attn_forward "
                       "flash_attn_3::fwd xformers::efficient_attention_forward_cutlass xformers_flash::flash_fwd",
            attend<kFlash, 0, kNever, false>, "as above", "q, k, v, output"},
    WorkRow{attention, "aten::_efficient_attention_forward",
            attend<kFlash, 0, 4, false>, "as above", "q, k, v, output"},
    WorkRow{attention, "aten::_flash_attention_backward",
            attend<kFlash, 1, 6, true>, "as above", "q, k, v and their gradients, output, its gradient"},
    WorkRow{attention, "aten::_efficient_attention_backward",
            attend<kFlash, 1, 6, true>, "as above", "q, k, v and their gradients, output, its gradient"},
    WorkRow{attention, "flash_attn::_flash_attn_varlen_backward aiter::_flash_attn_varlen_backward",
            attend<kFlash, 1, 9, true>, "as above", "q, k, v and their gradients, output, its gradient"},
    WorkRow{attention, "flash_attn::_flash_attn_backward aiter::_flash_attn_backward xformers_flash::flash_bwd "
                       "xformers::efficient_attention_backward_cutlass",
            attend<kFlash, 1, kNever, true>, "as above", "q, k, v and their gradients, output, its gradient"},

    WorkRow{normalization, "aten::native_batch_norm aten::_native_batch_norm_legit aten::cudnn_batch_norm "
                           "aten::miopen_batch_norm aten::_native_batch_norm_legit_functional "
                           "aten::_batch_norm_with_update",
            batch_norm, "8 n; 2 n where it does not train", "all inputs, output", 8},
    WorkRow{normalization, "aten::native_layer_norm aten::native_group_norm aten::batch_norm_elemt",
            like<0>, "8 n", "all inputs, output", 8},
    WorkRow{normalization, "aten::native_batch_norm_backward aten::cudnn_batch_norm_backward "
                           "aten::miopen_batch_norm_backward aten::native_layer_norm_backward "
                           "aten::native_group_norm_backward aten::batch_norm_backward",
            like<0>, "10 n", "all inputs, dx", 10},
    WorkRow{normalization, "aten::_fused_rms_norm", like<0>, "4 n", "all inputs, output", 4},
    WorkRow{normalization, "aten::_fused_rms_norm_backward", like<0>, "8 n", "all inputs, dx", 8},
    WorkRow{normalization, "aten::batch_norm_stats", reduce<kNever>, "3 n", "x", 3},

    WorkRow{softmax, "aten::_softmax aten::_log_softmax aten::_safe_softmax",
            softmax_of<false>, "5 n", "x, output", 5},
    WorkRow{softmax, "aten::_softmax_backward_data aten::_log_softmax_backward_data",
            softmax_of<true>, "4 n", "dy, output, dx", 4},

    WorkRow{elementwise, "aten::neg aten::neg_ aten::abs aten::abs_ aten::exp_ aten::log_ aten::sqrt_ aten::rsqrt_ "
                         "aten::tanh_ aten::sigmoid_ aten::relu aten::relu_ aten::silu aten::silu_ aten::gelu "
                         "aten::mish aten::hardswish aten::hardswish_ aten::hardsigmoid aten::hardtanh "
                         "aten::hardtanh_ aten::leaky_relu aten::leaky_relu_ aten::elu aten::elu_ aten::softplus "
                         "aten::floor aten::ceil aten::round aten::trunc aten::sign aten::sgn aten::reciprocal_ "
                         "aten::square aten::clamp_min aten::clamp_min_ aten::clamp_max aten::clamp_max_ "
                         "aten::threshold aten::threshold_ aten::nan_to_num aten::nan_to_num_ aten::bitwise_not "
                         "aten::cumsum_ aten::_conj_physical",
            pointwise<Output::same>, "n", "x, output", 1, 1},
    WorkRow{elementwise, "aten::exp aten::exp2 aten::expm1 aten::log aten::log2 aten::log10 aten::log1p aten::sqrt "
                         "aten::rsqrt aten::sin aten::cos aten::tan aten::tanh aten::sigmoid aten::erf aten::erfinv "
                         "aten::reciprocal aten::logit aten::acos aten::asin aten::atan aten::sinh aten::cosh",
            pointwise<Output::floating>, "n", "x, output: floats of whole numbers", 1, 1},
    WorkRow{elementwise, "aten::cumsum aten::cumprod",
            pointwise<Output::whole>, "n", "x, output: 64 bits of whole numbers", 1, 1},
    WorkRow{elementwise, "aten::glu", move_all, "none", "x, output"},
    WorkRow{elementwise, "aten::add aten::add_ aten::sub aten::sub_ aten::rsub aten::mul aten::mul_ aten::div "
                         "aten::div_ aten::pow aten::pow_ aten::remainder aten::remainder_ aten::fmod aten::atan2 "
                         "aten::maximum aten::minimum aten::fmax aten::fmin aten::floor_divide aten::bitwise_and "
                         "aten::bitwise_and_ aten::bitwise_or aten::bitwise_or_ aten::bitwise_xor "
                         "aten::masked_fill aten::masked_fill_ aten::__and__ aten::__or__ aten::__lshift__ "
                         "aten::__rshift__ torch::distributed::reducer::mul_out aten::copysign aten::hypot "
                         "aten::threshold_backward aten::gelu_backward aten::silu_backward aten::tanh_backward "
                         "aten::sigmoid_backward aten::hardtanh_backward aten::hardswish_backward "
                         "aten::leaky_relu_backward aten::elu_backward aten::softplus_backward aten::logit_backward "
                         "aten::hardsigmoid_backward aten::native_dropout_backward aten::prelu aten::_prelu_kernel",
            pointwise<Output::same>, "n", "inputs, output", 1, 2},
    WorkRow{elementwise, "aten::clamp aten::clamp_ aten::where aten::addcmul aten::addcmul_ aten::addcdiv "
                         "aten::addcdiv_ aten::lerp aten::lerp_",
            pointwise<Output::same>, "2 n", "inputs, output", 2, 3},
    WorkRow{elementwise, "aten::eq aten::ne aten::lt aten::le aten::gt aten::ge aten::eq_ aten::ne_ aten::lt_ "
                         "aten::le_ aten::gt_ aten::ge_ aten::logical_and aten::logical_or aten::logical_xor "
                         "aten::logical_and_ aten::logical_or_",
            pointwise<Output::truth>, "n", "inputs, a byte for each n", 1, 2},
    WorkRow{elementwise, "aten::isnan aten::isinf aten::isfinite aten::logical_not aten::logical_not_ aten::signbit",
            pointwise<Output::truth>, "n", "x, a byte for each n", 1, 1},
    WorkRow{elementwise, "aten::_transform_bias_rescale_qkv", like<0>, "2 n", "inputs, output", 2},
    WorkRow{elementwise, "aten::_foreach_add aten::_foreach_add_ aten::_foreach_sub aten::_foreach_sub_ "
                         "aten::_foreach_mul aten::_foreach_mul_ aten::_foreach_div aten::_foreach_div_ "
                         "aten::_foreach_sqrt aten::_foreach_sqrt_ aten::_foreach_neg aten::_foreach_neg_ "
                         "aten::_foreach_reciprocal_ aten::_foreach_maximum_ aten::_foreach_pow_ "
                         "aten::_foreach_lerp_ aten::_foreach_addcmul_ aten::_foreach_addcdiv_ "
                         "aten::_foreach_clamp_max_ aten::_foreach_clamp_min_ "
                         "aten::_amp_foreach_non_finite_check_and_unscale_",
            foreach, "n", "lists, the first one written", 1, 3},

    WorkRow{reduction, "aten::mean aten::max aten::min aten::amax aten::amin aten::logsumexp aten::aminmax",
            reduce<1>, "elements of the input", "x, output; of max and min also indices", 1, 2},
    WorkRow{reduction, "aten::sum aten::prod aten::nansum",
            reduce<1, Output::whole>, "elements of the input", "x, output: 64 bits of whole numbers", 1, 2},
    WorkRow{reduction, "aten::argmax aten::argmin aten::count_nonzero",
            reduce<1, Output::index>, "elements of the input", "x, indices", 1, 2},
    WorkRow{reduction, "aten::any aten::all",
            reduce<1, Output::truth>, "elements of the input", "x, a byte for each result", 1, 2},
    WorkRow{reduction, "aten::norm aten::linalg_vector_norm", reduce<2>, "2 for each element of the input", "x, output",
            2, 2},
    WorkRow{reduction, "aten::var aten::std aten::var_mean aten::std_mean",
            reduce<1>, "3 for each element of the input", "x, output", 3, 2},
    WorkRow{reduction, "aten::_foreach_norm", foreach, "2 for each element", "all inputs", 2, 1},

    WorkRow{reduction, "aten::sort",
            sort, "n log2(length of the dimension), rounded up",
            "x, output, indices"},
    WorkRow{reduction, "aten::topk", topk, "elements of the input", "x, output, indices", 1},

    WorkRow{pooling, "aten::max_pool2d_with_indices aten::max_pool3d_with_indices",
            pool<true>, "n times the window", "x, output, indices"},
    WorkRow{pooling, "aten::avg_pool1d aten::avg_pool2d aten::avg_pool3d aten::max_pool2d",
            pool<false>, "n times the window", "x, output"},
    WorkRow{pooling, "aten::max_pool2d_with_indices_backward aten::max_pool3d_with_indices_backward "
                     "aten::avg_pool2d_backward aten::avg_pool3d_backward aten::_adaptive_avg_pool2d_backward "
                     "aten::adaptive_max_pool2d_backward",
            pool_backward, "elements of dy", "dy, indices, dx"},
    WorkRow{pooling, "aten::_adaptive_avg_pool2d aten::adaptive_max_pool2d "
                     "aten::upsample_nearest2d aten::upsample_nearest1d aten::_upsample_nearest_exact2d",
            resized, "elements of the larger of x and output", "x, output", 1},
    WorkRow{pooling, "aten::upsample_bilinear2d aten::upsample_bicubic2d", resized, "8 n", "x, output", 8},

    WorkRow{lookup, "aten::embedding", embedding, "none", "indices, rows (at most the table), output"},
    WorkRow{lookup, "aten::_embedding_bag aten::_embedding_bag_forward_only",
            embedding_bag, "an addition for each value of the rows", "indices, offsets, rows, output"},
    WorkRow{lookup, "aten::embedding_dense_backward aten::embedding_backward",
            embedding_backward, "elements of dy", "indices, dy, rows read and written; in programs the whole output"},
    WorkRow{lookup, "aten::index_select", index_select, "none", "indices, values, output"},
    WorkRow{lookup, "aten::index aten::take", indexed, "none", "indices, values, output; needs the output's shape"},
    WorkRow{lookup, "aten::gather", gather, "none", "indices, values, output"},
    WorkRow{lookup, "aten::scatter_ aten::scatter aten::index_copy_ aten::index_copy aten::index_fill_ "
                    "aten::index_fill",
            scatter, "none", "indices, values read and written; in programs all of x and the output"},
    WorkRow{lookup, "aten::scatter_add_ aten::scatter_add aten::index_add_ aten::index_add aten::scatter_reduce_ "
                    "aten::scatter_reduce",
            scatter, "elements of the source",
            "indices, source, values read and written; in programs all of x and the output", 1},
    WorkRow{lookup, "aten::index_put_ aten::_index_put_impl_ aten::index_put",
            index_put, "elements of values, where it adds",
            "indices, values, destination; in programs all of x and the output"},

    WorkRow{loss, "aten::nll_loss_forward aten::nll_loss2d_forward",
            nll_loss, "one for each target", "target, a value of x for each target, losses", 1},
    WorkRow{loss, "aten::nll_loss_backward aten::nll_loss2d_backward",
            nll_loss_backward, "none", "dy, target, a value of dx for each target; in programs the whole output"},
    WorkRow{loss, "aten::mse_loss aten::l1_loss aten::smooth_l1_loss aten::huber_loss aten::binary_cross_entropy",
            elementwise_loss<false>, "3 n", "inputs, a loss for each n", 3},
    WorkRow{loss, "aten::mse_loss_backward aten::smooth_l1_loss_backward aten::huber_loss_backward "
                  "aten::binary_cross_entropy_backward aten::l1_loss_backward",
            elementwise_loss<true>, "3 n", "inputs, dx", 3},

    WorkRow{optimizer, "aten::_fused_adam_ aten::_fused_adamw_",
            foreach, "12 for each parameter", "parameters, gradients, moments; all but gradients written", 12, 5},
    WorkRow{optimizer, "aten::_fused_sgd_ aten::_fused_adagrad_",
            foreach, "4 for each parameter", "parameters, gradients, momentum; all but gradients written", 4, 3},

    WorkRow{random, "aten::normal_ aten::uniform_ aten::random_ aten::bernoulli_ aten::exponential_ "
                    "aten::log_normal_ aten::geometric_ aten::cauchy_ aten::rand aten::randn aten::rand_like "
                    "aten::randn_like aten::bernoulli",
            fill_tensor, "n", "output", 1},
    WorkRow{random, "aten::native_dropout aten::_fused_dropout", dropout, "2 n", "x, output, a byte for each n", 2},

    WorkRow{copy, "aten::copy_ aten::_foreach_copy_ aten::_copy_from", copy_into, "none", "from, to"},
    WorkRow{copy, "aten::cat aten::_cat aten::stack aten::clone aten::contiguous aten::_to_copy aten::flip aten::roll "
                  "aten::_reshape_copy aten::tril aten::tril_ aten::triu aten::triu_ aten::split_with_sizes_copy "
                  "aten::slice_backward aten::select_backward aten::slice_scatter aten::select_scatter "
                  "aten::constant_pad_nd aten::repeat aten::_chunk_cat fbgemm::permute_2D_sparse_data "
                  "fbgemm::permute_sparse_features",
            move_all, "none", "inputs, as much written"},
    WorkRow{copy, "fbgemm::permute_pooled_embs_auto_grad fbgemm::permute_pooled_embs",
            like<0>, "none", "x, output"},

    WorkRow{copy, "fsdp::all_gather_copy_in fsdp::split_with_sizes_copy fsdp::chunk_cat "
                  "fsdp::chunk_cat_mixed_dtype",
            move_first, "none", "the first argument, as much written"},

    WorkRow{fill, "aten::fill_ aten::zero_ aten::arange aten::ones aten::zeros aten::full aten::eye "
                  "aten::linspace",
            fill_tensor, "none", "output"},
    WorkRow{fill, "aten::scalar_tensor aten::zeros_like aten::ones_like aten::full_like aten::new_zeros aten::new_ones "
                  "aten::new_full",
            fill_output, "none", "output; needs the output's shape"},

    WorkRow{copy, "torch::autograd::CppNode<fbgemm_gpu::PermutePooledEmbs*", like<0>, "none", "x, output"},
    WorkRow{copy, "fbgemm::FloatToFP8RowwiseQuantized fbgemm::FP8RowwiseQuantizedToFloat "
                  "fbgemm::FloatToHFP8Quantized fbgemm::HFP8QuantizedToFloat",
            quantize, "none", "floats; a byte for each of them"},
    WorkRow{lookup, "fbgemm::split_embedding_codegen_lookup_*", fbgemm_lookup,
            "an addition for each value of the rows; rows of average length", "indices, offsets, rows, output"},
    WorkRow{compiled, "triton_poi_* triton_red_* triton_per_*", triton,
            "one for each index", "each pointer, once for each index at most", 1},
    // clang-format on
};

/// Names without and with *, each with its row.
struct Names {
  absl::flat_hash_map<std::string_view, const WorkRow*> exact;
  std::vector<std::pair<std::string_view, const WorkRow*>> prefixes;

  Names() {
    for (const WorkRow& row : kRows)
      for (std::string_view left = row.names; !left.empty();) {
        const size_t end = std::min(left.find(' '), left.size());
        const std::string_view name = left.substr(0, end);
        if (name.ends_with('*')) prefixes.emplace_back(name.substr(0, name.size() - 1), &row);
        else exact.emplace(name, &row);
        left.remove_prefix(std::min(end + 1, left.size()));
      }
  }
};

}  // namespace

const std::span<const WorkRow> kWorkRows(kRows);

const WorkRow* find_work_row(std::string_view name) {
  static const Names names;
  if (const auto found = names.exact.find(name); found != names.exact.end()) return found->second;
  for (const auto& [prefix, row] : names.prefixes)
    if (name.starts_with(prefix)) return row;
  return nullptr;
}

}  // namespace chakra::work
