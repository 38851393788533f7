// Steps of transformers as SimAI's rows and back: the collectives of a rank are those that `gen` counts by itself.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "chakra/foreign/foreign.h"
#include "chakra/gen/gen.h"
#include "chakra/model/model.h"

namespace chakra::convert {
namespace {

using Sums = std::map<std::pair<std::string, std::string>, std::pair<int64_t, double>>;

const std::map<trace::CommType, std::string> kTypes{{trace::CommType::all_reduce, "ALL_REDUCE"},
                                                    {trace::CommType::all_to_all, "ALL_TO_ALL"},
                                                    {trace::CommType::all_gather, "ALL_GATHER"},
                                                    {trace::CommType::reduce_scatter, "REDUCE_SCATTER"}};

/// By group and type: how many, and the sum of their buffers, the larger of in and out.
Sums sums_of(const trace::ClassJob& job, size_t index) {
  const trace::ClassJob::Rank& rank = job.ranks[index];
  const trace::Trace& t = job.classes[rank.cls];
  Sums sums;
  for (const trace::NodeId n : t.nodes()) {
    if (t.type[n] != trace::NodeType::coll) continue;
    const trace::Comm& comm = *t.comm(n);
    const auto& slots = job.group_slots[rank.cls];
    const auto slot = static_cast<size_t>(std::find(slots.begin(), slots.end(), t.strings[comm.group]) - slots.begin());
    const size_t ranks = job.groups[job.group_of[rank.first_group + slot]].ranks.size();
    auto& [count, bytes] = sums[{slots[slot], kTypes.at(comm.type)}];
    ++count;
    bytes += static_cast<double>(comm.type == trace::CommType::all_gather ? comm.bytes * ranks : comm.bytes);
  }
  return sums;
}

struct Step {
  const char* model;
  int64_t layers, tp, dp, pp, ep, micro_batches, virtual_stages, zero;
};

Result<gen::StepOptions> options_of(const Step& step) {
  gen::StepOptions o;
  model::ModelChange change;
  change.layers = step.layers;
  CHAKRA_ASSIGN(o.model, model::changed(model::find_model(step.model)->model, change));
  o.tp = step.tp;
  o.dp = step.dp;
  o.pp = step.pp;
  o.ep = step.ep;
  o.micro_batches = step.micro_batches;
  o.virtual_stages = step.virtual_stages;
  o.zero = step.zero;
  return o;
}

constexpr std::array<Step, 14> kSteps{{{"tiny", 4, 1, 1, 1, 1, 2, 1, 1},
                                       {"tiny", 4, 2, 1, 1, 1, 1, 1, 1},
                                       {"tiny", 4, 2, 2, 1, 1, 3, 1, 0},
                                       {"tiny", 4, 1, 4, 1, 1, 2, 1, 3},
                                       {"llama3-8b", 4, 2, 2, 2, 1, 4, 1, 1},
                                       {"llama3-8b", 8, 2, 2, 2, 1, 4, 2, 2},
                                       {"llama3-8b", 12, 4, 3, 3, 1, 6, 2, 3},
                                       {"gpt3-175b", 4, 8, 2, 2, 1, 2, 1, 1},
                                       {"mixtral-8x7b", 4, 1, 4, 1, 4, 2, 1, 1},
                                       {"mixtral-8x7b", 4, 2, 4, 2, 2, 4, 1, 1},
                                       {"mixtral-8x7b", 4, 2, 4, 2, 4, 2, 1, 2},
                                       {"mixtral-8x7b", 8, 2, 8, 2, 2, 4, 2, 3},
                                       {"deepseek-moe-16b", 4, 1, 8, 1, 4, 2, 1, 1},
                                       {"qwen3-30b-a3b", 4, 2, 4, 2, 4, 2, 1, 1}}};

TEST(Texts, AStepGoesOutAndComesInAgain) {
  for (const Step& step : kSteps) {
    const std::string at =
        fmt::format("{} tp {} dp {} pp {} ep {} zero {}", step.model, step.tp, step.dp, step.pp, step.ep, step.zero);
    const auto options = options_of(step);
    ASSERT_TRUE(options) << at;
    const auto job = gen::step(*options);
    ASSERT_TRUE(job) << at << job.error().message();
    const auto stats = gen::stats(*options, *job);
    ASSERT_TRUE(stats) << at;
    Findings findings;
    const auto text = foreign::to_text("text", *job, findings);
    ASSERT_TRUE(text) << at << text.error().message();
    const bool tied = options->model.tied && step.pp > 1;  // a group of the first and last stage, which no text has
    for (const Finding& finding : findings)
      EXPECT_TRUE(finding.tag == "foreign.write.moved" || (tied && finding.tag == "foreign.write.left_out") ||
                  (step.pp > 1 && finding.tag == "foreign.write.other_ranks"))
          << at << finding.tag << finding.text;

    Findings reading;
    auto source = ByteSource::from_memory(*text, "step.txt");
    const auto read = foreign::read_job("text", std::move(*source), {}, reading);
    ASSERT_TRUE(read) << at << read.error().message();
    EXPECT_TRUE(reading.empty()) << at << reading[0].text;
    const auto& again = std::get<trace::ClassJob>(*read);
    ASSERT_EQ(again.ranks.size(), job->ranks.size()) << at;
    Sums expected;
    for (const gen::Communication& c : stats->classes[0].communication) {
      if (c.group == "pp" || c.group == "tied") continue;  // messages are compared below
      auto& [count, bytes] = expected[{c.group == "etp" ? "tp" : c.group, c.type}];
      count += c.count;
      bytes += c.bytes;
    }
    for (size_t rank = 0; rank < again.ranks.size(); ++rank) EXPECT_EQ(sums_of(again, rank), expected) << at;
    EXPECT_EQ(again.classes.size(), static_cast<size_t>(step.pp)) << at;

    const auto count = [](const trace::Trace& t, trace::NodeType type) {
      return std::count(t.type.begin(), t.type.end(), type);
    };
    const auto sum = [](const trace::Trace& t) {
      Picoseconds all = 0;
      for (const trace::NodeId n : t.nodes()) all += t.type[n] == trace::NodeType::comp ? t.dur_ps[n] : 0;
      return all;
    };
    const trace::Trace &before = job->classes[0], &after = again.classes[0];
    EXPECT_EQ(count(after, trace::NodeType::send), count(before, trace::NodeType::send)) << at;
    EXPECT_EQ(count(after, trace::NodeType::recv), count(before, trace::NodeType::recv)) << at;
    EXPECT_EQ(sum(after), sum(before)) << at;
  }
}

TEST(Texts, RanksOneByOneGiveTheSameTextAsClasses) {
  for (const Step& step : kSteps) {
    if (step.tp * step.dp * step.pp > 16) continue;
    const auto job = gen::step(*options_of(step));
    ASSERT_TRUE(job);
    Findings one, other;
    const auto classes = foreign::to_text("text", *job, one),
               ranks = foreign::to_text("text", trace::expand(*job), other);
    ASSERT_TRUE(classes && ranks);
    EXPECT_EQ(*classes, *ranks);
    EXPECT_EQ(one.size(), other.size());
  }
}

TEST(Texts, WhatTheFormCannotSayIsNamed) {
  const auto tags = [](const auto& change) {
    gen::StepOptions o = *options_of({"llama3-8b", 4, 2, 4, 2, 1, 4, 1, 1});
    change(o);
    const auto job = gen::step(o);
    EXPECT_TRUE(job) << (job ? "" : job.error().message());
    Findings findings;
    const auto text = foreign::to_text("text", *job, findings);
    std::string all = text ? "" : text.error().tag;
    for (const Finding& finding : findings)
      if (finding.tag == "foreign.write.left_out") all += finding.text;
    return all;
  };
  EXPECT_EQ(tags([](gen::StepOptions&) {}), "");
  EXPECT_EQ(tags([](gen::StepOptions& o) { o.clip = true; }),
            "no group or type of the form for 1 ALLREDUCE over all ranks with 4 bytes together");
  EXPECT_NE(tags([](gen::StepOptions& o) { o.model.tied = true; }).find("over tied"), std::string::npos);
  EXPECT_NE(tags([](gen::StepOptions& o) { o.cp = 2; }).find("sends and receives inside a stage"), std::string::npos);
  EXPECT_NE(tags([](gen::StepOptions& o) {
              o.cp = 2;
              o.context = gen::ContextKind::gather;
            }).find("over cp"),
            std::string::npos);
  EXPECT_NE(tags([](gen::StepOptions& o) { o.zero_ranks = 2; }).find("over shard"), std::string::npos);
  EXPECT_NE(tags([](gen::StepOptions& o) { o.order = "dp-tp-pp"; }).find("over tp"), std::string::npos);
}

}  // namespace
}  // namespace chakra::convert
