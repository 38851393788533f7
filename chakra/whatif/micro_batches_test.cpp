// Another number of micro-batches against the generator: a job of M that is changed to N is, node by node and
// dependency by dependency, the job that is generated with N.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "chakra/gen/gen.h"
#include "chakra/model/model.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using gen::StepOptions;
using trace::NodeId;
using trace::Trace;

model::Model small_model(const char* like, int64_t layers) {
  model::ModelChange change;
  change.layers = layers;
  return model::changed(model::find_model(like)->model, change).value();
}

trace::TraceSet generated(const StepOptions& options) {
  auto job = gen::step(options);
  EXPECT_TRUE(job) << job.error().message();
  return job ? trace::expand(*job) : trace::TraceSet();
}

Result<trace::TraceSet> changed(const StepOptions& options, int64_t micro_batches) {
  sim::SimInput input;
  input.job = generated(options);
  CHAKRA_TRY(change_micro_batches(std::to_string(micro_batches), input));
  return std::move(input.job);
}

/// What a node is, as text: all that a simulation asks for.
std::string describe(const Trace& t, NodeId n) {
  std::string text = fmt::format("{} {} {} lane {}", t.name_of(n), trace::name(t.type[n]), t.dur_ps[n], t.lane[n]);
  if (!t.num_ops.empty()) text += fmt::format(" ops {} bytes {}", t.num_ops[n], t.tensor_bytes[n]);
  if (const trace::Comm* c = t.comm(n))
    text += fmt::format(" comm {} {} {} {} {} {} {}", static_cast<int>(c->type), c->bytes, t.strings[c->group], c->src,
                        c->dst, c->tag, c->in_split);
  const trace::Attrs::Range attrs = t.attrs_of(n);
  for (auto at = attrs.begin(); at != attrs.end(); ++at) {
    const trace::Attr attr = *at;
    text += fmt::format(" {}={}{}", t.strings[attr.name], attr.integer().value_or(-1), attr.text().value_or(""));
  }
  std::vector<std::pair<NodeId, uint8_t>> deps;
  for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e) deps.emplace_back(t.deps.node[e], t.deps.kind[e]);
  std::sort(deps.begin(), deps.end());
  for (const auto& [on, kind] : deps) text += fmt::format(" {}:{}", on, kind);
  return text;
}

/// The first difference; "" where there is none.
std::string difference(const trace::TraceSet& a, const trace::TraceSet& b) {
  if (a.ranks.size() != b.ranks.size()) return "ranks";
  for (size_t r = 0; r < a.ranks.size(); ++r) {
    const Trace &x = a.ranks[r], &y = b.ranks[r];
    for (const NodeId n : ids<NodeId>(std::min(x.size(), y.size())))
      if (const std::string is = describe(x, n), wanted = describe(y, n); is != wanted)
        return fmt::format("rank {}, node {}:\n  {}\n  {}", x.rank, n, is, wanted);
    if (x.size() != y.size()) return fmt::format("rank {}: {} nodes, not {}", x.rank, x.size(), y.size());
  }
  return "";
}

struct Form {
  const char* name;
  StepOptions (*options)();
};

StepOptions on(const char* model, int64_t layers, int64_t tp, int64_t dp, int64_t pp, const char* schedule) {
  StepOptions o;
  o.model = small_model(model, layers);
  o.sequence = 256;
  o.tp = tp, o.dp = dp, o.pp = pp;
  o.schedule = schedule;
  return o;
}

