// What a model's parts hold, and their sums.
#include "chakra/gen/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace chakra::gen {
namespace {

constexpr int64_t kMostWidth = int64_t{1} << 28, kMostHeads = 1 << 20;
/// Sums of elements stay far below 2^63, so that bytes and operations of them fit as well.
constexpr double kMostElements = 1e17;

/// A product of `in` numbers with a matrix, `out` numbers.
int64_t linear(int64_t in, int64_t out, bool bias) { return in * out + (bias ? out : 0); }
int64_t mlp(int64_t hidden, const Mlp& m) {
  return (m.gated ? 2 : 1) * linear(hidden, m.width, m.bias) + linear(m.width, hidden, m.bias);
}
int64_t norm(const Model& m, int64_t width) { return width * ((m.norm_weight ? 1 : 0) + (m.norm_bias ? 1 : 0)); }

/// As layer_parameters().total() of all layers, and no less than any sum or product on the way.
double upper_bound(const Model& m) {
  double most = 0;
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  for (const Block& b : m.blocks) {
    const Attention& a = b.attention;
    const double heads = real(std::max(a.heads, a.kv_heads)) * real(a.head_dim + a.value_dim);
    const double ranks = real(a.q_rank + a.kv_rank + a.rope_dim);
    const double attention = 4 * (real(m.hidden) + ranks + 2) * (heads + ranks + 2) + 4 * heads * real(m.hidden);
    double width = real(b.mlp.width);
    if (b.experts) width = (real(b.experts->count) + 1) * (real(b.experts->width) + 2) + real(b.experts->shared_width);
    most = std::max(most, attention + 4 * (real(m.hidden) + 2) * (width + 2) + 2 * real(b.norms) * real(m.hidden) +
                              2 * real(a.q_norm + a.k_norm));
  }
  const double outer = (2 * real(m.vocabulary) + real(m.learned_positions) + 8) * (real(m.hidden) + 1);
  return (most + 2 * real(m.hidden) * (real(m.hidden) + 4)) *
             real(static_cast<int64_t>(m.layers.size()) + m.mtp_layers) +
         outer;
}

}  // namespace

void add_layer(Model& model, const Block& block) {
  const auto at = std::find(model.blocks.begin(), model.blocks.end(), block) - model.blocks.begin();
  CHAKRA_ASSERT(at < 256);
  if (static_cast<size_t>(at) == model.blocks.size()) model.blocks.push_back(block);
  model.layers.push_back(static_cast<uint8_t>(at));
}

LayerParameters layer_parameters(const Model& model, const Block& block) {
  const Attention& a = block.attention;
  const int64_t hidden = model.hidden;
  LayerParameters p;
  if (a.kv_rank > 0) {
    p.query = a.q_rank > 0 ? linear(hidden, a.q_rank, a.q_bias) + norm(model, a.q_rank) +
                                 linear(a.q_rank, a.heads * a.head_dim, false)
                           : linear(hidden, a.heads * a.head_dim, a.q_bias);
    p.key_value = linear(hidden, a.kv_rank + a.rope_dim, a.kv_bias) + norm(model, a.kv_rank) +
                  linear(a.kv_rank, a.heads * (a.head_dim - a.rope_dim + a.value_dim), false);
  } else {
    p.query = linear(hidden, a.heads * a.head_dim, a.q_bias);
    p.key_value = linear(hidden, a.kv_heads * (a.head_dim + a.value_dim), a.kv_bias);
  }
  p.output = linear(a.heads * a.value_dim, hidden, a.out_bias) + (a.sinks ? a.heads : 0);
  p.norms = block.norms * norm(model, hidden) + norm(model, a.q_norm) + norm(model, a.k_norm);
  if (!block.experts) {
    p.mlp = mlp(hidden, block.mlp);
    return p;
  }
  const Experts& e = *block.experts;
  p.router = linear(hidden, e.count, e.router_bias) + (e.shared_gate ? hidden : 0);
  p.expert = mlp(hidden, {e.width, true, e.bias});
  p.experts = e.count;
  if (e.shared_width > 0) p.shared = mlp(hidden, {e.shared_width, true, e.shared_bias});
  return p;
}

OuterParameters outer_parameters(const Model& model) {
  OuterParameters p;
  p.embedding = model.vocabulary * model.hidden;
  p.positions = model.learned_positions * model.hidden;
  if (model.embedding_norm) p.embedding_norm = norm(model, model.hidden);
  if (model.final_norm) p.final_norm = norm(model, model.hidden);
  p.head = (model.tied ? 0 : p.embedding) + (model.head_bias ? model.vocabulary : 0);
  if (model.mtp_layers > 0) p.mtp = linear(2 * model.hidden, model.hidden, false) + 3 * norm(model, model.hidden);
  return p;
}

