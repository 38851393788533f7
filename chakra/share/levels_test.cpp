// What copies of generated jobs still show about the model, by level of hiding.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "chakra/base/testing/testing.h"
#include "chakra/edit/edit.h"
#include "chakra/gen/gen.h"
#include "chakra/synth/synth.h"

namespace chakra::share {
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
      if (has_norms) EXPECT_EQ(guess.width, row.model.hidden) << at;
      int64_t experts = 0;
      for (const model::Block& block : row.model.blocks)
        if (block.experts) experts = std::max(experts, block.experts->count);
      EXPECT_EQ(guess.experts, experts) << at;
      if (!has_norms) continue;
      ++tried;
      exact += guess.layers == layers;
      if (!row.model.has_experts() && layers > 8) EXPECT_EQ(guess.layers, layers) << at;
    }
  }
  EXPECT_GE(tried, 50);
  EXPECT_GE(exact * 10, tried * 8) << "a model whose first layers differ shows the others";
}

TEST(Grid, ShipsCellsOfFivePublishedWidths) {
  const edit::Cells cells = edit::shipped_grid().widths;
  for (size_t i = 0; i < cells.size(); ++i) {
    const edit::Cell& cell = cells[i];
    const auto inside = std::count_if(synth::kPopularWidths.begin(), synth::kPopularWidths.end(), [&](int64_t width) {
      const auto is = static_cast<double>(width);
      return cell.low <= is && is <= cell.high;
    });
    if (i > 0) EXPECT_GE(inside, 5) << cell.low;  // the first cell has widths of toys
    if (i > 0) EXPECT_LT(cells[i - 1].high, cell.low);
    EXPECT_TRUE(cell.low <= cell.shown && cell.shown <= cell.high);
  }
}

/// A decoder of that width. `parts`: of an eighth of the width for the MLP.
model::Model decoder(int64_t width, int64_t parts) {
  model::ModelChange change;
  change.layers = 4;
  change.hidden = width;
  change.heads = change.kv_heads = width / 64;
  change.head_dim = 64;
  change.ffn = width / 8 * parts;
  return model::changed(model::find_model("llama3-8b")->model, change).value();
}

/// Sizes of the communications of a job, as a reader sees them.
std::vector<uint64_t> sizes_of(const trace::ClassJob& job) {
  std::vector<uint64_t> sizes;
  for (const trace::Trace& t : job.classes)
    for (const trace::NodeId n : t.nodes())
      if (t.comm(n)) sizes.push_back(t.comm(n)->bytes);
  return sizes;
}

/// Widths that an attacker tries, as published models have them.
constexpr auto kTried = std::to_array<int64_t>({768,  1024, 1280, 1536, 2048, 2304, 2560, 2816, 3072,  3200,  3584,
                                                4096, 4608, 5120, 5376, 6144, 6656, 7168, 8192, 10240, 12288, 16384});

/// The attacker knows the mechanism, and generates the job with each width of the cell.
TEST(Sizes, ShowNoMoreThanTheCellOfTheWidth) {
  const edit::Grid grid = edit::shipped_grid();
  Prng random(20);
  double found = 0, chance = 0, raw = 0;
  int jobs = 0;
  for (int round = 0; round < 40; ++round) {
    gen::StepOptions o;
    o.tp = 1 << random.below(3), o.pp = 1 << random.below(2), o.dp = 1 + random.below(4);
    o.zero = o.pp == 1 ? random.below(4) : random.below(2);
    o.micro_batches = 4;
    o.sequence = 2048 << random.below(3);
    o.sequence_parallel = random.chance(0.5);
    const int64_t parts = 22 + static_cast<int64_t>(random.below(11));
    std::map<const edit::Cell*, std::vector<std::vector<uint64_t>>> copies;
    for (const int64_t width : kTried) {
      o.model = decoder(width, parts);
      const auto job = gen::step(o);
      if (!job) continue;  // heads that tp does not divide
      ++jobs;
      const int64_t guess = synth::guess_attributes(*job).width;
      raw += guess == width;
      edit::HiddenSizes hidden;
      copies[&edit::cell_of(grid.widths, static_cast<double>(width))].push_back(
          sizes_of(edit::hide_sizes(*job, {grid, guess, false}, hidden)));
    }
    for (const auto& [cell, sizes] : copies) {
      const std::set<std::vector<uint64_t>> different(sizes.begin(), sizes.end());
      found += static_cast<double>(different.size());
      chance += 1;
    }
  }
  EXPECT_EQ(raw, jobs) << "an attack that finds nothing proves nothing";
  EXPECT_LE(found / jobs, chance / jobs + 0.05);
}

}  // namespace
}  // namespace chakra::share
