// What copies of generated jobs still show about the model, by level of hiding.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/gen/gen.h"
#include "chakra/synth/synth.h"

namespace chakra::job {
namespace {

struct Places {
  int64_t tp, pp, dp;
};
constexpr std::array<Places, 3> kPlaces{{{1, 1, 2}, {2, 2, 2}, {4, 4, 2}}};

TEST(Attributes, OfEveryModelWithoutProtection) {
  int tried = 0, exact = 0;
  for (const model::ModelRow& row : model::models()) {
    for (const Places& places : kPlaces) {
      gen::StepOptions o;
      o.model = row.model;
      o.tp = places.tp, o.pp = places.pp, o.dp = places.dp;
      const auto job = gen::step(o);
      if (!job) continue;
      const std::string at = fmt::format("{} tp {} pp {}", row.name, o.tp, o.pp);
      const synth::Attributes guess = synth::guess_attributes(*job);
      const bool has_norms = row.model.family != model::Family::mlp && row.model.family != model::Family::recommender;
      const auto layers = static_cast<int64_t>(row.model.layers.size());
      EXPECT_EQ(guess.stages, o.pp) << at;
      EXPECT_EQ(guess.width, has_norms ? row.model.hidden : 0) << at;
      EXPECT_EQ(guess.experts > 0, row.model.has_experts()) << at;
      if (!has_norms) continue;
      ++tried;
      exact += guess.layers == layers;
      if (!row.model.has_experts() && layers > 8) EXPECT_EQ(guess.layers, layers) << at;
    }
  }
  EXPECT_GE(tried, 50);
  EXPECT_GE(exact * 10, tried * 8) << "a model whose first layers differ shows the others";
}

}  // namespace
}  // namespace chakra::job