namespace {

/// `layer`: what counts of a layer.
template <class F>
int64_t sum(const Model& model, const F& layer) {
  const OuterParameters o = outer_parameters(model);
  int64_t all = o.embedding + o.positions + o.embedding_norm + o.final_norm + o.head;
  std::vector<int64_t> of_kind;
  for (const Block& block : model.blocks) of_kind.push_back(layer(block, layer_parameters(model, block)));
  for (const uint8_t kind : model.layers) all += of_kind[kind];
  if (model.mtp_layers > 0) all += model.mtp_layers * (o.mtp + of_kind[model.layers.back()]);
  return all;
}

}  // namespace

int64_t parameters(const Model& model) {
  return sum(model, [](const Block&, const LayerParameters& p) { return p.total(); });
}

int64_t active_parameters(const Model& model) {
  return sum(model, [](const Block& block, const LayerParameters& p) {
    return p.with_experts(block.experts ? block.experts->active : 0);
  });
}

int64_t kv_bytes_per_token(const Model& model, int64_t bytes_per_element) {
  int64_t elements = 0;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const Attention& a = model.block(i).attention;
    elements += a.kv_rank > 0 ? a.kv_rank + a.rope_dim : a.kv_heads * (a.head_dim + a.value_dim);
  }
  return elements * bytes_per_element;
}

namespace {

struct Bound {
  std::string_view name;
  int64_t value, least, most;
};
Result<void> check_bounds(std::span<const Bound> bounds) {
  for (const auto& [name, value, least, most] : bounds)
    if (value < least || value > most)
      return fail(Code::bad_input, "gen.model.range",
                  fmt::format("{} is {}; from {} to {} are possible", name, value, least, most));
  return {};
}

Result<void> check_block(const Block& b) {
  const Attention& a = b.attention;
  const Experts e = b.experts.value_or(Experts{1, 1, 1});
  const std::array bounds{
      Bound{"the number of heads", a.heads, 1, kMostHeads},
      Bound{"the number of heads of keys and values", a.kv_heads, 1, kMostHeads},
      Bound{"the width of a head", a.head_dim, 1, kMostWidth},
      Bound{"the width of a value", a.value_dim, 1, kMostWidth},
      Bound{"the rank of queries", a.q_rank, 0, kMostWidth},
      Bound{"the rank of keys and values", a.kv_rank, 0, kMostWidth},
      Bound{"the rotary width", a.rope_dim, 0, a.head_dim},
      Bound{"the window", a.window, 0, kMostWidth},
      Bound{"the width of the MLP", b.experts ? 1 : b.mlp.width, 1, kMostWidth},
      Bound{"the number of experts", e.count, 1, kMostHeads},
      Bound{"the number of experts for a token", e.active, 1, e.count},
      Bound{"the width of an expert", e.width, 1, kMostWidth},
      Bound{"the width of the shared experts", e.shared_width, 0, kMostWidth},
      Bound{"the number of norms of a layer", b.norms, 0, 16},
  };
  CHAKRA_TRY(check_bounds(bounds));
  if (a.heads % a.kv_heads != 0)
    return fail(Code::bad_input, "gen.model.divide",
                fmt::format("{} heads are not a multiple of {} heads of keys and values", a.heads, a.kv_heads));
  return {};
}

}  // namespace

Result<void> check_model(const Model& m) {
  const std::array bounds{
      Bound{"the hidden width", m.hidden, 1, kMostWidth},
      Bound{"the vocabulary", m.vocabulary, 1, kMostWidth},
      Bound{"the number of learned positions", m.learned_positions, 0, kMostWidth},
      Bound{"the sequence", m.sequence, 1, kMostWidth},
      Bound{"the number of layers", static_cast<int64_t>(m.layers.size()), 1, kMostLayers},
      Bound{"the number of layers of multi-token prediction", m.mtp_layers, 0, kMostLayers},
  };
  CHAKRA_TRY(check_bounds(bounds));
  for (const Block& block : m.blocks) CHAKRA_TRY(check_block(block));
  for (const uint8_t kind : m.layers) CHAKRA_ASSERT(kind < m.blocks.size());
  if (const double elements = upper_bound(m); elements > kMostElements)
    return fail(Code::bad_input, "gen.model.large",
                fmt::format("about {:.3g} parameters; at most {:.3g} are possible", elements, kMostElements));
  return {};
}

}  // namespace chakra::gen
