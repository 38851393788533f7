// What-ifs of generated jobs on random meshes: another batch, other replicas or other micro-batches give the job that
// is generated with the other value, or an error, never a plausible wrong number.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "chakra/gen/gen.h"
#include "chakra/model/model.h"
#include "chakra/trace/roles.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using gen::StepOptions;

bool all() { return std::getenv("CHAKRA_TEST_FULL") != nullptr; }
int64_t most_ranks() { return all() ? 128 : 16; }
int meshes() { return all() ? 300 : 60; }

model::Model model(std::string_view name, int64_t layers) {
  model::ModelChange change;
  if (name != "dlrm") change.layers = layers;
  return model::changed(model::find_model(name)->model, change).value();
}

int64_t some_divisor(Prng& random, int64_t n) {
  int64_t d = 1;
  while (n % (2 * d) == 0 && random.chance(0.6)) d *= 2;
  return d;
}

StepOptions random_step(Prng& random) {
  static constexpr std::array<std::string_view, 6> kModels{"llama3-8b",     "gpt3-175b",   "mixtral-8x7b",
                                                           "qwen3-30b-a3b", "deepseek-v3", "gpt-165m"};
  StepOptions o;
  for (int64_t times = random.between(1, 6); times > 0; --times) {
    int64_t& axis = *std::array{&o.tp, &o.cp, &o.dp, &o.dp, &o.pp}[random.below(5)];
    if (o.tp * o.cp * o.dp * o.pp * 2 <= most_ranks() && axis < 8) axis *= 2;
  }
  o.schedule = std::array{"1f1b", "1f1b", "gpipe", "zb-h1", "dualpipe", "interleaved"}[random.below(6)];
  if (o.pp == 1 || (o.schedule == "dualpipe" && random.chance(0.5))) o.schedule = "1f1b";
  o.virtual_stages = o.schedule == "interleaved" ? 2 : 1;
  o.model = model(kModels[random.below(kModels.size())], std::max<int64_t>(2, o.pp * 2 + random.between(0, 1)));
  o.sequence = o.model.name == "gpt-165m" ? 1024 : 512 * random.between(1, 4);
  o.micro_batch_size = 2 * random.between(1, 2);
  o.micro_batches = o.pp * (o.schedule == "dualpipe" ? 2 : random.between(1, 3)) + (o.pp == 1 ? 2 : 0);
  o.order = std::array{"tp-cp-ep-dp-pp", "tp-cp-ep-dp-pp", "dp-cp-tp-ep-pp", "pp-tp-cp-dp-ep"}[random.below(4)];
  o.zero = random.between(0, 3);
  if (o.model.has_experts()) {
    o.ep = some_divisor(random, o.tp * o.cp * o.dp);
    o.etp = o.tp * o.cp * o.dp / o.ep % o.tp == 0 && random.chance(0.5) ? 0 : 1;
    if (o.ep > 1 && random.chance(0.3)) o.expert_skew = 0.5;
  } else if (o.zero > 0 && random.chance(0.5)) {
    o.zero_ranks = some_divisor(random, o.dp);
  }
  o.keep_gathered = random.chance(0.3);
  o.overlap = random.chance(0.7);
  o.clip = random.chance(0.3);
  o.fp8 = random.chance(0.3);
  if (random.chance(0.2)) o.host_ns = 2000;
  if (random.chance(0.3)) {
    o.storage.data_tier = "disk", o.storage.checkpoint_tier = "disk";
    o.storage.checkpoint_behind = random.chance(0.5);
    if (random.chance(0.3)) o.storage.restart_tier = "disk";
  }
  o.context = static_cast<gen::ContextKind>(random.below(3));
  o.recompute = static_cast<gen::Recompute>(random.below(4));
  o.optimizer = static_cast<size_t>(random.below(gen::kOptimizers.size()));
  return o;
}

StepOptions recommender(int64_t dp) {
  StepOptions o;
  o.model = model("dlrm", 0);
  o.dp = dp;
  o.micro_batches = 2;
  o.micro_batch_size = 512;
  return o;
}

std::string describe(const StepOptions& o) {
  return fmt::format(
      "--model {} --layers {} --tp {} --cp {} --dp {} --pp {} --ep {} --etp {} --schedule {} --virtual-stages {} "
      "--micro-batches {} --micro-batch-size {} --sequence {} --order {} --zero {} --zero-ranks {} --keep-gathered {} "
      "--overlap {} --clip {} --expert-skew {} fp8 {} host {} --context {} --recompute {} data {} checkpoint {} "
      "restart {}",
      o.model.name, o.model.layers.size(), o.tp, o.cp, o.dp, o.pp, o.ep, o.etp, o.schedule, o.virtual_stages,
      o.micro_batches, o.micro_batch_size, o.sequence, o.order, o.zero, o.zero_ranks, o.keep_gathered, o.overlap,
      o.clip, o.expert_skew, o.fp8, o.host_ns, gen::kContextNames[static_cast<size_t>(o.context)],
      gen::kRecomputeNames[static_cast<size_t>(o.recompute)], o.storage.data_tier, o.storage.checkpoint_behind,
      o.storage.restart_tier);
}

