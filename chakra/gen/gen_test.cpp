// Steps of any shape can be carried out, and their sums are those of the formulas.
#include "chakra/gen/gen.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "chakra/base/testing/testing.h"

namespace chakra::gen {
namespace {

using testing::tag_of;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

/// Finish times where communication takes no time: the longest path through all ranks' deps, messages and collectives,
/// found without any of the simulator.
struct Outcome {
  std::vector<Picoseconds> finish, busy;  ///< per rank
  size_t left = 0;                        ///< nodes that could not run
  std::string disagreement;               ///< between the ends of a message, the members of a collective

  explicit Outcome(const TraceSet& set) : finish(set.ranks.size()), busy(set.ranks.size()), set_(set) {
    for (size_t r = 0; r < set.ranks.size(); ++r) {
      const Trace& t = set.ranks[r];
      waiting_.push_back(trace::reversed(t.deps));
      missing_.emplace_back(t.size());
      start_.emplace_back(t.size());
      meeting_of_.emplace_back(t.size(), SIZE_MAX);
      left += t.size();
      match(r);
    }
    for (size_t r = 0; r < set.ranks.size(); ++r)
      for (NodeId n = 0; n < set.ranks[r].size(); ++n) {
        missing_[r][n] = set.ranks[r].deps.of(n).size();
        if (missing_[r][n] == 0) ready_.emplace_back(r, n);
      }
    while (!ready_.empty()) {
      const auto [r, n] = ready_.back();
      ready_.pop_back();
      start(r, n);
    }
  }

 private:
  using Ref = std::pair<size_t, NodeId>;
  /// What starts together: the members of a collective, or a send and its receive.
  struct Meeting {
    std::vector<Ref> members;
    size_t expected = 0, come = 0;
    Picoseconds time = 0;
  };

  void match(size_t r) {
    const Trace& t = set_.ranks[r];
    std::map<std::string, int64_t> next;
    for (NodeId n = 0; n < t.size(); ++n) {
      if (!is_comm(t.type[n])) continue;
      const trace::Comm& c = *t.comm(n);
      const std::string group(t.strings[c.group]);
      std::string key = t.type[n] == NodeType::coll   ? group
                        : t.type[n] == NodeType::send ? fmt::format("{}>{}#{}", t.rank, c.dst, c.tag)
                                                      : fmt::format("{}>{}#{}", c.src, t.rank, c.tag);
      size_t expected = 2;
      if (t.type[n] == NodeType::coll) {
        const auto found =
            std::find_if(t.groups.begin(), t.groups.end(), [&](const auto& g) { return g.name == group; });
        if (found == t.groups.end() || std::count(found->ranks.begin(), found->ranks.end(), t.rank) != 1) {
          disagreement = fmt::format("rank {} is not in group {}", t.rank, group);
          continue;
        }
        expected = found->ranks.size();
      }
      const int64_t number = next[key]++;
      key += fmt::format(" {}", number);
      const auto [at, added] = meetings_by_key_.try_emplace(key, meetings_.size());
      if (added) meetings_.push_back({{}, expected, 0, 0});
      Meeting& m = meetings_[at->second];
      m.members.emplace_back(r, n);
      meeting_of_[r][n] = at->second;
      const auto& [r0, n0] = m.members[0];
      const trace::Comm& first = *set_.ranks[r0].comm(n0);
      if (first.bytes != c.bytes || first.type != c.type || m.expected != expected || m.members.size() > expected)
        disagreement = key;
    }
  }

  void start(size_t r, NodeId n) {
    const Trace& t = set_.ranks[r];
    if (t.type[n] == NodeType::comp) {
      busy[r] += t.dur_ps[n];
      return end(r, n, start_[r][n] + t.dur_ps[n]);
    }
    if (meeting_of_[r][n] == SIZE_MAX) return;
    Meeting& m = meetings_[meeting_of_[r][n]];
    m.time = std::max(m.time, start_[r][n]);
    const bool send = t.type[n] == NodeType::send;
    if (send) end(r, n, start_[r][n]);  // needs no receiver
    if (++m.come < m.expected) return;
    for (const auto& [rank, node] : m.members)
      if (set_.ranks[rank].type[node] != NodeType::send) end(rank, node, m.time);
  }

