// Random jobs, valid and broken, through the check and both simulators: all end, none silently, and what the check
// proves is what the run does.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "chakra/astra/astra.h"
#include "chakra/check/check.h"
#include "chakra/edit/edit.h"
#include "chakra/replay/replay.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/testing/random_job.h"

namespace chakra {
namespace {

using trace::CommType;
using trace::NodeType;
using trace::testing::JobNode;
using trace::testing::RandomJob;

int rounds() {
  const char* given = std::getenv("CHAKRA_TEST_JOBS");  // 10000 for the full test
  return given ? std::atoi(given) : 1000;
}

astra::Input input_of(const RandomJob& job, Prng& random) {
  astra::Input in;
  in.job = job.build();
  in.groups = match::GroupTable(job.groups.begin(), job.groups.end());
  in.fabric = {{{static_cast<net::TopologyKind>(random.below(3)), static_cast<int64_t>(job.ranks.size()), 50, 500}}};
  in.system.splits_given = true;
  in.system.splits = static_cast<int64_t>(1 + random.below(4));
  in.system.memory_bytes_per_s = in.system.peak_flop_per_s = 1e12;
  in.system.all_reduce = in.system.all_gather = in.system.reduce_scatter =
      in.system.all_to_all = {random.chance(0.5) ? "ring" : "direct"};
  in.options.congestion_aware = random.chance(0.5);
  in.options.rendezvous = random.chance(0.2);
  return in;
}

/// What ASTRA-sim has: four operations, groups with numbers for names.
void as_astra_sim(RandomJob& job) {
  const auto renamed = [](const std::string& name) { return name.starts_with('g') ? name.substr(1) : name; };
  RandomJob::Groups groups;
  for (const auto& [name, members] : job.groups) groups.emplace(renamed(name), members);
  groups.erase("0");
  job.groups = std::move(groups);
  for (auto& nodes : job.ranks)
    for (JobNode& n : nodes) {
      if (!n.is_coll()) continue;
      n.group = renamed(n.group);
      n.root = -1;
      if (n.bytes == 0) n.bytes = 4096;
      n.comm = std::array{CommType::all_reduce, CommType::all_gather, CommType::all_to_all,
                          CommType::reduce_scatter}[static_cast<size_t>(n.comm) % 4];
      n.in_split.clear();
      n.out_split.clear();
      if (n.comm == CommType::all_to_all) n.bytes = 8192;  // with splits, the sizes differed
    }
}

/// Anything may be wrong, several things at once.
void damage(RandomJob& job, Prng& random) {
  for (uint64_t times = 1 + random.below(4); times > 0; --times) {
    const size_t r = random.below(job.ranks.size());
    auto& nodes = job.ranks[r];
    if (nodes.empty()) continue;
    const size_t at = random.below(nodes.size()), other = random.below(nodes.size());
    JobNode& n = nodes[at];
    switch (random.below(17)) {
      case 0: job.remove(r, at); break;
      case 1: std::swap(nodes[at], nodes[other]); break;
      case 2: nodes.push_back(n); break;  // a duplicate id
      case 3: n.type = static_cast<NodeType>(random.below(8)); break;
      case 4: n.comm = static_cast<CommType>(random.below(10)); break;
      case 5: n.bytes = random.chance(0.5) ? 0 : random.next() >> random.below(64); break;
      case 6: n.group = random.chance(0.5) ? "g1" : "nobody's"; break;
      case 7: n.root = random.between(-2, 20); break;
      case 8: n.deps.push_back(nodes[other].key); break;  // a circle, perhaps
      case 9: n.deps.push_back(12345); break;             // dangling
      case 10: n.deps.clear(); break;
      case 11: n.sequence = random.between(-1, 30); break;
      case 12: n.tag = random.between(-1, 5); break;
      case 13: (random.chance(0.5) ? n.dst : n.src) = random.between(-1, 20); break;
      case 14: n.in_split.assign(random.below(6), random.next() >> random.below(64)); break;
      case 15:
        if (!job.groups.empty()) job.groups.begin()->second.assign(1, random.between(0, 20));
        break;
      default: n.dur = static_cast<Picoseconds>(random.next() >> (1 + random.below(60))); break;
    }
  }
}

bool any_of_tag(const Findings& findings, std::string_view tag) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.tag == tag; });
}

