// Parameters of models, against published numbers and against transformers.
#include "chakra/gen/model.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "chakra/base/testing/testing.h"

namespace chakra::gen {
namespace {

using testing::tag_of;

const Model& preset(std::string_view name) {
  for (const ModelRow& row : models())
    if (row.name == name) return row.model;
  static const Model none;
  ADD_FAILURE() << "no preset " << name;
  return none;
}

struct Golden {
  std::string_view name;
  int64_t parameters, active, kv_bytes;  ///< active 0: all of them; kv_bytes of bf16, 0: not compared
};

TEST(Models, HaveTheirPublishedSizes) {
  constexpr auto rows = std::to_array<Golden>({
      {"gpt3-175b", 174'604'259'328, 0, 4'718'592},
      {"gpt-165m", 165'272'064, 0, 36'864},
      {"llama2-7b", 6'738'415'616, 0, 524'288},
      {"llama2-70b", 68'976'648'192, 0, 327'680},
      {"llama3-8b", 8'030'261'248, 0, 131'072},
      {"llama3-70b", 70'553'706'496, 0, 327'680},
      {"llama3-405b", 405'853'388'800, 0, 516'096},
      {"mixtral-8x7b", 46'702'792'704, 12'879'925'248, 131'072},
      {"deepseek-moe-16b", 16'375'728'128, 2'828'650'496, 0},
  });
  for (const Golden& g : rows) {
    const Model& m = preset(g.name);
    EXPECT_EQ(parameters(m), g.parameters) << g.name;
    EXPECT_EQ(active_parameters(m), g.active ? g.active : g.parameters) << g.name;
    if (g.kv_bytes) EXPECT_EQ(kv_bytes_per_token(m, 2), g.kv_bytes) << g.name;
  }
}

TEST(Models, ArePossible) {
  for (const ModelRow& row : models()) {
    EXPECT_TRUE(check_model(row.model)) << row.name;
    EXPECT_EQ(row.model.name, row.name);
  }
}

/// Each line: the parameters that transformers counts, a blank, a config.json; tools/model_parameters.py writes it.
TEST(Config, HasTheParametersThatTransformersCounts) {
  std::ifstream file("chakra/gen/testing/model_parameters.txt");
  ASSERT_TRUE(file);
  std::map<std::string, int> lines;
  for (std::string line; std::getline(file, line);) {
    const size_t blank = line.find(' ');
    Findings findings;
    const auto model = parse_config(std::string_view(line).substr(blank + 1), "config.json", findings);
    if (!model) {
      ADD_FAILURE() << line << "\n" << model.error().message();
      continue;
    }
    EXPECT_EQ(parameters(*model), std::stoll(line.substr(0, blank))) << line;
    for (const Finding& finding : findings)
      EXPECT_NE(finding.tag, "gen.model.unknown_key") << line << "\n" << finding.text;
    ++lines[model->name];
  }
  for (const ModelTypeRow& row : model_types())
    if (row.name != "deepseek") EXPECT_GE(lines[std::string(row.name)], 12) << row.name;  // not in transformers
}

TEST(Models, AreTheSumOfTheirParts) {
  for (const ModelRow& row : models()) {
    const Model& m = row.model;
    const OuterParameters o = outer_parameters(m);
    int64_t sum = o.embedding + o.positions + o.embedding_norm + o.final_norm + o.head;
    for (size_t i = 0; i < m.layers.size(); ++i) {
      const LayerParameters p = layer_parameters(m, m.block(i));
      sum += p.query + p.key_value + p.output + p.norms + p.mlp + p.router + p.experts * p.expert + p.shared;
    }
    EXPECT_EQ(sum, parameters(m)) << row.name;
  }
}

}  // namespace
}  // namespace chakra::gen