/// Four ranks on a fast network, as many of these as there are on a slow one: it matters who lies where.
net::Fabric network(int64_t ranks) {
  return {{{net::TopologyKind::switch_, 4, 300, 500}, {net::TopologyKind::switch_, (ranks + 3) / 4, 25, 5000}}};
}

Result<sim::SimInput> input_of(const StepOptions& o) {
  CHAKRA_ASSIGN(const trace::ClassJob job, gen::step(o));
  sim::SimInput input;
  input.job = trace::expand(job);
  return input;
}

double makespan(sim::SimInput&& input) {
  input.fabric = network(std::ssize(input.job.ranks));
  input.system.tiers = {{"disk", 20e9, 100 * kPsPerUs, device::TierScope::rank, 0}};
  const auto report = sim::simulate(std::move(input));
  EXPECT_TRUE(report) << report.error().message();
  return report ? static_cast<double>(report->makespan_ps) : 0;
}

constexpr double kAgain = 1e-9;  // a tolerance: the job is generated again

struct Tally {
  std::map<std::string, int> equal, refused;  ///< by change; by change, tag, and whether the generator refuses, too
  std::map<std::string, double> furthest;     ///< by change: relative difference
  std::set<trace::Role> roles;
};

void forget_recipe(trace::TraceSet& job) {
  for (trace::Trace& t : job.ranks)
    std::erase_if(t.metadata, [&](const trace::Attr& attr) { return t.strings[attr.name] == "recipe"; });
}

/// `changed`: the options with the other value. A tolerance of kAgain: the job is made again.
void compare(const char* change, const std::string& value, const StepOptions& before, const StepOptions& changed,
             double tolerance, Tally& tally) {
  SCOPED_TRACE(fmt::format("--{} {} of {}", change, value, describe(before)));
  Result<sim::SimInput> wanted = input_of(changed), is = input_of(before);
  ASSERT_TRUE(is) << is.error().message();
  if (tolerance > kAgain) forget_recipe(is->job);
  for (const trace::Trace& t : is->job.ranks)
    for (const trace::ProcessGroup& group : t.groups) tally.roles.insert(trace::role_of(group));
  const auto row = std::find_if(kChanges.begin(), kChanges.end(), [&](const ChangeRow& r) { return r.name == change; });
  const Result<Reached> reached = row->apply(value, *is);
  if (!reached) {
    EXPECT_TRUE(reached.error().tag.starts_with("whatif.") || reached.error().tag.starts_with("gen.step."))
        << reached.error().message();
    ++tally.refused[fmt::format("--{} {} ({})", change, reached.error().tag, wanted ? "can be generated" : "cannot")];
    return;
  }
  ASSERT_TRUE(wanted) << "changed, but cannot be generated: " << wanted.error().message();
  ASSERT_EQ(is->job.ranks.size(), wanted->job.ranks.size());
  const double expected = makespan(*std::move(wanted)), found = makespan(*std::move(is));
  const double off = std::abs(found / expected - 1);
  EXPECT_LT(off, tolerance) << found / 1e9 << " ms, generated " << expected / 1e9;
  ++tally.equal[change];
  tally.furthest[change] = std::max(tally.furthest[change], off);
}

void compare_all(const StepOptions& o, Tally& tally) {
  StepOptions twice = o, half = o;
  twice.micro_batch_size *= 2, half.micro_batch_size /= 2;
  compare("batch", "2", o, twice, 0.01, tally);
  compare("batch", "0.5", o, half, 0.01, tally);
  compare("batch", "2", o, twice, kAgain, tally);
  compare("batch", "0.5", o, half, kAgain, tally);
  for (const int64_t dp : {2 * o.dp, 3 * o.dp, o.dp / 2, int64_t{1}}) {
    StepOptions other = o;
    other.dp = dp;
    if (dp < 1 || dp == o.dp) continue;
    compare("dp", std::to_string(dp), o, other, 0.01, tally);
    compare("dp", std::to_string(dp), o, other, kAgain, tally);
  }
  for (const int64_t ranks : {2 * o.tp, o.tp / 2}) {
    StepOptions other = o;
    other.tp = ranks;
    if (ranks >= 1) compare("tp", std::to_string(ranks), o, other, kAgain, tally);
  }
  for (const int64_t stages : {2 * o.pp, o.pp / 2}) {
    StepOptions other = o;
    other.pp = stages;
    if (stages >= 1) compare("pp", std::to_string(stages), o, other, kAgain, tally);
  }
  for (const int64_t number : {2 * o.micro_batches, o.micro_batches + o.pp, o.pp}) {
    StepOptions other = o;
    other.micro_batches = number;
    compare("micro-batches", std::to_string(number), o, other, 0.01, tally);
    compare("micro-batches", std::to_string(number), o, other, kAgain, tally);
  }
}

