#include "chakra/xla/library.h"

#include <algorithm>
#include <array>

#include "chakra/json/json.h"

namespace chakra::xla {
namespace {

constexpr uint64_t kMostPositions = 1 << 24;  ///< of a window, counted one by one

struct TargetRow {
  std::string_view prefix;
  Library is = Library::unknown;
  bool whole = false;  ///< the target has no more letters
};
/// The first row that fits. XLA for GPUs of AMD also uses the names of cuBLAS and cuDNN.
constexpr TargetRow kTargets[] = {
    {"__cublas$gemm", Library::product, true},
    {"__cublas$lt$matmul", Library::product},  // also with $f8 and $mx
    {"__onednn$matmul", Library::product, true},
    {"__cudnn$conv", Library::convolution},
    {"__cudnn$fmha", Library::attention},
    {"Sharding", Library::nothing, true},
    {"SPMDFullToShardShape", Library::nothing, true},
    {"SPMDShardToFullShape", Library::nothing, true},
    {"LayoutConstraint", Library::nothing, true},
    {"annotate_device_placement", Library::nothing, true},
    {"AllocateBuffer", Library::nothing, true},
    {"CreateBuffer", Library::nothing, true},
    {"Pin", Library::nothing, true},
    {"Unpin", Library::nothing, true},
    {"MoveToHost", Library::moves, true},
    {"MoveToDevice", Library::moves, true},
    {"PadToStatic", Library::moves, true},
    {"SliceToDynamic", Library::moves, true},
    {"TopK", Library::moves, true},  // as the opcode topk
    {"__gpu$TopK", Library::moves, true},
};

using Element = simdjson::dom::element;
using Path = std::initializer_list<std::string_view>;

/// The whole numbers of a list in a configuration, which writes them as strings; nothing where the list is missing.
std::optional<std::vector<int64_t>> numbers_at(const Element& config, Path path) {
  Element at = config;
  for (const std::string_view key : path)
    if (at.at_key(key).get(at)) return std::nullopt;
  simdjson::dom::array list;
  if (at.get(list)) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Element& item : list) {
    int64_t number = 0;
    std::string_view text;
    if (item.get(number) && (item.get(text) || !parse_integer(text, number))) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

const Shape& operand_of(const Program& p, const Computation& c, const Instruction& i, uint32_t number) {
  static const Shape kMissing;
  return number < i.operands.size() ? c.instructions[p.links[i.operands.begin + number]].shape : kMissing;
}
const Shape& first_result(const Program& p, const Instruction& i) {
  return i.shape.parts.size() > 0 ? p.shapes[i.shape.parts.begin] : i.shape;
}

/// The sizes of these dimensions, multiplied; no value if the shape lacks one.
std::optional<uint64_t> sizes_of(const Program& p, const Shape& shape, const std::vector<int64_t>& dims) {
  uint64_t product = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || dim >= static_cast<int64_t>(shape.dims.size())) return std::nullopt;
    product = multiply_bytes(product, static_cast<uint64_t>(p.dims(shape.dims)[static_cast<size_t>(dim)]));
  }
  return product;
}

/// Whether a matrix multiplication of these numbers of elements has this width and batch: rows and columns give the
/// result.
bool is_product(uint64_t a, uint64_t b, uint64_t out, uint64_t width, uint64_t batch) {
  const uint64_t shared = multiply_bytes(width, batch);
  if (shared == 0) return out == 0 || width == 0;
  if (a % shared != 0 || b % shared != 0) return false;
  return multiply_bytes(multiply_bytes(a / shared, b / shared), batch) == out;
}

/// The contracted dimensions by the configuration. Without one, those that fit the shapes of two matrices. In both
/// cases the shapes must agree: a library may pack its operands.
std::optional<uint64_t> product_flops(const Program& p, const Computation& c, const Instruction& i,
                                      const std::optional<Element>& config) {
  const Shape &left = operand_of(p, c, i, 0), &right = operand_of(p, c, i, 1), &out = first_result(p, i);
  if (i.operands.size() < 2 || left.dims.size() == 0 || right.dims.size() == 0) return std::nullopt;
  const uint64_t a = p.elements(left), b = p.elements(right), results = p.elements(out);
  const auto flops = [&](uint64_t width) { return multiply_bytes(2, multiply_bytes(results, width)); };
  const auto list = [&](std::string_view name) {
    auto found = config ? numbers_at(*config, {"gemm_backend_config", "dot_dimension_numbers", name}) : std::nullopt;
    if (config && !found) found = numbers_at(*config, {"dot_dimension_numbers", name});  // of older versions
    return found;
  };
  if (const auto contracting = list("lhs_contracting_dimensions"); contracting && !contracting->empty()) {
    const auto width = sizes_of(p, left, *contracting);
    const auto batch = sizes_of(p, left, list("lhs_batch_dimensions").value_or(std::vector<int64_t>()));
    if (width && batch && is_product(a, b, results, *width, *batch)) return flops(*width);
    return std::nullopt;
  }
  if (left.dims.size() > 2 || right.dims.size() > 2 || results == 0) return std::nullopt;
  for (const int64_t size : p.dims(left.dims))
    if (is_product(a, b, results, static_cast<uint64_t>(size), 1)) return flops(static_cast<uint64_t>(size));
  return std::nullopt;
}

/// The dimensions and the window are those of the forward pass, whose result a gradient of it takes in its place.
std::optional<uint64_t> library_convolution(const Program& p, const Computation& c, const Instruction& i) {
  const Detail& d = p.detail(i);
  if (i.operands.size() < 2) return std::nullopt;
  const Shape &first = operand_of(p, c, i, 0), &second = operand_of(p, c, i, 1), &result = first_result(p, i);
  std::array<const Shape*, 3> shapes{&first, &second, &result};  // input, kernel, output
  if (d.target.find("BackwardInput") != std::string_view::npos) shapes = {&result, &second, &first};
  else if (d.target.find("BackwardFilter") != std::string_view::npos) shapes = {&first, &result, &second};
  const size_t spatial = d.window.size();
  if (spatial == 0 || d.input_spatial.size() != spatial || d.kernel_spatial.size() != spatial ||
      d.output_spatial.size() != spatial)
    return std::nullopt;
  for (const Shape* shape : shapes)
    if (shape->dims.size() != spatial + 2) return std::nullopt;  // some libraries split the features
  return convolution_flops(p, d, *shapes[0], *shapes[1], *shapes[2]);
}

/// Queries, keys and values are the first operands; the configuration has [batch, heads, queries, keys]. All pairs
/// count, also where a mask leaves some of them out. Backwards five matrix multiplications, three of them as wide as
/// the queries.
std::optional<uint64_t> attention_flops(const Program& p, const Computation& c, const Instruction& i,
                                        const std::optional<Element>& config) {
  constexpr std::string_view kOf = "cudnn_fmha_backend_config", kShape = "intermediate_tensor_shape";
  if (!config || i.operands.size() < 3) return std::nullopt;
  auto dims = numbers_at(*config, {kOf, kShape, "dimensions"});
  if (!dims) dims = numbers_at(*config, {kShape, "dimensions"});
  if (!dims || dims->size() != 4 || std::any_of(dims->begin(), dims->end(), [](int64_t size) { return size <= 0; }))
    return std::nullopt;
  uint64_t rows = 1;
  for (size_t n = 0; n < 3; ++n) rows = multiply_bytes(rows, static_cast<uint64_t>((*dims)[n]));
  const auto elements = [&](uint32_t number) { return p.elements(operand_of(p, c, i, number)); };
  const uint64_t q = elements(0), k = elements(1), v = elements(2);
  if (q == 0 || q % rows != 0 || k == 0) return std::nullopt;
  const uint64_t width = q / rows, values = multiply_bytes(width, v) / k;  // keys and values: of the same heads
  if (k % width != 0 || k / width == 0 || v % (k / width) != 0) return std::nullopt;
  if ((k / width) % static_cast<uint64_t>(dims->back()) != 0) return std::nullopt;
  const bool backward = p.detail(i).target.find("Backward") != std::string_view::npos;
  const uint64_t pairs = multiply_bytes(rows, static_cast<uint64_t>(dims->back()));
  const uint64_t per_pair = backward ? 3 * width + 2 * values : width + values;
  return multiply_bytes(2, multiply_bytes(pairs, per_pair));
}

/// Count the pairs of a place in the window and a place in the output whose input is not padding.
uint64_t valid_positions(const WindowDim& w, int64_t kernel, int64_t output, int64_t input) {
  const uint64_t all = multiply_bytes(static_cast<uint64_t>(kernel), static_cast<uint64_t>(output));
  if (all > kMostPositions || w.stride < 0 || w.stride > (1 << 30) || w.dilation < 0 || w.dilation > (1 << 30) ||
      w.base_dilation > (1 << 30) || w.low < -(int64_t{1} << 40) || w.low > (int64_t{1} << 40))
    return all / static_cast<uint64_t>(std::max<int64_t>(1, w.base_dilation));
  uint64_t count = 0;
  for (int64_t k = 0; k < kernel; ++k)
    for (int64_t o = 0; o < output; ++o) {
      const int64_t at = o * w.stride - w.low + k * w.dilation;
      if (at >= 0 && at % w.base_dilation == 0 && at / w.base_dilation < input) ++count;
    }
  return count;
}

}  // namespace

