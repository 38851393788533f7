// Parameters of models, against published numbers and against transformers.
#include "chakra/model/model.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "chakra/base/testing/testing.h"

namespace chakra::model {
namespace {

using testing::tag_of;

const Model& preset(std::string_view name) {
  if (const ModelRow* const row = find_model(name)) return row->model;
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
  std::ifstream file("chakra/model/testing/model_parameters.txt");
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
    if (row.name != "deepseek" && !row.source.ends_with("chakra's keys") && row.name != "dit")  // not in transformers
      EXPECT_GE(lines[std::string(row.name)], 12) << row.name;
}

TEST(Config, GivesThePresets) {
  std::ifstream file("chakra/model/testing/published_models.jsonl");
  std::map<int64_t, Model> read;  // by parameters
  for (std::string line; std::getline(file, line);) {
    Findings findings;
    auto model = parse_config(line, "config.json", findings);
    ASSERT_TRUE(model) << line;
    read.emplace(parameters(*model), std::move(*model));
  }
  for (const auto name : {"llama3-8b", "qwen3-8b", "qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v2", "deepseek-v3"}) {
    const Model& m = preset(name);
    const auto found = read.find(parameters(m));
    ASSERT_NE(found, read.end()) << name;
    EXPECT_EQ(found->second.blocks, m.blocks) << name;
    EXPECT_EQ(found->second.layers, m.layers) << name;
    EXPECT_EQ(active_parameters(found->second), active_parameters(m)) << name;
  }
}

Result<Model> parsed(std::string_view text, Findings& findings, const ConfigOptions& options = {}) {
  return parse_config(text, "config.json", findings, options);
}
Result<Model> parsed(std::string_view text) {
  Findings findings;
  return parsed(text, findings);
}
std::vector<std::string> named(const Findings& findings) {
  std::vector<std::string> tags;
  for (const Finding& f : findings) tags.push_back(f.tag);
  return tags;
}

TEST(Config, NamesWhatItDoesNotUnderstand) {
  using Tags = std::vector<std::string>;
  const auto tags = [](std::string_view text) {
    Findings findings;
    EXPECT_TRUE(parsed(text, findings)) << text;
    return named(findings);
  };
  EXPECT_EQ(tags(R"({"model_type": "llama", "rope_theta": 5e5, "torch_dtype": "bfloat16", "new_key": null})"), Tags{});
  EXPECT_EQ(tags(R"({"model_type": "llama", "num_memory_blocks": 3})"), Tags{"gen.model.unknown_key"});
  // A key of another kind of model does not reach this one.
  EXPECT_EQ(tags(R"({"model_type": "llama", "num_experts": 3})"), Tags{"gen.model.unknown_key"});
  EXPECT_EQ(tags(R"({"model_type": "gpt2", "pruned_heads": {"0": [1]}})"), Tags{"gen.model.unknown_key"});
  EXPECT_EQ(tags(R"({"model_type": "gpt2", "pruned_heads": {}})"), Tags{});
  EXPECT_EQ(tags(R"({"model_type": "deepseek_v3", "moe_layer_freq": 2})"), Tags{"gen.model.unknown_key"});
  EXPECT_EQ(tags(R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1})"), Tags{"gen.model.mtp"});
}

TEST(Config, AddsLayersOfMultiTokenPredictionWhereAsked) {
  constexpr std::string_view text = R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1})";
  Findings findings;
  const auto with = parsed(text, findings, {true}), without = parsed(text);
  ASSERT_TRUE(with && without);
  EXPECT_EQ(findings.size(), 0u);
  // A layer of experts, the projection of two vectors to one, three norms.
  const int64_t attention = 7168 * 1536 + 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 + 512 * 128 * 256 + 16384 * 7168;
  const int64_t layer = attention + 2 * 7168 + 256 * 7168 + int64_t{257} * 3 * 7168 * 2048;
  EXPECT_EQ(parameters(*with) - parameters(*without), layer + 2 * 7168 * 7168 + 3 * 7168);
  EXPECT_EQ(parameters(*without), 671'026'404'352);
}

TEST(Config, KnowsWhichLayersLookBackOnlySoFar) {
  const auto windows = [](std::string_view text) {
    std::string all;
    const auto model = parsed(text);
    EXPECT_TRUE(model) << text;
    for (size_t i = 0; model && i < model->layers.size(); ++i) all += model->block(i).attention.window > 0 ? 'w' : '-';
    return all;
  };
  EXPECT_EQ(windows(R"({"model_type": "mistral", "num_hidden_layers": 3})"), "www");
  EXPECT_EQ(windows(R"({"model_type": "mistral", "num_hidden_layers": 3, "sliding_window": null})"), "---");
  EXPECT_EQ(windows(R"({"model_type": "gemma2", "num_hidden_layers": 5})"), "w-w-w");
  EXPECT_EQ(windows(R"({"model_type": "gemma3_text", "num_hidden_layers": 7})"), "wwwww-w");
  EXPECT_EQ(windows(R"({"model_type": "qwen2", "num_hidden_layers": 3, "max_window_layers": 1})"), "---");
  EXPECT_EQ(windows(R"({"model_type": "qwen2", "num_hidden_layers": 3, "max_window_layers": 1,
                        "use_sliding_window": true})"),
            "-ww");
  EXPECT_EQ(windows(R"({"model_type": "qwen3", "num_hidden_layers": 2, "use_sliding_window": true,
                        "layer_types": ["full_attention", "sliding_attention"]})"),
            "-w");
}