TEST(Generated, ChangedJobsAreTheOnesThatAreGenerated) {
  Prng random(23);
  Tally tally;
  for (int made = 0, tried = 0; made < meshes(); ++tried) {
    ASSERT_LT(tried, 100 * meshes());
    const StepOptions o = made % 20 == 19 ? recommender(2) : random_step(random);
    if (!gen::step(o)) continue;
    ++made;
    compare_all(o, tally);
    if (HasFatalFailure()) return;
  }
  for (const auto& [change, count] : tally.equal)
    fmt::print("--{}: {} equal, furthest off by {:.4f} %\n", change, count, 100 * tally.furthest[change]);
  for (const auto& [why, count] : tally.refused) fmt::print("{}: {} refused\n", why, count);
  for (size_t role = 1; role < trace::kRoles.size(); ++role) {
    if (static_cast<trace::Role>(role) == trace::Role::world) continue;  // no trace describes the group of all ranks
    EXPECT_TRUE(tally.roles.contains(static_cast<trace::Role>(role))) << trace::kRoles[role].name;
  }
  EXPECT_FALSE(tally.roles.contains(trace::Role::unknown));
  EXPECT_EQ(tally.equal["batch"], 4 * meshes());
  EXPECT_GT(tally.equal["dp"], meshes());
  EXPECT_GT(tally.equal["tp"], meshes());
  EXPECT_GT(tally.equal["pp"], meshes() / 2);
  EXPECT_GT(tally.equal["micro-batches"], meshes());
}

// ---- jobs that do not say that they were generated -----------------------------------------------------------------

StepOptions small_step() {
  StepOptions o;
  o.model = model("llama3-8b", 4);
  o.sequence = 512;
  o.tp = 2, o.dp = 2, o.pp = 2;
  o.micro_batches = 4;
  o.zero = 0;  // each rank keeps its work
  return o;
}

/// As a recording: nothing but groups with names and descriptions.
trace::TraceSet plain(const StepOptions& o) {
  trace::TraceSet job = trace::expand(gen::step(o).value());
  for (trace::Trace& t : job.ranks) t.metadata.clear();
  return job;
}

TEST(OtherJobs, MoreReplicasLieAsIfTheJobWereStartedSo) {
  for (const char* order : {"tp-cp-ep-dp-pp", "dp-cp-tp-ep-pp", "pp-tp-cp-dp-ep"})
    for (const auto& [from, to] : {std::pair(2, 4), {4, 2}, {2, 6}, {3, 1}}) {
      SCOPED_TRACE(fmt::format("{}, {} to {}", order, from, to));
      StepOptions o = small_step();
      o.order = order;
      o.dp = from;
      sim::SimInput is, wanted;
      is.job = plain(o);
      o.dp = to;
      wanted.job = trace::expand(gen::step(o).value());
      const auto reached = change_dp(std::to_string(to), is);
      ASSERT_TRUE(reached) << reached.error().message();
      EXPECT_NEAR(makespan(std::move(is)) / makespan(std::move(wanted)), 1, 1e-6);
    }
}

TEST(OtherJobs, ReplicasWithoutAPlaceAreRefused) {
  sim::SimInput input;
  input.job = plain(small_step());
  const auto swap = [](int64_t rank) { return rank == 0 ? int64_t{1} : rank == 1 ? int64_t{0} : rank; };
  for (trace::Trace& t : input.job.ranks)  // ranks 0 and 1 in each other's place
    for (trace::ProcessGroup& group : t.groups)
      for (int64_t& rank : group.ranks) rank = swap(rank);
  for (trace::Trace& t : input.job.ranks) t.rank = swap(t.rank);
  std::swap(input.job.ranks[0], input.job.ranks[1]);
  for (trace::Trace& t : input.job.ranks)
    for (trace::Comm& comm : t.comms.edit()) comm.src = swap(comm.src), comm.dst = swap(comm.dst);
  EXPECT_EQ(change_dp("4", input).error().tag, "whatif.dp.place");
}

