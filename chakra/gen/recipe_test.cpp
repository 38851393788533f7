// A recipe is all options: those that it reads are those that it was made of.
#include "chakra/gen/recipe.h"

#include <gtest/gtest.h>

#include "chakra/gen/gen.h"

namespace chakra::gen {
namespace {

using model::ModelRow, model::models;

TEST(Recipe, OfEveryKnownModelReadsBackAsItWas) {
  for (const ModelRow& row : models()) {
    SCOPED_TRACE(row.name);
    StepOptions o;
    o.model = row.model;
    o.model.name = "a;b=c%d";
    o.tp = 4, o.pp = 2, o.zero = 3, o.zero_ranks = 2;
    o.efficiency = 0.1234567890123456789;
    o.dropout = false;
    o.optimizer = 3;
    o.framework = {14, true, true, true, 8};
    o.storage.data_tier = "disk;%3B";
    const std::string text = recipe(o);
    const std::optional<StepOptions> read = read_recipe(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(recipe(*read), text);
    EXPECT_EQ(read->model.name, o.model.name);
    EXPECT_EQ(read->storage.data_tier, o.storage.data_tier);
    EXPECT_EQ(read->model.blocks, o.model.blocks);
    EXPECT_EQ(read->model.layers, o.model.layers);
    EXPECT_EQ(read->efficiency, o.efficiency);
    EXPECT_EQ(read->dropout, o.dropout);
    EXPECT_EQ(read->optimizer, o.optimizer);
    o.dropout.reset();
    EXPECT_FALSE(read_recipe(recipe(o))->dropout);
  }
}

TEST(Recipe, OfServingReadsBackAsItWas) {
  for (const ModelRow& row : models()) {
    SCOPED_TRACE(row.name);
    ServeOptions o;
    o.model = row.model;
    o.mesh = {2, 3, 4, 2};
    o.prefill.tp = 8;
    o.contexts = {5, 1, 3};
    o.steps = 7, o.chunk = 11, o.kv_bytes_per_element = 1;
    o.overlap = false, o.fp8 = true;
    o.kv_tier = "disk;", o.kv_tier_share = 0.3;
    o.pass_ns = 1000, o.sequence_ns = 20;
    const std::string text = recipe(o);
    const std::optional<ServeOptions> read = read_serve_recipe(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(recipe(*read), text);
    EXPECT_EQ(read->contexts, o.contexts);
    EXPECT_EQ(read->prefill.tp, 8);
    EXPECT_EQ(read->model.blocks, o.model.blocks);
    EXPECT_EQ(read->kv_tier_share, o.kv_tier_share);
    EXPECT_FALSE(read_recipe(text));
    EXPECT_FALSE(read_serve_recipe(recipe(StepOptions())));
  }
}

TEST(Recipe, DamagedTextsAreNone) {
  const std::string text = recipe(StepOptions{});
  EXPECT_TRUE(read_recipe(text));
  for (size_t cut = 0; cut < text.size(); ++cut)
    if (const auto read = read_recipe(text.substr(0, cut))) EXPECT_NE(recipe(*read), text);
  Prng random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text;
    for (int times = static_cast<int>(random.between(1, 4)); times > 0; --times)
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    if (const auto read = read_recipe(damaged)) (void)step(*read);  // an error, or a job: no crash
  }
}

}  // namespace
}  // namespace chakra::gen