uint64_t convolution_flops(const Program& p, const Detail& d, const Shape& input, const Shape& kernel,
                           const Shape& output) {
  const auto size = [&](const Shape& shape, int64_t dim) -> int64_t {
    const auto dims = p.dims(shape.dims);
    return dim >= 0 && dim < static_cast<int64_t>(dims.size()) ? dims[static_cast<size_t>(dim)] : 1;
  };
  const auto spatial = [&](Range dims, const Shape& shape, size_t n) {
    return n < dims.size() ? size(shape, p.dims(dims)[n]) : 1;
  };
  uint64_t positions = 1;
  for (size_t n = 0; n < d.window.size(); ++n)
    positions = multiply_bytes(
        positions, valid_positions(d.window[n], spatial(d.kernel_spatial, kernel, n),
                                   spatial(d.output_spatial, output, n), spatial(d.input_spatial, input, n)));
  const auto features = static_cast<uint64_t>(size(input, d.input_feature) / d.feature_groups);
  const auto batch = static_cast<uint64_t>(size(input, d.input_batch) / d.batch_groups);
  const auto outputs = static_cast<uint64_t>(size(output, d.output_feature));
  return multiply_bytes(2, multiply_bytes(multiply_bytes(features, outputs), multiply_bytes(batch, positions)));
}

