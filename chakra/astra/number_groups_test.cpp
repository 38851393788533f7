#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/astra/astra.h"

namespace chakra::astra {
namespace {

/// A rank whose only collective is in the last of its groups.
trace::Trace in_groups(int64_t rank, std::vector<std::pair<std::string, std::vector<int64_t>>> groups) {
  trace::Builder b;
  b.trace.rank = rank;
  const trace::NodeId n = b.add(1, b.trace.strings.intern("sum"), trace::NodeType::coll);
  b.comm(n).group = b.trace.strings.intern(groups.back().first);
  for (auto& [name, ranks] : groups) b.trace.groups.push_back({name, "", "", ranks, 0});
  return std::move(b).finish();
}

TEST(Compatible, GroupsOfOtherNamesGetFreeNumbers) {
  const std::vector<int64_t> first{0, 1}, second{2, 3}, all{0, 1, 2, 3};
  trace::TraceSet job;
  job.ranks.push_back(in_groups(0, {{"1", first}, {"everyone", all}, {"tp", first}}));
  job.ranks.push_back(in_groups(1, {{"everyone", all}, {"tp", first}}));
  job.ranks.push_back(in_groups(2, {{"everyone", all}, {"tp", second}}));
  job.ranks.push_back(in_groups(3, {{"everyone", all}, {"given", second}, {"", {}}}));
  match::GroupTable groups{{"3", all}, {"given", second}};
  Findings findings;
  number_groups(job, groups, findings);
  EXPECT_EQ(groups, (match::GroupTable{{"2", all}, {"3", all}, {"4", first}, {"5", second}, {"given", second}}));
  const std::vector<std::string_view> used{"4", "4", "5", ""};
  for (size_t r = 0; r < 4; ++r) {
    const trace::Trace& t = job.ranks[r];
    EXPECT_EQ(t.strings[t.comm(trace::NodeId(0))->group], used[r]);
    EXPECT_EQ(t.groups[r == 0 ? 1 : 0].name, "2");
  }
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "sim.compat.numbered");
}

}  // namespace
}  // namespace chakra::astra
