// What a model's parts hold, and their sums.
#include "chakra/model/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace chakra::model {
namespace {

constexpr int64_t kMostWidth = int64_t{1} << 28, kMostHeads = 1 << 20, kMostRows = int64_t{1} << 40;
/// Sums of elements stay far below 2^63, so that bytes and operations of them fit as well.
constexpr double kMostElements = 1e17;

/// Parameters of a matrix from `in` to `out` numbers, and of its bias.
int64_t linear(int64_t in, int64_t out, bool bias) { return in * out + (bias ? out : 0); }
int64_t mlp(int64_t hidden, const Mlp& m) {
  return (m.gated ? 2 : 1) * linear(hidden, m.width, m.bias) + linear(m.width, hidden, m.bias);
}
int64_t norm(const Model& m, int64_t width) { return width * ((m.norm_weight ? 1 : 0) + (m.norm_bias ? 1 : 0)); }

/// As layer_parameters().total() of all layers, and no less than any intermediate result.
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
  double outer = (2 * real(m.vocabulary) + real(m.learned_positions) + 8) * (real(m.hidden) + 1);
  outer += (real(m.patches.width) + real(m.noise_width) + kTimeWidth + 8 * real(m.hidden) + 8) * (real(m.hidden) + 1);
  if (m.family == Family::diffusion) most += 6 * (real(m.hidden) + 1) * real(m.hidden);
  const Recommender& r = m.recommender;
  outer += real(r.rows) * real(m.hidden);
  double in = real(r.dense) + real(m.hidden) + real(r.tables) * real(r.tables);
  for (const std::vector<int64_t>* widths : {&r.bottom, &r.top})
    for (const int64_t width : *widths) {
      outer += (in + 1) * real(width);
      in = std::max(in, real(width));
    }
  return (most + 2 * real(m.hidden) * (real(m.hidden) + 4)) *
             real(static_cast<int64_t>(m.layers.size()) + m.mtp_layers) +
         outer;
}

}  // namespace

Model without_tokens(std::string name, Family family, int64_t hidden) {
  Model m;
  m.name = std::move(name);
  m.family = family;
  m.hidden = hidden;
  m.sequence = 1;
  m.final_norm = false;
  return m;
}

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
  if (model.family == Family::mlp) {
    p.mlp = linear(hidden, hidden, block.mlp.bias);
    return p;
  }
  if (model.family == Family::diffusion) p.modulation = linear(hidden, 6 * hidden, true);
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

namespace {

/// Parameters of fully connected layers with biases, one after the other.
int64_t chain(int64_t in, std::span<const int64_t> widths) {
  int64_t sum = 0;
  for (const int64_t width : widths) sum += linear(std::exchange(in, width), width, true);
  return sum;
}

/// What is before and after the layers, less positions and norms.
void add_ends(const Model& m, OuterParameters& p) {
  const Recommender& r = m.recommender;
  switch (m.family) {
    case Family::decoder:
      p.embedding = m.vocabulary * m.hidden;
      p.head = (m.tied ? 0 : p.embedding) + (m.head_bias ? m.vocabulary : 0);
      break;
    case Family::vision:
      p.embedding = linear(m.patches.width, m.hidden, true) + m.hidden;
      p.head = linear(m.hidden, m.vocabulary, m.head_bias);
      break;
    case Family::diffusion:
      p.embedding = linear(m.patches.width, m.hidden, true) + linear(kTimeWidth, m.hidden, true) +
                    linear(m.hidden, m.hidden, true) + m.vocabulary * m.hidden;
      p.head = linear(m.hidden, 2 * m.hidden, true) + linear(m.hidden, m.noise_width, true);
      break;
    case Family::mlp: break;
    case Family::recommender:
      p.embedding = r.rows * m.hidden + chain(r.dense, r.bottom);
      p.head = chain(interaction_width(m), r.top);
      break;
  }
}

}  // namespace

int64_t interaction_width(const Model& model) {
  const int64_t vectors = model.recommender.tables + 1;
  return model.hidden + vectors * (vectors - 1) / 2;
}

