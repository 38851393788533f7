// Open monitored barriers are named where the sequences of their groups leave one way.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chakra/match/match.h"

namespace chakra::match {
namespace {

using trace::CommType;

constexpr std::string_view kOpen = "open";
using Calls = std::vector<std::pair<CommType, std::string>>;  ///< with the group, in order
using Groups = std::map<std::string, std::vector<int64_t>>;

/// As PyTorch records them: of a barrier only the first rank of the group knows the group. A rank that is in no other
/// group in which it is not the first also knows it.
trace::TraceSet record(const std::vector<Calls>& ranks, const Groups& groups) {
  trace::TraceSet job;
  for (size_t r = 0; r < ranks.size(); ++r) {
    trace::Builder b;
    b.trace.rank = static_cast<int64_t>(r);
    for (const auto& [name, members] : groups)
      if (std::find(members.begin(), members.end(), b.trace.rank) != members.end())
        b.trace.groups.push_back({.name = name, .description = "", .backend = "", .ranks = members});
    const auto others = std::count_if(b.trace.groups.begin(), b.trace.groups.end(),
                                      [&](const trace::ProcessGroup& g) { return g.ranks[0] != b.trace.rank; });
    for (const auto& [type, group] : ranks[r]) {
      const trace::NodeId n = b.add(b.trace.size() + 1, 0, trace::NodeType::coll);
      b.trace.start_ps.edit(n) = static_cast<Picoseconds>(n + 1) * 1000;
      b.trace.flags.edit(n) = trace::kHasStart;
      trace::Comm& comm = b.comm(n);
      comm.type = type;
      comm.bytes = type == CommType::barrier ? 0 : 64;
      const bool open = type == CommType::barrier && groups.at(group)[0] != b.trace.rank && others > 1;
      comm.group = b.trace.strings.intern(open ? std::string(kOpen) : group);
    }
    job.ranks.push_back(std::move(b).finish());
  }
  return job;
}

/// Windows with `per_step` collectives a step; 0: no steps are known.
std::vector<RankWindow> windows(const trace::TraceSet& job, size_t per_step) {
  std::vector<RankWindow> all(job.ranks.size());
  for (size_t r = 0; r < all.size(); ++r)
    for (size_t n = 0; n < job.ranks[r].size(); ++n)
      all[r].steps.push_back(per_step == 0 ? -1 : static_cast<int64_t>(n / per_step));
  return all;
}

std::vector<std::string> groups_of(const trace::Trace& t) {
  std::vector<std::string> found;
  for (const trace::NodeId n : t.nodes()) found.emplace_back(t.strings[t.comm(n)->group]);
  return found;
}

Calls repeated(const Calls& once, size_t times) {
  Calls all;
  for (size_t i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
  return all;
}

Calls step_of(const std::string& pair) {
  return {{CommType::barrier, pair},
          {CommType::all_reduce, "0"},
          {CommType::barrier, pair},
          {CommType::all_reduce, pair},
          {CommType::barrier, "0"}};
}

TEST(Barriers, SequencesNameThem) {
  const Groups groups{{"0", {0, 1, 2, 3}}, {"1", {0, 1}}, {"2", {2, 3}}};
  trace::TraceSet job = record(
      {repeated(step_of("1"), 3), repeated(step_of("1"), 3), repeated(step_of("2"), 3), repeated(step_of("2"), 3)},
      groups);
  ASSERT_EQ(groups_of(job.ranks[3])[0], kOpen);
  choose_barriers(job, windows(job, 5), kOpen);
  for (const size_t r : {1, 3}) {
    const std::string pair = r == 1 ? "1" : "2";
    for (size_t n = 0; n < 15; ++n) EXPECT_EQ(groups_of(job.ranks[r])[n], step_of(pair)[n % 5].second) << r << ' ' << n;
  }
  EXPECT_EQ(match(job).findings.size(), 0u);
}

/// Rank 1 leaves both groups to rank 0, whose order is its own. Rank 3's barriers at the end of a step could change
/// places with those at the beginning of the next one.
TEST(Barriers, WhatSeveralWaysFitStaysOpen) {
  const Groups groups{{"0", {0, 1, 2, 3}}, {"1", {0, 1}}, {"2", {2, 3}}};
  trace::TraceSet job = record(
      {repeated(step_of("1"), 2), repeated(step_of("1"), 2), repeated(step_of("2"), 2), repeated(step_of("2"), 2)},
      groups);
  choose_barriers(job, windows(job, 0), kOpen);
  for (size_t n = 0; n < 10; ++n) EXPECT_EQ(groups_of(job.ranks[1])[n], step_of("1")[n % 5].second) << n;
  const std::vector<std::string> third = groups_of(job.ranks[3]);
  for (size_t n = 0; n < 10; ++n)
    EXPECT_EQ(third[n], n == 4 || n == 5 ? std::string(kOpen) : step_of("2")[n % 5].second) << n;
}

/// A barrier that the first rank did not record contradicts all ways.
TEST(Barriers, ContradictionsNameNone) {
  const Groups groups{{"0", {0, 1, 2}}, {"1", {0, 1, 2}}};
  const Calls calls{{CommType::barrier, "0"}, {CommType::all_reduce, "1"}, {CommType::barrier, "1"}};
  trace::TraceSet job = record({{calls[0], calls[1]}, calls, calls}, groups);
  const std::vector<std::string> before = groups_of(job.ranks[1]);
  choose_barriers(job, windows(job, 0), kOpen);
  EXPECT_EQ(groups_of(job.ranks[1]), before);
}

}  // namespace
}  // namespace chakra::match
