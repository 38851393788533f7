// Builders of models that are no decoders.
#include "chakra/model/build.h"

namespace chakra::model::build {
namespace {

/// A transformer for images: bidirectional multi-head attention with biases.
Model of_pictures(int64_t hidden, Family family, const Patches& patches) {
  Model m;
  m.family = family;
  m.hidden = hidden;
  m.patches = patches;
  m.sequence = patches.count;
  m.norm = Norm::layer;
  m.causal = false;
  return m;
}

int64_t patches_of(Keys& k, std::string_view key, int64_t picture, int64_t patch) {
  if (picture < patch)
    k.refuse(key, "gen.model.divide",
             fmt::format("an image of size {} cannot be divided into patches of size {}", picture, patch));
  return std::max<int64_t>(picture / patch, 1);  // without the rest
}

/// Multiply. Limit the result to a number that check_model() refuses.
int64_t product(int64_t a, int64_t b) { return std::min(a * b, int64_t{1} << 29); }

}  // namespace

Model vit(Keys& k) {
  const auto picture = k.pair("image_size"), patch = k.pair("patch_size");
  const int64_t channels = k.number("num_channels"), hidden = k.number("hidden_size");
  Model m = of_pictures(
      hidden, Family::vision,
      {product(patches_of(k, "image_size", picture[0], patch[0]), patches_of(k, "image_size", picture[1], patch[1])),
       product(product(patch[0], patch[1]), channels)});
  m.sequence = m.learned_positions = m.patches.count + 1;
  m.norm_bias = m.head_bias = true;
  const auto labels = k.entries("id2label"), number = k.maybe("num_labels");
  m.vocabulary = number ? *number : labels.value_or(2);
  Block b;
  b.attention = multi_head(k, m);
  b.attention.q_bias = b.attention.kv_bias = k.flag("qkv_bias");
  b.attention.out_bias = true;
  b.mlp = {k.number("intermediate_size"), false, true};
  add_equal_layers(k, m, b);
  return m;
}

Model dit(Keys& k) {
  const int64_t size = k.number("input_size"), patch = k.number("patch_size"), channels = k.number("in_channels");
  const int64_t side = patches_of(k, "input_size", size, patch), hidden = k.number("hidden_size");
  Model m = of_pictures(hidden, Family::diffusion, {product(side, side), product(product(patch, patch), channels)});
  m.noise_width = m.patches.width * (k.flag("learn_sigma") ? 2 : 1);
  m.norm_weight = m.norm_bias = false;
  const std::string dropped = k.word("class_dropout_prob");
  const bool never = dropped.find_first_not_of("0.") == std::string::npos && !dropped.empty();
  m.vocabulary = k.number("num_classes") + (never ? 0 : 1);
  Block b;
  const int64_t heads = k.number("num_heads");
  b.attention = with_width(heads, heads, quotient(k, hidden, heads));
  set_biases(b.attention, true);
  b.mlp = {k.number("mlp_ratio") * hidden, false, true};
  add_equal_layers(k, m, b, "depth");
  return m;
}

Model mlp(Keys& k) {
  Model m = without_tokens(k.word("name"), Family::mlp, k.number("hidden"));
  Block block;
  block.mlp.bias = k.flag("bias");
  add_layers(k, m, "layers", [&](int64_t i) {
    block.first = i == 0;
    return block;
  });
  return m;
}

Model dlrm(Keys& k) {
  Model m = without_tokens(k.word("name"), Family::recommender, k.number("hidden"));
  Recommender& r = m.recommender;
  r.dense = k.number("dense");
  r.tables = k.number("tables");
  r.rows = r.tables * k.number("rows");
  r.lookups = k.number("lookups");
  r.bottom = k.numbers("bottom");
  r.top = k.numbers("top");
  return m;
}

}  // namespace chakra::model::build