Library library_of(std::string_view target) {
  for (const TargetRow& row : kTargets)
    if (row.whole ? target == row.prefix : target.starts_with(row.prefix)) return row.is;
  return Library::unknown;
}

std::optional<uint64_t> library_flops(const Program& p, const Computation& c, const Instruction& i) {
  const Detail& d = p.detail(i);
  const Library is = library_of(d.target);
  if (is == Library::nothing || is == Library::moves) return 0;
  if (is == Library::convolution) return library_convolution(p, c, i);
  if (is == Library::unknown) return std::nullopt;
  simdjson::dom::parser parser;
  std::optional<Element> config;
  if (Element parsed; !d.config.empty() && !parser.parse(d.config.data(), d.config.size()).get(parsed)) config = parsed;
  return is == Library::product ? product_flops(p, c, i, config) : attention_flops(p, c, i, config);
}

uint64_t library_bytes(const Program& p, const Computation& c, const Instruction& i) {
  const Library is = library_of(p.detail(i).target);
  if (is == Library::nothing) return 0;
  uint64_t sum = p.bytes_of(i.shape);
  for (uint32_t n = 0; n < i.operands.size(); ++n) sum = add_bytes(sum, p.bytes_of(operand_of(p, c, i, n)));
  if (is == Library::moves || i.shape.parts.size() < 2) return sum;
  const Shape& last = p.shapes[i.shape.parts.end - 1];
  const std::string_view type = type_name(last.type);
  const bool workspace = last.dims.size() == 1 && (type == "s8" || type == "u8");
  return workspace && sum < UINT64_MAX ? sum - p.bytes_of(last) : sum;
}

}  // namespace chakra::xla
