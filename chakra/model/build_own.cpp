// A model in chakra's keys: the members of Model by name.
#include "chakra/model/build.h"

namespace chakra::model::build {
namespace {

int64_t or_zero(Keys& k, std::string_view key) { return k.maybe(key, 0).value_or(0); }

Attention own_attention(Keys& k, int64_t hidden) {
  Attention a;
  a.heads = k.number("heads");
  a.kv_heads = k.maybe("kv_heads").value_or(a.heads);
  const auto given = k.maybe("head_dim");
  a.head_dim = given ? *given : quotient(k, hidden, a.heads);
  a.value_dim = k.maybe("value_dim").value_or(a.head_dim);
  a.q_rank = or_zero(k, "q_rank");
  a.kv_rank = or_zero(k, "kv_rank");
  a.rope_dim = or_zero(k, "rope_dim");
  if (a.kv_rank == 0 && (a.q_rank > 0 || a.rope_dim > 0))
    k.refuse("kv_rank", "gen.model.key", "q_rank and rope_dim are of latent attention, which needs a kv_rank");
  a.window = or_zero(k, "window");
  a.q_bias = k.flag("q_bias");
  a.kv_bias = k.flag("kv_bias");
  a.out_bias = k.flag("out_bias");
  a.sinks = k.flag("sinks");
  const std::string norms = k.word("query_norm");
  if (norms == "head") a.q_norm = a.k_norm = a.head_dim;
  else if (norms == "all") norm_widths(a);
  else if (!norms.empty() && norms != "none")
    k.refuse("query_norm", "gen.model.key",
             fmt::format("unknown query_norm {}; expected none, head or all", quote(norms)));
  return a;
}

Experts own_experts(Keys& k, int64_t count) {
  Experts e;
  e.count = count;
  e.active = k.number("active_experts");
  e.width = k.number("expert_width");
  e.shared_width = or_zero(k, "shared_width");
  e.shared_gate = k.flag("shared_gate");
  e.bias = k.flag("expert_bias");
  e.shared_bias = k.flag("shared_bias");
  e.router_bias = k.flag("router_bias");
  return e;
}

}  // namespace

Model own(Keys& k) {
  Model m;
  m.name = k.word("name");
  m.hidden = k.number("hidden");
  m.vocabulary = k.number("vocabulary");
  m.sequence = k.number("sequence");
  m.learned_positions = or_zero(k, "positions");
  const std::string norm = k.word("norm");
  if (!norm.empty() && norm != "rms" && norm != "layer")
    k.refuse("norm", "gen.model.key", fmt::format("unknown norm {}; expected rms or layer", quote(norm)));
  m.norm = norm == "layer" ? Norm::layer : Norm::rms;
  m.norm_weight = k.flag("norm_weight");
  m.norm_bias = k.flag_or("norm_bias", m.norm == Norm::layer);
  m.embedding_norm = k.flag("embedding_norm");
  m.final_norm = k.flag("final_norm");
  m.tied = k.flag("tied");
  m.head_bias = k.flag("head_bias");
  m.causal = k.flag("causal");
  m.mtp_layers = or_zero(k, "mtp_layers");

  Block dense;
  dense.attention = own_attention(k, m.hidden);
  dense.norms = k.number("norms", 0);
  dense.parallel = k.flag("parallel");
  const auto width = k.maybe("width");
  dense.mlp = {width.value_or(0), k.flag("gated"), k.flag("mlp_bias")};
  Block sparse = dense;
  sparse.mlp = {};
  if (const int64_t count = or_zero(k, "experts"); count > 0) sparse.experts = own_experts(k, count);
  const int64_t layers = k.number("layers"), first = or_zero(k, "dense_layers"), period = k.number("expert_period");
  if (layers > kMostLayers)
    k.refuse("layers", "gen.model.range", fmt::format("layers is {}; from 1 to {} are possible", layers, kMostLayers));
  for (int64_t i = 0; i < layers && !k.failed(); ++i)
    add_layer(m, sparse.experts && i >= first && (i - first) % period == period - 1 ? sparse : dense);
  return m;
}

}  // namespace chakra::model::build
