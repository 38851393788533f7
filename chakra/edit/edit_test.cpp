#include "chakra/edit/edit.h"

#include <gtest/gtest.h>

#include "chakra/trace/testing/random_job.h"

namespace chakra::edit {
namespace {

using trace::CommType;
using trace::NodeType;
using trace::testing::JobNode;
using trace::testing::RandomJob;

JobNode collective(const char* group, int64_t root = -1) {
  JobNode n;
  n.type = NodeType::coll;
  n.comm = root < 0 ? CommType::all_reduce : CommType::broadcast;
  n.bytes = 64;
  n.group = group;
  n.root = root;
  return n;
}

/// Rank 0 of `job`, which has a collective in each of `groups`, as a job of `ranks`.
Result<trace::TraceSet> expanded(std::vector<JobNode> nodes, match::GroupTable& groups, int64_t ranks,
                                 Findings& findings) {
  RandomJob job;
  for (uint32_t i = 0; i < nodes.size(); ++i) nodes[i].key = i;
  job.ranks.push_back(std::move(nodes));
  return expand(job.build(), groups, ranks, -1, findings);
}

std::string group_of(const trace::Trace& t, trace::NodeId n) { return std::string(t.strings[t.comm(n)->group]); }

TEST(Expand, CopiesStandWhereTheOriginalStands) {
  match::GroupTable groups{{"tp", {0, 1}}, {"dp", {0, 2, 4, 6}}};
  Findings findings;
  const auto job = expanded({collective(""), collective("tp", 1), collective("dp", 2)}, groups, 8, findings);
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->ranks.size(), 8u);
  const trace::Trace& five = job->ranks[5];
  EXPECT_EQ(five.rank, 5);
  EXPECT_EQ(group_of(five, 0), "");
  EXPECT_EQ(group_of(five, 1), "tp@4");
  EXPECT_EQ(five.comm(1)->root, 5);
  EXPECT_EQ(group_of(five, 2), "dp@1");
  EXPECT_EQ(five.comm(2)->root, 3);
  EXPECT_EQ(groups.at("dp@1"), (std::vector<int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(group_of(job->ranks[1], 1), "tp");
  EXPECT_TRUE(match::match(*job, groups).findings.empty());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "edit.expand");
}

TEST(Expand, KnownGroupsGoBeforeThePattern) {
  match::GroupTable groups{{"a", {0, 3}}, {"b", {2, 1}}};
  Findings findings;
  const auto job = expanded({collective("a", 3)}, groups, 4, findings);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(group_of(job->ranks[1], 0), "b");
  EXPECT_EQ(job->ranks[1].comm(0)->root, 1);
  EXPECT_EQ(group_of(job->ranks[3], 0), "a");
  EXPECT_EQ(groups.size(), 2u);
}

TEST(Expand, Refuses) {
  Findings findings;
  const auto tag = [&](match::GroupTable groups, int64_t ranks) {
    const auto job = expanded({collective("a")}, groups, ranks, findings);
    return job ? std::string() : job.error().tag;
  };
  EXPECT_EQ(tag({{"a", {0, 1}}}, 3), "edit.expand.group");  // who is with rank 2?
  EXPECT_EQ(tag({{"a", {0, 2}}}, 6), "edit.expand.group");
  EXPECT_EQ(tag({{"a", {0, 1}}}, 0), "edit.expand.ranks");
  EXPECT_EQ(tag({{"a", {0, 1}}}, int64_t{1} << 40), "edit.expand.ranks");
}

}  // namespace
}  // namespace chakra::edit