/// Groups whose names tell nothing.
trace::TraceSet unnamed(const StepOptions& o) {
  trace::TraceSet job = plain(o);
  const auto other = [](const std::string& name) {
    return fmt::format("pg_{}{}", name.starts_with("dp") ? 1 : 2, name.substr(2));
  };
  for (trace::Trace& t : job.ranks) {
    for (trace::Comm& comm : t.comms.edit())
      if (!t.strings[comm.group].empty()) comm.group = t.strings.intern(other(std::string(t.strings[comm.group])));
    for (trace::ProcessGroup& group : t.groups) group.name = other(group.name), group.description = "";
  }
  return job;
}

TEST(OtherJobs, AGroupWithoutARoleIsRefusedUntilAPatternNamesIt) {
  const auto with = [](trace::TraceSet job, const char* value) {
    sim::SimInput input;
    input.job = std::move(job);
    const auto reached = change_batch(value, input);
    return reached ? makespan(std::move(input)) : -1;
  };
  sim::SimInput input;
  input.job = unnamed(small_step());
  EXPECT_EQ(change_batch("2", input).error().tag, "whatif.batch.groups");
  EXPECT_EQ(change_batch("2:nobody", input).error().tag, "whatif.batch.groups");
  EXPECT_EQ(change_dp("4", input).error().tag, "whatif.dp.groups");
  EXPECT_EQ(with(unnamed(small_step()), "2:pg_1*"), with(plain(small_step()), "2"));
  EXPECT_GT(with(unnamed(small_step()), "2:pg_*"), 0);
}

TEST(OtherJobs, AGroupOfAllRanksWithAnotherRoleIsNotDataParallel) {
  const auto tag = [](const char* name) {
    StepOptions o = small_step();
    o.dp = o.pp = 1;
    sim::SimInput input;
    input.job = plain(o);
    for (trace::Trace& t : input.job.ranks) {
      for (trace::Comm& comm : t.comms.edit()) comm.group = t.strings.intern(name);
      for (trace::ProcessGroup& group : t.groups) group.name = name, group.description = "";
    }
    const auto reached = change_dp("4", input);
    return reached ? "" : reached.error().tag;
  };
  EXPECT_EQ(tag("tp0"), "whatif.dp.groups");
  EXPECT_EQ(tag("ep0"), "whatif.dp.groups");
  EXPECT_EQ(tag("pg_1"), "");
  EXPECT_EQ(tag("default_pg"), "");
}

TEST(OtherJobs, OnlyAnUnchangedGeneratedJobIsMadeAgain) {
  const auto tag = [](const char* value, const auto& damage) {
    sim::SimInput input;
    input.job = trace::expand(gen::step(small_step()).value());
    damage(input.job);
    const auto reached = change_tp(value, input);
    return reached ? "" : reached.error().tag;
  };
  EXPECT_EQ(tag("4", [](trace::TraceSet&) {}), "");
  EXPECT_EQ(tag("2", [](trace::TraceSet&) {}), "whatif.rule.nothing");
  EXPECT_EQ(tag("0", [](trace::TraceSet&) {}), "whatif.rule.form");
  EXPECT_EQ(tag("3", [](trace::TraceSet&) {}), "gen.step.divide");
  EXPECT_EQ(tag("4", [](trace::TraceSet& job) { job.ranks.pop_back(); }), "whatif.mesh.recipe");
  EXPECT_EQ(tag("4", [](trace::TraceSet& job) { job.ranks[0].metadata.clear(); }), "whatif.mesh.recipe");
  EXPECT_EQ(tag("4", [](trace::TraceSet& job) { job.ranks[1].num_ops.edit(trace::NodeId(0)) += 1; }),
            "whatif.mesh.recipe");
}

TEST(OtherJobs, AnEditedGeneratedJobIsRefused) {
  const auto refused = [](const char* value, const auto& damage) {
    sim::SimInput input;
    input.job = trace::expand(gen::step(small_step()).value());
    damage(input.job);
    const auto reached = change_dp(value, input);
    return reached ? "" : reached.error().tag;
  };
  EXPECT_EQ(refused("4", [](trace::TraceSet&) {}), "");
  EXPECT_EQ(refused("4:dp*", [](trace::TraceSet&) {}), "whatif.dp.groups");
  EXPECT_EQ(refused("4", [](trace::TraceSet& job) { job.ranks.pop_back(); }), "whatif.dp.groups");
  EXPECT_EQ(refused("4", [](trace::TraceSet& job) { job.ranks[3].metadata.clear(); }), "whatif.dp.groups");
  EXPECT_EQ(refused("4",
                    [](trace::TraceSet& job) {
                      for (trace::Trace& t : job.ranks)
                        for (trace::ProcessGroup& group : t.groups)
                          if (group.name == "tp0") group.ranks = {0, 2};
                    }),
            "whatif.dp.mesh");
}

}  // namespace
}  // namespace chakra::whatif
