// The kinds of kernels, and what each takes by its sizes.
#include "chakra/work/kernels.h"

#include <algorithm>
#include <cmath>

#include "chakra/base/base.h"

namespace chakra::work {
namespace {

double none(const Sizes&) { return 0; }
template <int Passes>
Tensors passes(const Sizes& s) {
  return {Passes * s[0] * s[1]};
}

/// DeepSeek's latent attention: widths of keys and of values of a head; the latent vector and its rotated part.
constexpr double kLatentWidths = 192 + 128, kLatentRank = 512, kLatentRope = 64;

/// Choices of tokens for experts of one rank.
double own_choices(const Sizes& s) { return s[0] * s[4] / s[5]; }

}  // namespace

const std::array<KernelKind, 16> kKernelKinds{{
    {"gemm",
     WorkKind::matrix,
     {"m", "n", "k"},
     {"m x k", "k x n", "m x n"},
     [](const Sizes& s) { return 2 * s[0] * s[1] * s[2]; },
     [](const Sizes& s) {
       return Tensors{s[0] * s[2], s[1] * s[2], s[0] * s[1]};
     },
     [](const Sizes& s) { return s[2]; },
     "matrix multiplication of m x k and k x n",
     0b110},
    {"attention",
     WorkKind::attention,
     {"batch", "tokens", "heads", "kv_heads", "head_dim"},
     {"all"},
     [](const Sizes& s) { return 2 * s[0] * s[2] * s[1] * s[1] * s[4]; },
     [](const Sizes& s) { return Tensors{2 * s[0] * s[1] * (s[2] + s[3]) * s[4]}; },
     [](const Sizes& s) { return s[1]; },
     "causal attention, forward, in one kernel"},
    {"norm",
     WorkKind::normalization,
     {"rows", "width"},
     {"all"},
     none,
     passes<2>,
     none,
     "normalisation along the width"},
    {"embedding",
     WorkKind::lookup,
     {"rows", "width"},
     {"all"},
     none,
     passes<2>,
     none,
     "embedding lookup of table rows"},
    {"rope",
     WorkKind::elementwise,
     {"rows", "width"},
     {"all"},
     none,
     passes<2>,
     none,
     "RoPE on queries and keys of the given width"},
    {"add", WorkKind::elementwise, {"rows", "width"}, {"all"}, none, passes<3>, none, "two tensors added"},
    {"activation",
     WorkKind::elementwise,
     {"rows", "width"},
     {"all"},
     none,
     passes<3>,
     none,
     "elementwise function of one tensor, multiplied by another tensor"},
    {"decode_attention",
     WorkKind::attention,
     {"batch", "context", "heads", "kv_heads", "head_dim", "window"},
     {"all"},
     [](const Sizes& s) { return 4 * s[0] * s[2] * s[5] * s[4]; },
     [](const Sizes& s) { return Tensors{2 * s[0] * (s[2] + s[3] * s[5]) * s[4]}; },
     [](const Sizes& s) { return s[5]; },
     "attention of one token per sequence to the last `window` of `context` tokens in a cache",
     0,
     true},
    {"latent_attention",
     WorkKind::attention,
     {"batch", "tokens", "heads"},
     {"all"},
     [](const Sizes& s) { return s[0] * s[2] * s[1] * s[1] * kLatentWidths; },
     [](const Sizes& s) { return Tensors{s[0] * s[1] * (s[2] * 2 * kLatentWidths)}; },
     [](const Sizes& s) { return s[1]; },
     "causal attention, forward, by keys and values from a latent vector (DeepSeek: 192 and 128 wide)",
     0,
     true},
    {"latent_decode",
     WorkKind::attention,
     {"batch", "context", "heads"},
     {"all"},
     [](const Sizes& s) { return 2 * s[0] * s[1] * s[2] * (2 * kLatentRank + kLatentRope); },
     [](const Sizes& s) {
       return Tensors{s[0] * (s[1] * (kLatentRank + kLatentRope) + s[2] * (2 * kLatentRank + kLatentRope))};
     },
     [](const Sizes& s) { return s[1]; },
     "attention of one token per sequence to latent vectors in a cache (DeepSeek: 512 and 64 wide)",
     0,
     true},
    {"experts",
     WorkKind::matrix,
     {"tokens", "hidden", "width", "experts", "top_k", "ep"},
     {"choices", "own", "weights"},
     [](const Sizes& s) { return 6 * own_choices(s) * s[1] * s[2]; },
     [](const Sizes& s) {
       const double read = s[3] / s[5] * -std::expm1(s[0] * std::log1p(-std::min(s[4] / s[3], 0.999999)));
       return Tensors{2 * s[0] * s[4] * s[1], own_choices(s) * (2 * s[1] + 3 * s[2]), 3 * read * s[1] * s[2]};
     },
     none,
     "gated layers of experts on one of ep ranks: tokens of all ranks choose top_k of all experts",
     0,
     true},
    {"gated_delta",
     WorkKind::attention,
     {"batch", "tokens", "k_heads", "v_heads", "head_dim"},
     {"all"},
     [](const Sizes& s) { return 6 * s[0] * s[1] * s[3] * s[4] * s[4]; },
     [](const Sizes& s) { return Tensors{2 * s[0] * s[1] * (s[2] + s[3]) * s[4]}; },
     [](const Sizes& s) { return s[1]; },
     "the gated delta rule in chunks (Qwen3-Next)",
     0,
     true},
    {"gated_delta_decode",
     WorkKind::attention,
     {"batch", "k_heads", "v_heads", "head_dim"},
     {"all"},
     [](const Sizes& s) { return 6 * s[0] * s[2] * s[3] * s[3]; },
     [](const Sizes& s) { return Tensors{4 * s[0] * s[2] * s[3] * s[3]}; },
     none,
     "the gated delta rule of one token per sequence: reads and writes a state of 4 bytes a number",
     0,
     true},
    {"conv1d",
     WorkKind::elementwise,
     {"batch", "tokens", "channels"},
     {"all"},
     [](const Sizes& s) { return 8 * s[0] * s[1] * s[2]; },
     [](const Sizes& s) { return Tensors{2 * s[0] * s[1] * s[2]}; },
     none,
     "a causal convolution over 4 tokens in each channel (gated delta networks, Mamba-2)",
     0,
     true},
    {"conv1d_decode",
     WorkKind::elementwise,
     {"batch", "channels"},
     {"all"},
     [](const Sizes& s) { return 8 * s[0] * s[1]; },
     [](const Sizes& s) { return Tensors{8 * s[0] * s[1]}; },
     none,
     "a causal convolution of one token per sequence: reads and writes the last 3 tokens",
     0,
     true},
    {"copy",
     WorkKind::copy,
     {"elements"},
     {"all"},
     none,
     [](const Sizes& s) { return Tensors{2 * s[0]}; },
     none,
     "a copy within the device's memory"},
}};

size_t KernelKind::size() const {
  size_t n = 0;
  while (n < kMostSizes && !sizes[n].empty()) ++n;
  return n;
}

size_t KernelKind::tensor_count() const {
  size_t n = 0;
  while (n < kMostTensors && !tensors[n].empty()) ++n;
  return n;
}

const KernelKind* find_kernel_kind(std::string_view name) {
  return find_row(kKernelKinds, name.substr(0, name.find('.')));
}

std::optional<KernelShape> parse_kernel(std::string_view text) {
  KernelShape shape;
  size_t end = std::min(text.find(':'), text.size());
  shape.name = text.substr(0, end);
  shape.kind = find_kernel_kind(shape.name);
  if (!shape.kind) return std::nullopt;
  for (size_t i = 0; i < shape.kind->size(); ++i) {
    if (end >= text.size()) return std::nullopt;
    const size_t begin = end + 1;
    end = std::min(text.find(',', begin), text.size());
    uint64_t size = 0;
    if (!parse_decimal(text.substr(begin, end - begin), size) || size == 0) return std::nullopt;
    shape.sizes[i] = static_cast<double>(size);
  }
  if (end != text.size()) return std::nullopt;
  return shape;
}

double bytes_of(trace::DType type) {
  using trace::DType;
  switch (type) {
    case DType::complex:
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::tf32:
    case DType::i32: return 4;
    case DType::f8:
    case DType::i8:
    case DType::boolean: return 1;
    case DType::f4: return 0.5;
    default: return 2;
  }
}

}  // namespace chakra::work
