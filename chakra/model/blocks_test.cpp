// The operators of a model's parts: their weights are the model's parameters, with and without adapters.
#include "chakra/model/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/real.h"

namespace chakra::model {
namespace {

using Place = BlockRow::Place;

TEST(Blocks, AreKindsOfParts) {
  const std::vector<BlockKind> kinds = block_kinds();
  ASSERT_GE(kinds.size(), 12U);
  for (const BlockKind& kind : kinds) EXPECT_FALSE(kind.operators.empty()) << kind.name;
  const auto at = std::find_if(kinds.begin(), kinds.end(), [](const BlockKind& k) { return k.name == "prediction"; });
  EXPECT_TRUE(at->operators.starts_with("hidden_norm, embedding, embedding_norm, pair, projection, attention.norm"));
}

TEST(Blocks, HaveTheParametersOfTheModel) {
  for (const ModelRow& row : models()) {
    const Model& m = row.model;
    const Batch batch{1, real(m.sequence)};
    double sum = trained(block_graph(Place::front, m, {}, batch)) + trained(block_graph(Place::end, m, {}, batch));
    if (m.tied) sum -= real(m.vocabulary) * real(m.hidden);  // the head has the table of the embedding
    for (size_t layer = 0; layer < m.layers.size(); ++layer)
      sum += trained(block_graph(Place::layer, m, m.block(layer), batch));
    EXPECT_EQ(sum, real(parameters(m))) << row.name;
  }
}

/// PEFT counts 41,943,040 for Llama 3 8B, and 13,631,488 of attention alone.
TEST(Blocks, TrainOnlyTheirAdapters) {
  const Model& m = find_model("llama3-8b")->model;
  const Graph graph = block_graph(Place::layer, m, m.block(0), {1, 64});
  EXPECT_EQ(32 * trained(adapted(graph, {16, true})), 41'943'040);
  EXPECT_EQ(32 * trained(adapted(graph, {16, false})), 13'631'488);
}

}  // namespace
}  // namespace chakra::model