OuterParameters outer_parameters(const Model& model) {
  OuterParameters p;
  add_ends(model, p);
  p.positions = model.learned_positions * model.hidden;
  if (model.embedding_norm) p.embedding_norm = norm(model, model.hidden);
  if (model.final_norm) p.final_norm = norm(model, model.hidden);
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
  const Recommender& r = model.recommender;
  const int64_t unmet = (r.rows - std::min(r.rows, r.tables * r.lookups)) * model.hidden;
  return sum(model,
             [](const Block& block, const LayerParameters& p) {
               return p.with_experts(block.experts ? block.experts->active : 0);
             }) -
         unmet;
}

int64_t kv_bytes_per_token(const Model& model, int64_t bytes_per_element) {
  int64_t elements = 0;
  if (model.family != Family::decoder) return 0;
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

Result<void> check_recommender(const Model& m) {
  const Recommender& r = m.recommender;
  const std::array bounds{
      Bound{"the number of dense features", r.dense, 1, kMostWidth},
      Bound{"the number of tables", r.tables, 1, kMostHeads},
      Bound{"the number of rows of all tables", r.rows, r.tables, kMostRows},
      Bound{"the number of embedding lookups in a table", r.lookups, 1, kMostHeads},
      Bound{"the number of matrix multiplications of the first MLP", static_cast<int64_t>(r.bottom.size()), 1,
            kMostLayers},
      Bound{"the number of matrix multiplications of the last MLP", static_cast<int64_t>(r.top.size()), 1, kMostLayers},
  };
  CHAKRA_TRY(check_bounds(bounds));
  for (const std::vector<int64_t>* widths : {&r.bottom, &r.top})
    for (const int64_t width : *widths)
      CHAKRA_TRY(check_bounds(std::array{Bound{"the width of an MLP", width, 1, kMostWidth}}));
  if (r.bottom.back() != m.hidden)
    return fail(Code::bad_input, "gen.model.divide",
                fmt::format("the first MLP ends with {} numbers; a row of a table has {}", r.bottom.back(), m.hidden));
  return {};
}

/// What is before and after the layers.
Result<void> check_ends(const Model& m) {
  switch (m.family) {
    case Family::decoder: return check_bounds(std::array{Bound{"the vocabulary", m.vocabulary, 1, kMostWidth}});
    case Family::vision:
    case Family::diffusion:
      return check_bounds(
          std::array{Bound{"the number of classes", m.vocabulary, 1, kMostWidth},
                     Bound{"the number of patches", m.patches.count, 1, kMostWidth},
                     Bound{"the width of a patch", m.patches.width, 1, kMostWidth},
                     Bound{"the outputs per patch", m.noise_width, m.family == Family::diffusion, kMostWidth}});
    case Family::mlp: return {};
    case Family::recommender: return check_recommender(m);
  }
  CHAKRA_ASSERT(false);
  return {};
}

}  // namespace

Result<void> check_model(const Model& m) {
  const bool layered = m.family != Family::recommender;
  const std::array bounds{
      Bound{"the hidden width", m.hidden, 1, kMostWidth},
      Bound{"the number of learned positions", m.learned_positions, 0, kMostWidth},
      Bound{"the sequence", m.sequence, 1, kMostWidth},
      Bound{"the number of layers", static_cast<int64_t>(m.layers.size()), layered ? 1 : 0, layered ? kMostLayers : 0},
      Bound{"the number of layers of multi-token prediction", m.mtp_layers, 0,
            m.family == Family::decoder ? kMostLayers : 0},
  };
  CHAKRA_TRY(check_bounds(bounds));
  CHAKRA_TRY(check_ends(m));
  if (m.family != Family::mlp)
    for (const Block& block : m.blocks) CHAKRA_TRY(check_block(block));
  for (const uint8_t kind : m.layers) CHAKRA_ASSERT(kind < m.blocks.size());
  if (const double elements = upper_bound(m); elements > kMostElements)
    return fail(Code::bad_input, "gen.model.large",
                fmt::format("about {:.3g} parameters; at most {:.3g} are possible", elements, kMostElements));
  return {};
}

}  // namespace chakra::model