TEST(Config, TakesKeysOfOurOwn) {
  const auto same = [](std::string_view text, std::string_view name) {
    Findings findings;
    const auto model = parsed(text, findings);
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ(named(findings), std::vector<std::string>{});
    EXPECT_EQ(model->name, name);
    EXPECT_EQ(model->blocks, preset(name).blocks);
    EXPECT_EQ(model->layers, preset(name).layers);
    EXPECT_EQ(parameters(*model), parameters(preset(name)));
  };
  same(R"(
model_type: transformer
name: gpt3-175b
hidden: 12288
vocabulary: 50257
sequence: 2048
positions: 2048
layers: 96
heads: 96
width: 49152
gated: false
mlp_bias: true
q_bias: true
kv_bias: true
out_bias: true
norm: layer
tied: true
)",
       "gpt3-175b");
  same(R"(
model_type: transformer
name: deepseek-v3
hidden: 7168
vocabulary: 129280
sequence: 163840
layers: 61
heads: 128
head_dim: 192
value_dim: 128
q_rank: 1536
kv_rank: 512
rope_dim: 64
width: 18432
dense_layers: 3
experts: 256
active_experts: 8
expert_width: 2048
shared_width: 2048
)",
       "deepseek-v3");
  EXPECT_EQ(tag_of(parsed("model_type: transformer\nhidden: 8")), "gen.model.key");
}

struct Refused {
  std::string_view text, tag;
};

