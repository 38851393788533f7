// Pipelines and experts whose numbers a copy does not show.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "chakra/base/testing/testing.h"
#include "chakra/edit/edit.h"
#include "chakra/gen/gen.h"
#include "chakra/synth/synth.h"
#include "chakra/trace/metadata.h"

namespace chakra::share {
namespace {

/// A decoder with narrow layers.
model::Model decoder(int64_t layers) {
  model::ModelChange change;
  change.layers = layers;
  change.hidden = 1024;
  change.heads = change.kv_heads = 16;
  change.head_dim = 64;
  change.ffn = 3584;
  return model::changed(model::find_model("llama3-8b")->model, change).value();
}

std::vector<edit::StageView> views_of(const trace::TraceSet& set) {
  std::vector<edit::StageView> views;
  for (const trace::Trace& t : set.ranks) views.push_back(edit::stage_view(t));
  return views;
}

/// What a reader sees, but for durations: ranks, groups, kinds of nodes, edges, messages, sizes and metadata.
std::vector<std::string> seen_of(const trace::TraceSet& set) {
  std::vector<std::string> seen;
  for (const trace::Trace& t : set.ranks) {
    seen.push_back(fmt::format("rank {} {} {}", t.rank, trace::metadata_number(t, "stages").value_or(-1),
                               trace::metadata_number(t, "stage").value_or(-1)));
    std::vector<size_t> members;
    for (const trace::ProcessGroup& group : t.groups) members.push_back(group.ranks.size());
    for (const size_t count : members) seen.push_back(fmt::format("group {}", count));
    for (const trace::NodeId n : t.nodes()) {
      std::string& node = seen.emplace_back(fmt::format("{}", static_cast<int>(t.type[n])));
      if (const trace::Comm* const c = t.comm(n))
        node += fmt::format(" {} {} {} {} {}", static_cast<int>(c->type), c->bytes, c->src, c->dst, c->tag);
      for (const trace::NodeId on : t.deps.of(n)) node += fmt::format(" on {}", static_cast<uint32_t>(on));
    }
  }
  return seen;
}

/// The attacker knows the mechanism, and generates the job with each number of stages of the cell.
TEST(Stages, ShowNoMoreThanTheCellOfTheirNumber) {
  const edit::Grid grid = edit::shipped_grid();
  Prng random(22);
  double found = 0, chance = 0;
  int jobs = 0, raw = 0;
  for (int round = 0; round < 12; ++round) {
    gen::StepOptions o;
    o.tp = 1 << random.below(2), o.dp = 1 + random.below(2);
    o.micro_batches = 1 + random.below(6);
    o.sequence_parallel = random.chance(0.5);
    o.schedule = random.chance(0.5) ? "1f1b" : "gpipe";
    const edit::Cell& cell = grid.stages[round % 2];
    std::set<std::vector<std::string>> copies;
    for (o.pp = static_cast<int64_t>(cell.low); o.pp <= static_cast<int64_t>(cell.high); ++o.pp) {
      o.model = decoder(o.pp * 3);
      const auto job = gen::step(o);
      ASSERT_TRUE(job) << job.error().message();
      ++jobs;
      raw += synth::guess_attributes(*job).stages == o.pp;
      const std::vector<edit::StageView> views = views_of(trace::expand(*job));
      const auto pipeline = edit::pipeline_of(views);
      ASSERT_TRUE(pipeline) << pipeline.error().message();
      EXPECT_EQ(pipeline->stages, o.pp);
      EXPECT_EQ(pipeline->micro_batches, o.micro_batches);
      const edit::StageHiding hiding = edit::stage_hiding(*pipeline, cell, views);
      std::vector<size_t> classes;
      edit::HiddenStages hidden;
      const auto kept = edit::keep_stages(*job, hiding, classes, hidden);
      ASSERT_TRUE(kept) << kept.error().message();
      EXPECT_EQ(kept->classes.size(), classes.size());
      EXPECT_EQ(std::ssize(kept->ranks) * o.pp, std::ssize(job->ranks) * hiding.shown());
      edit::HiddenSizes sizes;
      edit::SizeHiding by{grid, 1024, false};
      by.pass_growth = edit::growth(hiding);
      copies.insert(seen_of(trace::expand(edit::hide_sizes(*kept, by, sizes))));
    }
    found += static_cast<double>(copies.size());
    chance += 1;
  }
  EXPECT_EQ(raw, jobs) << "an attack that finds nothing proves nothing";
  EXPECT_LE(found / jobs, chance / jobs + 0.05);
}

TEST(Stages, OfRanksAreThoseOfClasses) {
  gen::StepOptions o;
  o.model = decoder(9);
  o.tp = 2, o.pp = 3, o.dp = 2, o.cp = 2;
  o.micro_batches = 4;
  const trace::ClassJob job = gen::step(o).value();
  const trace::TraceSet set = trace::expand(job);
  const std::vector<edit::StageView> views = views_of(set);
  const edit::StageHiding hiding =
      edit::stage_hiding(edit::pipeline_of(views).value(), edit::shipped_grid().stages[0], views);
  EXPECT_GT(hiding.stretch, 1);
  std::vector<size_t> classes;
  edit::HiddenStages hidden;
  const trace::TraceSet by_class = trace::expand(edit::keep_stages(job, hiding, classes, hidden).value());
  trace::TraceSet by_rank;
  for (const trace::Trace& t : set.ranks)
    if (hiding.ranks.contains(t.rank)) by_rank.ranks.push_back(edit::keep_stages(t, hiding, hidden).value());
  EXPECT_EQ(hidden.unstretched, 0) << "nothing was measured";
  ASSERT_EQ(by_class.ranks.size(), by_rank.ranks.size());
  EXPECT_EQ(seen_of(by_class), seen_of(by_rank));
  for (size_t r = 0; r < by_rank.ranks.size(); ++r)
    for (const trace::NodeId n : by_rank.ranks[r].nodes())
      ASSERT_EQ(by_rank.ranks[r].dur_ps[n], by_class.ranks[r].dur_ps[n]);
}

TEST(Stages, StayVisibleWhereTheOrderShowsThem) {
  for (const char* const schedule : {"interleaved", "zb-h1", "dualpipe"}) {
    gen::StepOptions o;
    o.model = decoder(16);
    o.pp = 4, o.micro_batches = 8;
    o.schedule = schedule;
    if (o.schedule == "interleaved") o.virtual_stages = 2;
    const auto job = gen::step(o);
    ASSERT_TRUE(job) << job.error().message();
    const auto pipeline = edit::pipeline_of(views_of(trace::expand(*job)));
    EXPECT_EQ(testing::tag_of(pipeline), edit::kStagesVisible) << schedule;
  }
}

/// The attacker knows the mechanism, and generates the job with each number of experts of the cell that the group of
/// experts divides.
TEST(Experts, ShowNoMoreThanTheCellOfTheirNumber) {
  const edit::Grid grid = edit::shipped_grid();
  double found = 0, chance = 0;
  int jobs = 0, raw = 0;
  for (const int64_t ep : {1, 2, 4})
    for (const int64_t zero : {0, 1, 3})
      for (const edit::Cell& cell : std::span(grid.experts).first(2)) {
        gen::StepOptions o;
        o.dp = 8, o.ep = ep, o.zero = zero;
        o.micro_batches = 2;
        std::set<std::vector<std::string>> copies;
        const auto low = static_cast<int64_t>(cell.low), high = static_cast<int64_t>(cell.high);
        for (int64_t on_rank = low; on_rank <= high; on_rank += std::max<int64_t>(1, (high - low) / 7)) {
          model::ModelChange change;
          change.layers = 4;
          change.hidden = 1024;
          o.model = model::changed(model::find_model("mixtral-8x7b")->model, change).value();
          for (model::Block& block : o.model.blocks)
            if (block.experts) block.experts->count = on_rank * ep, block.experts->active = 1;
          const auto job = gen::step(o);
          ASSERT_TRUE(job) << job.error().message();
          ++jobs;
          raw += synth::guess_attributes(*job).experts == on_rank * ep;
          edit::SizeHiding by{grid, 1024, false};
          by.experts = cell.shown / static_cast<double>(on_rank);
          edit::HiddenSizes sizes;
          copies.insert(seen_of(trace::expand(edit::hide_sizes(*job, by, sizes))));
        }
        found += static_cast<double>(copies.size());
        chance += 1;
      }
  EXPECT_EQ(raw, jobs) << "an attack that finds nothing proves nothing";
  EXPECT_LE(found / jobs, chance / jobs + 0.05);
}

}  // namespace
}  // namespace chakra::share