  void end(size_t r, NodeId n, Picoseconds time) {
    --left;
    finish[r] = std::max(finish[r], time);
    for (const NodeId next : waiting_[r].of(n)) {
      start_[r][next] = std::max(start_[r][next], time);
      if (--missing_[r][next] == 0) ready_.emplace_back(r, next);
    }
  }

  const TraceSet& set_;
  std::vector<trace::Edges> waiting_;
  std::vector<std::vector<size_t>> missing_, meeting_of_;
  std::vector<std::vector<Picoseconds>> start_;
  std::vector<Meeting> meetings_;
  std::map<std::string, size_t> meetings_by_key_;
  std::vector<Ref> ready_;
};

StepOptions small() {
  StepOptions o;
  o.hidden = 64;
  o.ffn = 128;
  o.heads = 8;
  o.kv_heads = 4;
  o.sequence = 64;
  o.vocabulary = 100;
  return o;
}

TEST(Step, OfAnyShapeCanBeCarriedOut) {
  Prng random(1);
  int made = 0, refused = 0, waited = 0;
  for (int i = 0; i < 300; ++i) {
    StepOptions o = small();
    o.layers = random.between(1, 12);
    o.tp = random.between(1, 4);
    o.pp = random.between(1, 5);
    o.dp = random.between(1, 3);
    o.virtual_stages = random.between(1, 3);
    o.micro_batches = random.between(1, 12);
    o.gated = random.chance(0.5);
    const std::array<const char*, 6> orders{"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"};
    o.order = orders[random.below(orders.size())];
    const auto job = step(o);
    const std::string shape = fmt::format("layers {} tp {} pp {} dp {} v {} m {} {}", o.layers, o.tp, o.pp, o.dp,
                                          o.virtual_stages, o.micro_batches, o.order);
    const bool dealt = o.layers + 2 >= o.pp * o.virtual_stages;
    const bool right = o.tp != 3 && dealt && (o.virtual_stages == 1 || (o.pp > 1 && o.micro_batches % o.pp == 0));
    ASSERT_EQ(bool(job), right) << shape << (job ? "" : job.error().message());
    if (!job) {
      ++refused;
      continue;
    }
    ++made;
    EXPECT_EQ(job->classes.size(), static_cast<size_t>(o.pp));
    const TraceSet all = trace::expand(*job);
    ASSERT_EQ(all.ranks.size(), static_cast<size_t>(o.tp * o.pp * o.dp));
    for (const Trace& t : all.ranks) {
      EXPECT_TRUE(t.defects.empty());
      for (NodeId n = 0; n < t.size(); ++n)
        for (const NodeId on : t.deps.of(n)) EXPECT_LT(on, n) << shape;
    }
    const Outcome run(all);
    EXPECT_EQ(run.disagreement, "") << shape;
    EXPECT_EQ(run.left, 0u) << shape;
    for (size_t r = 0; r < run.finish.size(); ++r) waited += run.finish[r] > run.busy[r];
  }
  EXPECT_GT(made, 80);
  EXPECT_GT(refused, 30);
  EXPECT_GT(waited, 100);
}

TEST(Step, BubbleIsTheFormulas) {
  for (const int64_t pp : {1, 2, 4, 8})
    for (const int64_t v : {1, 2, 3})
      for (const int64_t rounds : {1, 2, 5}) {
        if (pp == 1 && v > 1) continue;
        StepOptions o = small();
        o.pp = pp;
        o.virtual_stages = v;
        o.micro_batches = rounds * pp;
        o.layers = 2 * pp * v;
        o.sequence = 1024;
        o.hidden = 256;
        o.vocabulary = 1;  // all stages alike
        o.peak_flop_per_s = 1e10;
        o.efficiency = 1;
        o.memory_bytes_per_s = 1e20;
        const auto job = step(o);
        ASSERT_TRUE(job) << job.error().message();
        const Outcome run(trace::expand(*job));
        ASSERT_EQ(run.left, 0u);
        const auto busy = static_cast<double>(*std::max_element(run.busy.begin(), run.busy.end()));
        const auto all = static_cast<double>(*std::max_element(run.finish.begin(), run.finish.end()));
        EXPECT_NEAR(all / busy - 1, static_cast<double>(pp - 1) / static_cast<double>(o.micro_batches * v), 0.003)
            << "pp " << pp << " v " << v << " m " << o.micro_batches;
      }
}

/// First layers of forward (F) and backward (B) items in the order in which a stage runs them.
std::string schedule(const Trace& t) {
  std::string out;
  for (NodeId n = 0; n < t.size(); ++n) {
    const std::string_view name = t.name_of(n);
    const std::string layer(name.substr(0, name.find('.')));
    if (name.ends_with(".attention.norm")) out += fmt::format("F{} ", layer.substr(5));
    if (name.ends_with(".mlp.down.dgrad")) out += fmt::format("B{} ", layer.substr(5));
  }
  return out;
}

TEST(Step, SchedulesAreThePublishedOnes) {
  StepOptions o = small();
  o.layers = 2;
  o.pp = 2;
  o.micro_batches = 3;
  auto job = step(o);
  ASSERT_TRUE(job);
  EXPECT_EQ(schedule(job->classes[0]), "F0 F0 B0 F0 B0 B0 ");
  EXPECT_EQ(schedule(job->classes[1]), "F1 B1 F1 B1 F1 B1 ");
  o.layers = 4;
  o.virtual_stages = 2;
  o.micro_batches = 4;
  job = step(o);
  ASSERT_TRUE(job);
  EXPECT_EQ(schedule(job->classes[0]), "F0 F0 F2 F2 F0 B2 F0 B2 F2 B0 F2 B0 B2 B2 B0 B0 ");
  EXPECT_EQ(schedule(job->classes[1]), "F1 F1 F3 B3 F3 B3 F1 B1 F1 B1 F3 B3 F3 B3 B1 B1 ");
}

const StepOptions& preset(std::string_view name) {
  return std::find_if(kPresets.begin(), kPresets.end(), [&](const PresetRow& row) { return row.name == name; })
      ->options;
}

/// Operations of all ranks, and parameters of the model as the gradients that are reduced have them.
std::pair<double, double> totals(const StepOptions& o, const trace::ClassJob& job) {
  std::vector<double> flops, reduced;
  for (const Trace& t : job.classes) {
    flops.push_back(0);
    reduced.push_back(0);
    for (NodeId n = 0; n < t.size(); ++n) {
      flops.back() += static_cast<double>(t.num_ops[n]);
      if (t.type[n] == NodeType::coll && t.strings[t.comm(n)->group] == "dp" &&
          t.comm(n)->type == trace::CommType::reduce_scatter)
        reduced.back() += static_cast<double>(t.comm(n)->bytes) / static_cast<double>(o.gradient_bytes);
    }
  }
  std::pair<double, double> sums;
  for (const auto& rank : job.ranks) {
    sums.first += flops[rank.cls];
    sums.second += reduced[rank.cls] / static_cast<double>(o.dp);
  }
  return sums;
}

TEST(Step, SumsAreThePublishedOnes) {
  for (const auto& [name, published] : {std::pair("llama3-8b", 8.03e9), std::pair("llama3-70b", 70.6e9),
                                        std::pair("llama3-405b", 405.85e9), std::pair("gpt3-175b", 175e9)}) {
    const StepOptions& o = preset(name);
    const auto job = step(o);
    ASSERT_TRUE(job) << job.error().message();
    EXPECT_NEAR(parameters(o) / published, 1, 0.01) << name;
    const auto [flops, reduced] = totals(o, *job);
    EXPECT_NEAR(reduced / published, 1, 0.01) << name;
    const double tokens = static_cast<double>(o.sequence * o.micro_batches * o.dp);
    const double attention =
        12.0 / 2 * static_cast<double>(o.layers * o.hidden * o.sequence) * tokens;  // half is masked
    const double looked_up = static_cast<double>(o.vocabulary * o.hidden);          // no products with the embedding
    EXPECT_NEAR(flops / (6 * (published - looked_up) * tokens + attention), 1, 0.01) << name;
    if (published > 1e11) EXPECT_NEAR(flops / (6 * published * tokens + attention), 1, 0.01) << name;
  }
}

TEST(Step, OfTheLargestPresetHasWhatItShould) {
  StepOptions o = preset("llama3-405b");
  o.dp = 1024;
  const auto job = step(o);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->ranks.size(), 131'072u);
  EXPECT_EQ(job->classes.size(), 16u);
  EXPECT_EQ(job->groups.size(), 16'384u + 128);
  int64_t tensor_collectives = 0, layers_forward = 0;
  for (const Trace& t : job->classes) {
    EXPECT_GE(t.size(), 10'000u);
    for (NodeId n = 0; n < t.size(); ++n) {
      const std::string_view name = t.name_of(n);
      tensor_collectives +=
          name.starts_with("layer") && t.type[n] == NodeType::coll && t.strings[t.comm(n)->group] == "tp";
      layers_forward += name.ends_with(".attention.norm");
    }
  }
  EXPECT_EQ(layers_forward, 126 * 32);
  EXPECT_EQ(tensor_collectives, 8 * layers_forward);  // four forward, four backward
}

TEST(Step, RanksStandInTheOrderAskedFor) {
  StepOptions o = small();
  o.tp = 2;
  o.pp = 2;
  o.dp = 4;
  for (const auto& [order, tp, dp, pp] :
       {std::tuple("tp-dp-pp", 1, 2, 8), std::tuple("tp-pp-dp", 1, 4, 2), std::tuple("pp-dp-tp", 8, 2, 1)}) {
    o.order = order;
    const auto job = step(o);
    ASSERT_TRUE(job) << job.error().message();
    const Trace first = trace::concrete(*job, 0);
    ASSERT_EQ(first.groups.size(), 2u);
    EXPECT_EQ(first.groups[0].ranks, (std::vector<int64_t>{0, tp})) << order;
    EXPECT_EQ(first.groups[1].ranks, (std::vector<int64_t>{0, dp, 2 * dp, 3 * dp})) << order;
    EXPECT_EQ(job->peer_of[job->ranks[0].first_peer], pp) << order;
    EXPECT_EQ(job->ranks[static_cast<size_t>(pp)].cls, 1u) << order;
  }
}

TEST(Step, RefusesWhatCannotBe) {
  const auto tag = [](const auto& change) {
    StepOptions o = small();
    change(o);
    return tag_of(step(o));
  };
  EXPECT_EQ(tag([](StepOptions& o) { o.layers = 0; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.tp = -1; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.dp = INT64_MAX; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.efficiency = 0; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.peak_flop_per_s = NAN; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.heads = 7; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.kv_heads = 3; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.tp = 3; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.virtual_stages = 2; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.virtual_stages = 2, o.pp = 4, o.micro_batches = 6; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.layers = 2, o.pp = 5; }), "gen.step.layers");
  EXPECT_EQ(tag([](StepOptions& o) { o.order = "tp-dp"; }), "gen.step.order");
  EXPECT_EQ(tag([](StepOptions& o) { o.order = "tp-dp-pp-"; }), "gen.step.order");
  EXPECT_EQ(tag([](StepOptions& o) { o.order = "tp-tp-pp"; }), "gen.step.order");
  EXPECT_EQ(tag([](StepOptions& o) { o.order = ""; }), "gen.step.order");
  EXPECT_EQ(tag([](StepOptions& o) { o.dp = 1 << 20, o.tp = 8; }), "gen.step.large");
  EXPECT_EQ(tag([](StepOptions& o) { o.micro_batches = 1 << 20; }), "gen.step.large");
  EXPECT_EQ(tag([](StepOptions& o) { o.sequence = 1 << 28, o.micro_batch_size = 1 << 20; }), "gen.step.large");
  EXPECT_EQ(tag([](StepOptions& o) { o.peak_flop_per_s = 1e-3; }), "gen.step.large");
}

}  // namespace
}  // namespace chakra::gen
