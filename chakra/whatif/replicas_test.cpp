// Sizes of collectives after a change of the replicas or the batch of a job without a recipe.
#include <gtest/gtest.h>

#include "chakra/match/match.h"
#include "chakra/trace/testing/small_job.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;

constexpr NodeId kGather{0}, kScatter{1}, kTokens{2}, kRoot{3}, kReduce{4};

/// Two data-parallel ranks that share 12 elements out, exchange uneven tokens, and sum gradients.
sim::SimInput two_ranks() {
  trace::testing::Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    trace::Builder& b = job.builders[r];
    NodeId last = trace::kNoNode;
    const auto add = [&](CommType type, uint64_t in, uint64_t out) -> Comm& {
      last = job.collective(r, type, in, last == trace::kNoNode ? std::vector<NodeId>{} : std::vector{last});
      Comm& comm = b.comm(last);
      comm.in_bytes = in, comm.out_bytes = out;
      comm.dtype = b.trace.strings.intern("Float");
      return comm;
    };
    add(CommType::all_gather, 24, 48);
    add(CommType::reduce_scatter, 48, 24);
    Comm& tokens = add(CommType::all_to_all, r == 0 ? 16 : 8, r == 0 ? 8 : 16);
    tokens.in_split = b.trace.texts.add(r == 0 ? "[1, 3]" : "[1, 1]");
    tokens.out_split = b.trace.texts.add(r == 0 ? "[1, 1]" : "[3, 1]");
    add(CommType::broadcast, 48, 48).root = 1;
    add(CommType::all_reduce, 48, 48);
    job.compute(r, kPsPerUs, {last});
  }
  sim::SimInput in;
  in.job = job.finish();
  EXPECT_TRUE(match::match(in.job).findings.empty());
  return in;
}

/// The job with replicas, whose ranks have equal sizes and agree.
sim::SimInput with_replicas(const char* replicas) {
  sim::SimInput in = two_ranks();
  const auto reached = change_dp(replicas, in);
  EXPECT_TRUE(reached) << reached.error().message();
  EXPECT_TRUE(match::match(in.job, in.groups).findings.empty()) << match::match(in.job, in.groups).findings[0].text;
  return in;
}
void expect_sizes(const Comm& comm, uint64_t bytes, uint64_t in, uint64_t out) {
  EXPECT_EQ(comm.bytes, bytes);
  EXPECT_EQ(comm.in_bytes, in);
  EXPECT_EQ(comm.out_bytes, out);
}

TEST(Replicas, ShareTheSameDataOut) {
  for (const auto& [replicas, part] : {std::pair("1", 48), {"3", 16}, {"4", 12}, {"6", 8}, {"12", 4}}) {
    const sim::SimInput in = with_replicas(replicas);
    for (const trace::Trace& t : in.job.ranks) {
      expect_sizes(*t.comm(kGather), static_cast<uint64_t>(part), static_cast<uint64_t>(part), 48);
      expect_sizes(*t.comm(kScatter), 48, 48, static_cast<uint64_t>(part));
      expect_sizes(*t.comm(kReduce), 48, 48, 48);
    }
  }
  const sim::SimInput five = with_replicas("5");  // 3 whole elements each
  expect_sizes(*five.job.ranks[4].comm(kGather), 12, 12, 60);
  expect_sizes(*five.job.ranks[4].comm(kScatter), 60, 60, 12);
}

TEST(Replicas, MakeUnevenTokensEven) {
  const sim::SimInput in = with_replicas("3");
  for (const trace::Trace& t : in.job.ranks) {
    expect_sizes(*t.comm(kTokens), 12, 12, 12);
    EXPECT_TRUE(t.comm(kTokens)->in_split.empty() && t.comm(kTokens)->out_split.empty());
  }
  EXPECT_EQ(with_replicas("2").job.ranks[0].comm(kTokens)->in_split, "[1, 3]");
}

TEST(Replicas, KeepARoot) {
  EXPECT_EQ(with_replicas("1").job.ranks[0].comm(kRoot)->root, 0);
  EXPECT_EQ(with_replicas("3").job.ranks[2].comm(kRoot)->root, 1);
}

TEST(Batch, TokensGrowInAnyGroup) {
  for (const char* value : {"2", "2:*"}) {
    sim::SimInput in = two_ranks();
    const auto reached = change_batch(value, in);
    ASSERT_TRUE(reached) << reached.error().message();
    EXPECT_EQ(reached->findings.size(), value[1] == ':' ? 1u : 0u);  // whatif.batch.all_to_all
    const trace::Trace& t = in.job.ranks[0];
    expect_sizes(*t.comm(kTokens), 32, 32, 16);
    EXPECT_EQ(t.comm(kTokens)->in_split, "[2, 6]");
    expect_sizes(*t.comm(kReduce), 48, 48, 48);
    expect_sizes(*t.comm(kGather), 24, 24, 48);
    EXPECT_TRUE(match::match(in.job).findings.empty());
  }
}

}  // namespace
}  // namespace chakra::whatif
