// Models other than decoders: parameters, and rejected keys.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/model/model.h"

namespace chakra::model {
namespace {

const Model& known(std::string_view name) { return find_model(name)->model; }

Model from(std::string_view text) {
  Findings findings;
  auto model = parse_config(text, "config.json", findings);
  EXPECT_TRUE(model) << model.error().message();
  EXPECT_TRUE(findings.empty());
  return std::move(*model);
}

TEST(Families, HaveThePublishedParameters) {
  // ViT: transformers' ViTForImageClassification with 1,000 labels. DiT: its own class in torch, positions left out,
  // which are not trained. DLRM: torch.
  for (const auto& [name, count] : std::initializer_list<std::pair<const char*, int64_t>>{{"vit-b16", 86'567'656},
                                                                                          {"vit-l16", 304'326'632},
                                                                                          {"vit-h14", 632'045'800},
                                                                                          {"dit-s2", 32'865'056},
                                                                                          {"dit-b2", 130'315'808},
                                                                                          {"dit-l2", 457'840'672},
                                                                                          {"dit-xl2", 674'834'720},
                                                                                          {"mlp-6", 6 * 512 * 512},
                                                                                          {"dlrm", 24'036'595'969}}) {
    EXPECT_EQ(parameters(known(name)), count) << name;
    EXPECT_EQ(kv_bytes_per_token(known(name), 2), 0) << name;
  }
  const auto dit = [](const char* more) { return parameters(from(fmt::format(R"({{"model_type": "dit"{}}})", more))); };
  EXPECT_EQ(dit(""), 674'834'720);
  EXPECT_EQ(dit(R"(, "patch_size": 8)"), 675'664'640);
  EXPECT_EQ(dit(R"(, "input_size": 64, "class_dropout_prob": 0.0, "learn_sigma": false, "num_classes": 10,
                   "in_channels": 3)"),
            673'665'420);
  // Rows of tables that an example meets.
  EXPECT_EQ(active_parameters(known("dlrm")), 24'036'595'969 - int64_t{187'767'399 - 26} * 128);
}

TEST(Families, RefuseKeysThatCannotBe) {
  Findings findings;
  for (const char* text :
       {R"({"model_type": "vit", "num_labels": 0})", R"({"model_type": "vit", "image_size": 8})",
        R"({"model_type": "vit", "image_size": [1, 2, 3]})", R"({"model_type": "vit", "id2label": [1]})",
        R"({"model_type": "vit", "image_size": 268435456, "patch_size": 1})",
        R"({"model_type": "vit", "image_size": 268435456, "patch_size": 268435456, "num_channels": 268435456})",
        R"({"model_type": "dit", "input_size": 268435456, "patch_size": 268435456, "in_channels": 268435456})",
        R"({"model_type": "dit", "hidden_size": 50})", R"({"model_type": "dit", "mlp_ratio": 4.5})",
        R"({"model_type": "mlp", "hidden": 8})", R"({"model_type": "mlp", "hidden": 8, "layers": 0})",
        R"({"model_type": "dlrm"})",
        R"({"model_type": "dlrm", "dense": 1, "hidden": 8, "tables": 1, "rows": 1, "bottom": [9], "top": [1]})",
        R"({"model_type": "dlrm", "dense": 1, "hidden": 8, "tables": 1, "rows": 1, "bottom": [], "top": [1]})",
        R"({"model_type": "dlrm", "dense": 1, "hidden": 8, "tables": 1, "rows": 1, "bottom": [8], "top": [0]})"})
    EXPECT_FALSE(parse_config(text, "config.json", findings)) << text;
}

}  // namespace
}  // namespace chakra::model
