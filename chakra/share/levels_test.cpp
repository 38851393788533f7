// What copies of generated jobs still show about the model, by level of hiding.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
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
  int tried = 0, exact = 0, counted = 0;
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
      counted += guess.layers_by_counts == layers;
      if (!row.model.has_experts() && layers > 8) EXPECT_EQ(guess.layers, layers) << at;
    }
  }
  EXPECT_GE(tried, 50);
  EXPECT_GE(exact * 10, tried * 8) << "a model whose first layers differ shows the others";
  EXPECT_GE(counted * 10, tried * 9) << "counts of operations also find layers that differ";
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

TEST(Grid, ShipsCellsOfFiveNumbersOfLayers) {
  // Of published models: BERT and GPT-2, Llama 1 to 3, Gemma, Qwen, OLMo, Falcon, DeepSeek, Mixtral, PaLM and others.
  constexpr auto kPublished =
      std::to_array<double>({4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 27, 28, 30, 32, 34, 36,  40,  42,
                             44, 46, 48, 52, 56, 60, 61, 62, 64, 70, 72, 80, 88, 92, 94, 95, 96, 105, 118, 126});
  const edit::Cells cells = edit::shipped_grid().layers;
  for (size_t i = 0; i < cells.size(); ++i) {
    const edit::Cell& cell = cells[i];
    const auto inside = std::count_if(kPublished.begin(), kPublished.end(),
                                      [&](double layers) { return cell.low <= layers && layers <= cell.high; });
    if (i > 0) EXPECT_GE(inside, static_cast<int64_t>(edit::kLeastLayers)) << cell.low;
    if (i > 0) EXPECT_EQ(cells[i - 1].high + 1, cell.low);
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

/// Jobs whose sizes depend on the members of groups: parts of small tensors, shares of parameters, adapters, experts.
std::vector<gen::StepOptions> jobs_of_several_kinds() {
  std::vector<gen::StepOptions> jobs;
  for (const int64_t zero : {1, 2, 3}) {
    gen::StepOptions o;
    o.model = decoder(768, 28);
    o.dp = 8, o.zero = zero;
    jobs.push_back(o);
    o.dp = 4, o.tp = 2, o.clip = true;
    jobs.push_back(o);
    o.lora_rank = 16;
    jobs.push_back(o);
    o.lora_rank = 0, o.cp = 2, o.context = gen::ContextKind::gather;
    jobs.push_back(o);
    o.cp = 1, o.zero_ranks = 2;
    jobs.push_back(o);
  }
  for (const char* const name : {"mixtral-8x7b", "deepseek-moe-16b", "vit-b16", "dlrm"}) {
    gen::StepOptions o;
    o.model = model::find_model(name)->model;
    o.dp = 2, o.zero = 3;
    if (o.model.layers.size() > 4) o.model.layers.resize(4);
    if (o.model.has_experts()) o.ep = 2;
    jobs.push_back(o);
  }
  return jobs;
}

TEST(Sizes, OfClassesAreThoseOfRanks) {
  const edit::Grid grid = edit::shipped_grid();
  int64_t parts = 0;  // of small tensors, which are not small themselves
  for (const gen::StepOptions& o : jobs_of_several_kinds()) {
    const auto job = gen::step(o);
    ASSERT_TRUE(job) << job.error().message();
    const edit::SizeHiding hiding{grid, o.model.hidden, false};
    edit::HiddenSizes hidden;
    const trace::TraceSet by_class = trace::expand(edit::hide_sizes(*job, hiding, hidden)),
                          before = trace::expand(*job);
    edit::FleetJob of_classes, of_ranks;
    of_classes.width = of_ranks.width = o.model.hidden;
    edit::add_sizes(*job, of_classes);
    ASSERT_EQ(by_class.ranks.size(), before.ranks.size());
    for (size_t r = 0; r < before.ranks.size(); ++r) {
      const trace::Trace& t = before.ranks[r];
      edit::add_sizes(t, {}, of_ranks);
      const trace::Trace by_rank = edit::hide_sizes(t, {}, hiding, hidden);
      for (const trace::NodeId n : t.nodes()) {
        if (!t.comm(n)) continue;
        const trace::Comm &a = *by_class.ranks[r].comm(n), &b = *by_rank.comm(n);
        ASSERT_EQ(std::tuple(a.bytes, a.in_bytes, a.out_bytes), std::tuple(b.bytes, b.in_bytes, b.out_bytes))
            << "rank " << t.rank << ", " << t.name_of(n) << ", before: " << t.comm(n)->bytes;
        parts += t.comm(n)->type == trace::CommType::all_gather &&
                 t.comm(n)->bytes < 200 * static_cast<uint64_t>(o.model.hidden) && b.bytes != 32768;
      }
    }
    EXPECT_EQ(of_classes.sizes, of_ranks.sizes);
  }
  EXPECT_GT(parts, 0) << "no size depended on the members of a group";
}

/// What a reader sees of the structure: kinds of nodes in order, and sizes of communications.
std::vector<uint64_t> structure_of(const trace::ClassJob& job) {
  std::vector<uint64_t> seen;
  for (const trace::Trace& t : job.classes) {
    seen.push_back(t.size());
    for (const trace::NodeId n : t.nodes()) {
      seen.push_back(static_cast<uint64_t>(t.type[n]));
      if (const trace::Comm* const comm = t.comm(n))
        seen.insert(seen.end(), {static_cast<uint64_t>(comm->type), comm->bytes});
      for (const trace::NodeId on : t.deps.of(n)) seen.push_back(static_cast<uint32_t>(on));
    }
  }
  return seen;
}

/// The attacker knows the mechanism, and generates the job with each number of layers of the cell. Copies are equal in
/// kinds, order, edges and sizes.
TEST(Layers, ShowNoMoreThanTheCellOfTheirNumber) {
  const edit::Grid grid = edit::shipped_grid();
  Prng random(21);
  double found = 0, chance = 0;
  int jobs = 0, raw = 0;
  for (int round = 0; round < 40; ++round) {
    gen::StepOptions o;
    o.tp = 1 << random.below(2), o.pp = 1 << random.below(2), o.dp = 1 + random.below(3);
    o.zero = o.pp == 1 ? random.below(4) : random.below(2);
    o.micro_batches = 1 + random.below(4);
    o.sequence_parallel = random.chance(0.5);
    o.overlap = random.chance(0.5);
    const edit::Cell& cell = grid.layers[1 + random.below(2)];
    std::vector<std::vector<uint64_t>> copies;
    for (int64_t layers = static_cast<int64_t>(cell.low); layers <= static_cast<int64_t>(cell.high); ++layers) {
      if (layers % o.pp != 0) continue;
      o.model = decoder(1024, 28);
      o.model.layers.assign(static_cast<size_t>(layers), 0);
      const auto job = gen::step(o);
      ASSERT_TRUE(job) << job.error().message();
      ++jobs;
      raw += synth::guess_attributes(*job).layers == layers;
      trace::ClassJob fewer = *job;
      std::vector<std::vector<uint8_t>> grows;
      int64_t longest = 0;
      for (const trace::Trace& cls : job->classes) longest = std::max(longest, edit::layers_of(cls));
      for (trace::Trace& cls : fewer.classes) {
        edit::HiddenLayers hidden;
        auto made = edit::hide_layers(cls, {cell, layers, o.pp, longest, true}, hidden);
        ASSERT_TRUE(made) << made.error().message();
        cls = std::move(*made);
        grows.push_back(std::move(hidden.grows));
      }
      edit::HiddenSizes sizes;
      copies.push_back(structure_of(edit::hide_sizes(fewer, {grid, 1024, false, cell.shown / cell.low}, sizes, grows)));
    }
    found += static_cast<double>(std::set(copies.begin(), copies.end()).size());
    chance += 1;
  }
  EXPECT_GE(raw * 10, jobs * 8) << "an attack that finds nothing proves nothing";
  EXPECT_LE(found / jobs, chance / jobs + 0.05) << "sums over all layers can lie in two cells";
}

}  // namespace
}  // namespace chakra::share
