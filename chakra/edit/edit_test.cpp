#include "chakra/edit/edit.h"

#include <gtest/gtest.h>

#include "chakra/trace/testing/random_job.h"

namespace chakra::edit {
namespace {

using trace::CommType;
using trace::NodeId;
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

std::string group_of(const trace::Trace& t, uint32_t n) { return std::string(t.strings[t.comm(NodeId(n))->group]); }

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
  EXPECT_EQ(five.comm(NodeId(1))->root, 5);
  EXPECT_EQ(group_of(five, 2), "dp@1");
  EXPECT_EQ(five.comm(NodeId(2))->root, 3);
  EXPECT_EQ(groups.at("dp@1"), (std::vector<int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(group_of(job->ranks[1], 1), "tp");
  EXPECT_TRUE(match::match(*job, groups).findings.empty());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "edit.expand");
}

TEST(Expand, TracesDescribeTheGroupsOfCopies) {
  match::GroupTable groups{{"tp", {0, 1}}};
  Findings findings;
  const auto job = expanded({collective(""), collective("tp", 1)}, groups, 6, findings);
  ASSERT_TRUE(job) << job.error().message();
  const trace::Trace& three = job->ranks[3];
  ASSERT_EQ(three.groups.size(), 1u);
  EXPECT_EQ(three.groups[0].name, "tp@2");
  EXPECT_EQ(three.groups[0].ranks, (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(match::match(*job, {{"tp", {0, 1}}}).findings.empty());
}

TEST(Expand, UnevenAllToAllsBecomeEven) {
  JobNode tokens = collective("");
  tokens.comm = CommType::all_to_all;
  Findings findings;
  match::GroupTable none;
  RandomJob recorded;
  recorded.ranks = {{tokens}, {tokens}};
  trace::TraceSet pair = recorded.build();
  const uint64_t sizes[2][2] = {{96, 32}, {16, 80}};
  for (size_t r = 0; r < 2; ++r) {
    trace::Comm& comm = pair.ranks[r].comms.edit(0);
    comm.bytes = comm.in_bytes = sizes[r][0], comm.out_bytes = sizes[r][1];
  }
  EXPECT_TRUE(match::match(pair).findings.empty());
  const auto job = expand(std::move(pair), none, 5, 1, findings);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_TRUE(match::match(*job).findings.empty());
  for (const trace::Trace& t : job->ranks) EXPECT_EQ(t.comm(NodeId(0))->bytes, 56u);
}

TEST(Expand, KnownGroupsGoBeforeThePattern) {
  match::GroupTable groups{{"a", {0, 3}}, {"b", {2, 1}}};
  Findings findings;
  const auto job = expanded({collective("a", 3)}, groups, 4, findings);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(group_of(job->ranks[1], 0), "b");
  EXPECT_EQ(job->ranks[1].comm(NodeId(0))->root, 1);
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

JobNode with(CommType type, const char* group, uint64_t bytes, int64_t root = -1) {
  JobNode n = collective(group, root);
  n.comm = type;
  n.bytes = bytes;
  return n;
}

JobNode message(NodeType type, int64_t partner) {
  JobNode n;
  n.type = type;
  n.bytes = 8;
  (type == NodeType::send ? n.dst : n.src) = partner;
  return n;
}

uint64_t of_four(std::string_view) { return 4; }

RandomJob job_of(std::vector<std::vector<JobNode>> ranks) {
  RandomJob job;
  for (auto& nodes : ranks) {
    for (uint32_t i = 0; i < nodes.size(); ++i) nodes[i].key = i;
    job.ranks.push_back(std::move(nodes));
  }
  return job;
}

/// Four ranks: collectives of all, a group of two, messages. A rank's list is that of its digits: rank 1 sends rank 2
/// 12 elements of 4 bytes.
RandomJob four_ranks() {
  std::vector<std::vector<JobNode>> ranks(4);
  for (uint64_t r = 0; r < 4; ++r) {
    ranks[r] = {with(CommType::all_reduce, "", 64), with(CommType::reduce_scatter, "", 64),
                with(CommType::all_gather, "", 64), with(CommType::broadcast, "", 64, 3),
                with(CommType::all_to_all, "", 64), with(CommType::all_to_all, "", 0)};
    for (uint64_t other = 0; other < 4; ++other) {
      ranks[r][5].in_split.push_back(10 * r + other);
      ranks[r][5].out_split.push_back(10 * other + r);
      ranks[r][5].bytes += 4 * (10 * r + other);
    }
    if (r % 2 == 1) ranks[r].push_back(with(CommType::all_reduce, "odd", 64));
  }
  ranks[0].push_back(message(NodeType::send, 1));
  ranks[1].push_back(message(NodeType::recv, 0));
  ranks[1].push_back(message(NodeType::send, 3));
  ranks[3].push_back(message(NodeType::recv, 1));
  return job_of(ranks);
}

std::vector<std::string> tags_of(const Findings& findings) {
  std::vector<std::string> tags;
  for (const Finding& f : findings) tags.push_back(f.tag);
  return tags;
}

TEST(Shrink, LeavesOutWhatRanksThatAreGoneSendAndGet) {
  match::GroupTable groups{{"odd", {1, 3}}};
  Findings findings;
  const auto job = shrink(four_ranks().build(), groups, 3, of_four, findings);
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->ranks.size(), 3u);
  const trace::Trace& one = job->ranks[1];
  EXPECT_EQ(one.comm(NodeId(0))->bytes, 64u);
  EXPECT_EQ(one.comm(NodeId(1))->bytes, 48u);  // a quarter for each
  EXPECT_EQ(one.comm(NodeId(2))->bytes, 64u);
  EXPECT_EQ(one.comm(NodeId(3))->root, 0);
  EXPECT_EQ(one.comm(NodeId(4))->bytes, 48u);
  EXPECT_EQ(one.comm(NodeId(5))->in_split, "[10, 11, 12]");
  EXPECT_EQ(one.comm(NodeId(5))->out_split, "[1, 11, 21]");
  EXPECT_EQ(one.comm(NodeId(5))->bytes, 4 * 33u);
  EXPECT_EQ(one.type[6], NodeType::metadata);  // alone in its group
  EXPECT_EQ(one.type[7], NodeType::recv);
  EXPECT_EQ(one.type[8], NodeType::metadata);  // its receiver is gone
  EXPECT_EQ(groups.at("odd"), (std::vector<int64_t>{1}));
  EXPECT_TRUE(match::match(*job, groups).findings.empty());
  EXPECT_EQ(tags_of(findings), (std::vector<std::string>{"edit.shrink", "edit.shrink.messages", "edit.shrink.alone",
                                                         "edit.shrink.roots"}));
}

TEST(Shrink, PartsAreWholeElements) {
  const auto shrunk = [](uint64_t bytes, int64_t from, int64_t to) {
    match::GroupTable groups;
    Findings findings;
    const JobNode node = with(CommType::reduce_scatter, "", bytes);
    const auto job = shrink(job_of(std::vector(static_cast<size_t>(from), std::vector{node})).build(), groups, to,
                            of_four, findings);
    return job ? job->ranks[0].comm(NodeId(0))->bytes : 0;
  };
  EXPECT_EQ(shrunk(48, 4, 3), 36u);
  EXPECT_EQ(shrunk(40, 4, 3), 36u);  // 12, 12, 12 and 4 bytes
  EXPECT_EQ(shrunk(40, 3, 2), 32u);
  EXPECT_EQ(shrunk(8, 4, 3), 8u);
  EXPECT_EQ(shrunk(10, 4, 2), 6u);  // not elements of 4 bytes
  EXPECT_EQ(shrunk(UINT64_MAX, 3, 2), UINT64_MAX / 3 * 2);
}

TEST(Shrink, GroupsAreThoseThatTracesDescribe) {
  RandomJob job = job_of({{with(CommType::all_gather, "g", 60)}, {}, {with(CommType::all_gather, "g", 60)}});
  trace::TraceSet set = job.build();
  for (const size_t r : {0, 2}) {
    set.ranks[r].groups.resize(3);
    set.ranks[r].groups[0] = {"g", "described", "", {2, 0}, 2};
    set.ranks[r].groups[1] = {"unused", "", "", {1, 2}, 2};
    set.ranks[r].groups[2] = {"unknown", "", "", {}, 2};
  }
  match::GroupTable groups;
  Findings findings;
  const auto all = shrink(set, groups, 3, of_four, findings);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->ranks[0].comm(NodeId(0))->bytes, 60u);
  EXPECT_EQ(all->ranks[0].groups[0].ranks, (std::vector<int64_t>{2, 0}));
  const auto two = shrink(set, groups, 2, of_four, findings);
  ASSERT_TRUE(two);
  ASSERT_EQ(two->ranks[0].groups.size(), 2u);  // a size does not say who is in it
  EXPECT_EQ(two->ranks[0].groups[0].ranks, (std::vector<int64_t>{0}));
  EXPECT_EQ(two->ranks[0].groups[0].description, "described");
  EXPECT_EQ(two->ranks[0].groups[1].ranks, (std::vector<int64_t>{1}));
}

TEST(Shrink, ListsOfPartsSayHowManyRanksThereWere) {
  JobNode parts = with(CommType::all_to_all, "", 4 * 36);
  parts.in_split = parts.out_split = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector nodes{parts, with(CommType::reduce_scatter, "", 64)};
  match::GroupTable groups;
  Findings findings;
  const auto job = shrink(job_of({nodes, nodes}).build(), groups, 2, of_four, findings);  // of eight ranks
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->ranks[0].comm(NodeId(0))->in_split, "[1, 2]");
  EXPECT_EQ(job->ranks[0].comm(NodeId(0))->bytes, 12u);
  EXPECT_EQ(job->ranks[0].comm(NodeId(1))->bytes, 16u);
}

TEST(Shrink, RefusesWhatNothingSays) {
  const auto tag = [](JobNode node, int64_t ranks) {
    match::GroupTable groups;
    Findings findings;
    trace::TraceSet set = job_of({{node}, {node}, {node}}).build();
    for (trace::Trace& t : set.ranks)
      if (node.comm == CommType::all_to_all) t.comms.edit(0).in_bytes = 8, t.comms.edit(0).out_bytes = 16;
    const auto job = shrink(std::move(set), groups, ranks, of_four, findings);
    return job ? std::string() : job.error().tag;
  };
  EXPECT_EQ(tag(with(CommType::all_to_all, "", 8), 2), "edit.parts");
  JobNode parts = with(CommType::all_to_all, "", 8);
  parts.in_split = {1, 2};
  EXPECT_EQ(tag(parts, 2), "edit.parts");  // of two
  parts.in_split = {1, 2, 2};
  EXPECT_EQ(tag(parts, 2), "edit.parts");  // 5 elements are not 8 bytes
  EXPECT_EQ(tag(with(CommType::broadcast, "", 8, 7), 2), "edit.root");
  EXPECT_EQ(tag(collective(""), 4), "edit.shrink.ranks");
  EXPECT_EQ(tag(collective(""), 0), "edit.shrink.ranks");
}

TEST(Replicate, GroupsOfAllRanksGrow) {
  match::GroupTable groups{{"odd", {1, 3}}};
  Findings findings;
  const auto job = replicate(four_ranks().build(), groups, 2, of_four, findings);
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->ranks.size(), 8u);
  const trace::Trace& five = job->ranks[5];
  EXPECT_EQ(five.rank, 5);
  EXPECT_EQ(five.comm(NodeId(0))->bytes, 64u);
  EXPECT_EQ(five.comm(NodeId(1))->bytes, 64u);
  EXPECT_EQ(five.comm(NodeId(2))->bytes, 32u);  // all gather as much as before
  EXPECT_EQ(five.comm(NodeId(3))->root, 3);
  EXPECT_EQ(five.comm(NodeId(4))->bytes, 64u);
  EXPECT_EQ(five.comm(NodeId(5))->in_split, "[5, 5, 6, 6, 5, 6, 6, 7]");  // of 10, 11, 12 and 13
  EXPECT_EQ(five.comm(NodeId(5))->bytes, 4 * 46u);
  EXPECT_EQ(job->ranks[1].comm(NodeId(5))->in_split, "[5, 6, 6, 7, 5, 5, 6, 6]");
  EXPECT_EQ(group_of(five, 6), "odd@1");
  EXPECT_EQ(five.comm(NodeId(7))->src, 4);
  EXPECT_EQ(five.comm(NodeId(8))->dst, 7);
  EXPECT_EQ(groups.at("odd"), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(groups.at("odd@1"), (std::vector<int64_t>{5, 7}));
  EXPECT_TRUE(match::match(*job, groups).findings.empty());
  EXPECT_EQ(tags_of(findings), (std::vector<std::string>{"edit.replicate"}));
}

TEST(Replicate, Refuses) {
  const auto tag = [](match::GroupTable groups, int64_t times) {
    Findings findings;
    const auto job =
        replicate(job_of({{collective("a")}, {collective("a")}}).build(), groups, times, of_four, findings);
    return job ? std::string() : job.error().tag;
  };
  EXPECT_EQ(tag({{"a", {0, 1, 2}}}, 2), "edit.replicate.group");
  EXPECT_EQ(tag({{"a", {0, 1}}, {"b", {0}}, {"b@1", {1}}}, 2), "edit.replicate.group");
  EXPECT_EQ(tag({{"a", {0, 1, -1}}}, 2), "edit.replicate.group");
  EXPECT_EQ(tag({{"a", {0, 1}}}, 0), "edit.replicate.ranks");
  EXPECT_EQ(tag({{"a", {0, 1}}}, int64_t{1} << 40), "edit.replicate.ranks");
  EXPECT_EQ(tag({{"a", {0, 1}}}, 3), "");
  match::GroupTable groups;
  Findings findings;
  const auto job = replicate(job_of({{message(NodeType::send, 2)}, {}}).build(), groups, 2, of_four, findings);
  ASSERT_FALSE(job);  // rank 2 would be the other replica's
  EXPECT_EQ(job.error().tag, "edit.replicate.partner");
}

}  // namespace
}  // namespace chakra::edit