TEST(RandomJobs, EndInBothSimulatorsAsTheCheckSays) {
  Prng random(5);
  int finished = 0, finished_compat = 0, refused = 0, stuck = 0;
  for (int round = 0; round < rounds(); ++round) {
    RandomJob job = trace::testing::random_job(random, 2, 8, 12);
    const bool valid = round % 3 == 0, plain = round % 2 == 0;
    if (plain) as_astra_sim(job);
    if (!valid) damage(job, random);
    const astra::Input in = input_of(job, random);
    const Findings findings = check::check(in.job, in.groups);
    const bool wrong = check::any_error(findings);
    if (valid) EXPECT_FALSE(wrong) << round << " " << findings[0].tag << " " << findings[0].text;
    for (const Finding& f : findings) EXPECT_FALSE(f.tag.empty() || f.text.empty());

    // In every native mode: as it is, every rank by itself, and links shared.
    sim::SimInput native_in;
    for (const trace::Trace& t : in.job.ranks) native_in.job.ranks.push_back(t);
    native_in.fabric = in.fabric;
    native_in.system = in.system;
    native_in.groups = in.groups;
    native_in.fold = round % 2 == 0;
    native_in.congestion = static_cast<sim::Congestion>(round % 3);
    const auto native = sim::simulate(std::move(native_in));
    if (native) {
      ++finished;
      for (const sim::RankReport& r : native->ranks)
        EXPECT_EQ(r.compute_ps + r.exposed_comm_ps + r.host_ps + r.bubble_ps + r.idle_ps, r.finish_ps) << round;
      for (const char* tag : {"check.deadlock", "check.dep.cycle", "match.collective.count", "match.message.no_send"})
        EXPECT_FALSE(any_of_tag(findings, tag)) << round << " runs in spite of " << tag;
    } else {
      EXPECT_FALSE(native.error().tag.empty() || native.error().text.empty());
      ++(native.error().code == Code::stuck ? stuck : refused);
      // Valid jobs run. A finding announces each stuck job, unless only the time decides what a stream takes first.
      bool streams = false;
      for (const trace::Trace& t : in.job.ranks) streams |= !t.lanes.empty();
      EXPECT_FALSE(valid) << round << " " << native.error().message();
      const bool told = wrong || any_of_tag(findings, "match.rank.missing") ||
                        any_of_tag(findings, "match.message.no_send") || any_of_tag(findings, "match.message.no_recv");
      if (native.error().code == Code::stuck && !streams) EXPECT_TRUE(told) << round << " " << native.error().message();
    }
    const auto compat = astra::simulate(in);
    finished_compat += compat.has_value();
    if (compat) EXPECT_EQ(compat->ranks.size(), in.job.ranks.size());
    else EXPECT_FALSE(compat.error().tag.empty() || compat.error().text.empty());

    Findings expanded;
    match::GroupTable groups = in.groups;
    const auto more = edit::expand(job.build(), groups, random.between(1, 20), random.between(-1, 8), expanded);
    if (more) (void)check::check(*more, groups);
    else EXPECT_TRUE(more.error().tag.starts_with("edit.expand.")) << more.error().tag;
    for (const bool fewer : {true, false}) {
      groups = in.groups;
      const auto other =
          fewer ? edit::shrink(job.build(), groups, random.between(1, 8), replay::element_bytes, expanded)
                : edit::replicate(job.build(), groups, random.between(1, 4), replay::element_bytes, expanded);
      if (other) (void)check::check(*other, groups);
      else EXPECT_TRUE(other.error().tag.starts_with("edit.")) << other.error().tag;
    }
  }
  EXPECT_GT(finished, rounds() / 3);
  EXPECT_GT(finished_compat, rounds() / 20);
  EXPECT_GT(refused, 0);
  EXPECT_GT(stuck, 0);
}

}  // namespace
}  // namespace chakra
