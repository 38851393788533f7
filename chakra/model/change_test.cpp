// Changes to models: rejected changes, and the effect of accepted changes.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/model/model.h"

namespace chakra::model {
namespace {

using testing::tag_of;

const Model& named_model(std::string_view name) { return find_model(name)->model; }

TEST(Change, OfWhatAModelHasNotIsRefused) {
  ModelChange change;
  change.heads = 4;
  EXPECT_EQ(tag_of(changed(named_model("mlp-6"), change)), "gen.step.unsupported");
  EXPECT_EQ(tag_of(changed(named_model("dlrm"), change)), "gen.step.unsupported");
  change = {};
  change.layers = 4;
  EXPECT_EQ(parameters(changed(named_model("mlp-6"), change).value()), 4 * 512 * 512);
  Findings findings;
  const auto one = parse_config(R"({"model_type": "mlp", "hidden": 8, "layers": 1})", "config.json", findings).value();
  const Model longer = changed(one, change).value();
  EXPECT_TRUE(longer.block(0).first && !longer.block(1).first && !longer.block(3).first);
  EXPECT_EQ(tag_of(changed(named_model("dlrm"), change)), "gen.step.unsupported");
  change = {};
  change.gated = false;
  EXPECT_EQ(tag_of(changed(named_model("mixtral-8x7b"), change)), "gen.step.unsupported");
  for (std::optional<int64_t> ModelChange::*number : {&ModelChange::kv_heads, &ModelChange::head_dim}) {
    change = {};
    change.*number = 64;
    EXPECT_EQ(tag_of(changed(named_model("deepseek-v3"), change)), "gen.step.unsupported");
  }
}

TEST(Change, OfHeadsMustDivide) {
  ModelChange change;
  change.heads = 7;
  EXPECT_EQ(tag_of(changed(default_model(), change)), "gen.step.divide");
  change.heads = 8;
  change.kv_heads = 3;
  EXPECT_EQ(tag_of(changed(default_model(), change)), "gen.step.divide");
}

/// Qwen 3 normalises each head's queries and keys, so another width of heads also changes these norms.
TEST(Change, OfWidthsReachesTheNormsOfHeads) {
  ModelChange change;
  change.head_dim = 64;
  const Model model = changed(named_model("qwen3-8b"), change).value();
  const int64_t d = 4096, h = 64, ffn = 12288,
                layer = d * 32 * h + 2 * d * 8 * h + 32 * h * d + 2 * d + 2 * h + 3 * d * ffn;
  EXPECT_EQ(parameters(model), 2 * d * 151936 + 36 * layer + d);
  EXPECT_EQ(parameters(model), 7'435'756'032);
}

}  // namespace
}  // namespace chakra::model