TEST(Config, RefusesWhatCannotBe) {
  constexpr auto rows = std::to_array<Refused>({
      {"", "gen.model.key"},
      {"[]", "gen.model.key"},
      {"7", "gen.model.key"},
      {"{}", "gen.model.type"},
      {R"({"model_type": null})", "gen.model.type"},
      {R"({"model_type": ["llama"]})", "gen.model.type"},
      {R"({"model_type": "mamba"})", "gen.model.type"},
      {R"({"model_type": "llama", "model_type": "gpt2"})", "base.spec.duplicate_key"},
      {R"({"model_type": "llama", "hidden_size": 40)", "base.spec.syntax"},
      {R"({"model_type": "llama", "hidden_size": "4096"})", "gen.model.key"},
      {R"({"model_type": "llama", "hidden_size": 4096.5})", "gen.model.key"},
      {R"({"model_type": "llama", "hidden_size": [4096]})", "gen.model.key"},
      {R"({"model_type": "llama", "hidden_size": {}})", "gen.model.key"},
      {R"({"model_type": "llama", "hidden_size": null})", "gen.model.key"},
      {R"({"model_type": "llama", "hidden_size": true})", "gen.model.key"},
      {R"({"model_type": "llama", "attention_bias": "true"})", "gen.model.key"},
      {R"({"model_type": "llama", "attention_bias": 2})", "gen.model.key"},
      {R"({"model_type": "llama", "hidden_size": 0})", "gen.model.range"},
      {R"({"model_type": "llama", "hidden_size": -4096})", "gen.model.range"},
      {R"({"model_type": "llama", "hidden_size": 9223372036854775807})", "gen.model.range"},
      {R"({"model_type": "llama", "hidden_size": 99999999999999999999})", "gen.model.key"},
      {R"({"model_type": "llama", "hidden_size": 1e300})", "gen.model.key"},
      {R"({"model_type": "llama", "num_hidden_layers": 268435456})", "gen.model.range"},
      {R"({"model_type": "llama", "num_attention_heads": 0})", "gen.model.range"},
      {R"({"model_type": "llama", "num_key_value_heads": 5})", "gen.model.divide"},
      {R"({"model_type": "gpt2", "n_head": 7})", "gen.model.divide"},
      {R"({"model_type": "gpt2", "n_head": 12, "num_attention_heads": 6})", "gen.model.key"},
      {R"({"model_type": "gpt2", "add_cross_attention": true})", "gen.model.unsupported"},
      {R"({"model_type": "mixtral", "num_experts_per_tok": 9})", "gen.model.range"},
      {R"({"model_type": "mixtral", "num_local_experts": 1048576, "intermediate_size": 268435456})", "gen.model.large"},
      {R"({"model_type": "qwen3_moe", "mlp_only_layers": 3})", "gen.model.key"},
      {R"({"model_type": "qwen3_moe", "mlp_only_layers": [-1]})", "gen.model.range"},
      {R"({"model_type": "qwen3_moe", "decoder_sparse_step": 0})", "gen.model.range"},
      {R"({"model_type": "gemma2", "layer_types": ["full_attention"]})", "gen.model.key"},
      {R"({"model_type": "gemma2", "num_hidden_layers": 1, "layer_types": ["linear_attention"]})",
       "gen.model.unsupported"},
      {R"({"model_type": "deepseek_v3", "n_routed_experts": 0})", "gen.model.range"},
      {R"({"model_type": "opt", "word_embed_proj_dim": 512})", "gen.model.unsupported"},
  });
  for (const Refused& row : rows) {
    const auto model = parsed(row.text);
    ASSERT_FALSE(model) << row.text;
    EXPECT_EQ(tag_of(model), row.tag) << row.text << "\n" << model.error().message();
    EXPECT_EQ(model.error().place.file, "config.json") << row.text;
  }
  Findings findings;
  EXPECT_EQ(read_config("/nowhere/config.json", findings).error().code, Code::io);
}

TEST(Config, OfAnyLengthIsAnErrorOrAModel) {
  std::ifstream file("chakra/model/testing/published_models.jsonl");
  for (std::string line; std::getline(file, line);)
    for (size_t length = 0; length < line.size(); length += 7) EXPECT_FALSE(parsed(line.substr(0, length))) << length;
  std::string deep = R"({"model_type": "llama", "x": )" + std::string(100'000, '[');
  EXPECT_FALSE(parsed(deep));
}

TEST(Models, AreTheSumOfTheirParts) {
  for (const ModelRow& row : models()) {
    const Model& m = row.model;
    const OuterParameters o = outer_parameters(m);
    int64_t sum = o.embedding + o.positions + o.embedding_norm + o.final_norm + o.head;
    for (size_t i = 0; i < m.layers.size(); ++i) {
      const LayerParameters p = layer_parameters(m, m.block(i));
      sum += p.query + p.key_value + p.output + p.norms + p.modulation + p.mlp + p.router + p.experts * p.expert +
             p.shared;
    }
    EXPECT_EQ(sum, parameters(m)) << row.name;
  }
}

}  // namespace
}  // namespace chakra::model