const Form kForms[] = {
    {"one stage", [] { return on("llama3-8b", 2, 2, 2, 1, "1f1b"); }},
    {"gpipe", [] { return on("llama3-8b", 8, 1, 2, 4, "gpipe"); }},
    {"1f1b", [] { return on("llama3-8b", 8, 2, 2, 4, "1f1b"); }},
    {"uneven layers, tied", [] { return on("gpt-165m", 7, 2, 2, 4, "1f1b"); }},
    {"zb-h1", [] { return on("llama3-8b", 8, 2, 2, 4, "zb-h1"); }},
    {"interleaved",
     [] {
       StepOptions o = on("llama3-8b", 8, 2, 1, 2, "interleaved");
       o.virtual_stages = 2;
       return o;
     }},
    {"dualpipe", [] { return on("llama3-8b", 8, 2, 2, 2, "dualpipe"); }},
    {"zero 3, clipped",
     [] {
       StepOptions o = on("llama3-8b", 4, 2, 4, 2, "1f1b");
       o.zero = 3;
       o.clip = true;
       return o;
     }},
    {"zero 2 without overlap",
     [] {
       StepOptions o = on("llama3-8b", 4, 2, 2, 2, "1f1b");
       o.zero = 2;
       o.overlap = false;
       return o;
     }},
    {"8 bits",
     [] {
       StepOptions o = on("llama3-8b", 4, 2, 2, 2, "1f1b");
       o.fp8 = true;
       return o;
     }},
    {"experts",
     [] {
       StepOptions o = on("mixtral-8x7b", 4, 2, 2, 2, "zb-h1");
       o.ep = 2;
       o.expert_skew = 0.5;
       return o;
     }},
    {"context",
     [] {
       StepOptions o = on("llama3-8b", 4, 1, 1, 2, "1f1b");
       o.cp = 2;
       return o;
     }},
    {"a host that launches",
     [] {
       StepOptions o = on("llama3-8b", 4, 2, 1, 4, "1f1b");
       o.host_ns = 5000;
       return o;
     }},
    {"storage",
     [] {
       StepOptions o = on("llama3-8b", 4, 1, 2, 2, "1f1b");
       o.storage.data_tier = "disk", o.storage.checkpoint_tier = "disk", o.storage.restart_tier = "disk";
       o.storage.checkpoint_behind = true;
       return o;
     }},
};

TEST(MicroBatches, AChangedJobIsTheGeneratedOne) {
  for (const Form& form : kForms)
    for (const auto& [from, to] : {std::pair<int64_t, int64_t>{8, 8}, {8, 12}, {12, 8}, {16, 32}, {8, 4}, {4, 24}}) {
      StepOptions options = form.options();
      if (options.schedule == "dualpipe" && options.pp * 2 > std::min(from, to)) continue;
      SCOPED_TRACE(fmt::format("{}, {} to {}", form.name, from, to));
      options.micro_batches = from;
      const auto is = changed(options, to);
      ASSERT_TRUE(is) << is.error().message();
      options.micro_batches = to;
      EXPECT_EQ(difference(*is, generated(options)), "");
    }
}

TEST(MicroBatches, FewerThanStagesBecomeMore) {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
    SCOPED_TRACE(schedule);
    StepOptions options = on("llama3-8b", 8, 1, 1, 8, schedule);
    options.micro_batches = 2;
    const auto is = changed(options, 16);
    ASSERT_TRUE(is) << is.error().message();
    options.micro_batches = 16;
    EXPECT_EQ(difference(*is, generated(options)), "");
    EXPECT_EQ(difference(changed(options, 1).value(),
                         [&] {
                           options.micro_batches = 1;
                           return generated(options);
                         }()),
              "");
  }
}

TEST(MicroBatches, WhatIsNotKnownIsRefused) {
  StepOptions options = on("llama3-8b", 4, 1, 1, 2, "interleaved");
  options.virtual_stages = 2;
  options.micro_batches = 4;
  EXPECT_EQ(changed(options, 5).error().tag, "whatif.micro_batches.schedule");
  options = on("llama3-8b", 4, 1, 1, 2, "1f1b");
  options.micro_batches = 1;
  EXPECT_EQ(changed(options, 2).error().tag, "whatif.micro_batches.few");
  EXPECT_EQ(changed(options, 0).error().tag, "whatif.rule.form");

  options.micro_batches = 4;
  const auto refused = [&](const auto& damage) {
    sim::SimInput input;
    input.job = generated(options);
    damage(input.job.ranks[1]);
    const auto result = change_micro_batches("8", input);
    return result ? "" : result.error().tag;
  };
  EXPECT_EQ(refused([](Trace& t) { t.metadata.clear(); }), "whatif.micro_batches.form");
  EXPECT_EQ(refused([](Trace& t) { t.flags.edit(3) |= trace::kHasStart; }), "whatif.micro_batches.form");
  // A dependency that the rule does not know.
  EXPECT_EQ(refused([](Trace& t) {
              t.deps = trace::make_edges(t.size(), true, [&](const auto& visit) {
                for (const NodeId n : t.nodes())
                  for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
                    visit(n, t.deps.node[e], t.deps.kind[e], 0);
                visit(NodeId(t.size() / 2), NodeId(0), 0, 0);
              });
            }),
            "whatif.micro_batches.form");
  // No marks at all.
  EXPECT_EQ(refused([](Trace& t) {
              t.attrs = {};
              t.attr_begin.assign(t.size() + 1, 0);
            }),
            "whatif.rule.nothing");
}

}  // namespace
}  // namespace chakra::whatif
