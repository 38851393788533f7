// How much the order of starts differs: by all pairs, and by hand.
#include "chakra/analyze/order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::analyze {
namespace {

using chakra::testing::literal;
using Times = std::vector<Picoseconds>;
using trace::testing::Job;

TEST(Order, ByHand) {
  const auto same = order_difference(Times{1, 2, 3, 4}, Times{10, 20, 30, 31});
  EXPECT_EQ(same.pairs, 6);
  EXPECT_EQ(same.swapped, 0);
  EXPECT_EQ(same.neighbours, 3);
  EXPECT_FALSE(same.first);
  const auto reversed = order_difference(Times{1, 2, 3}, Times{3, 2, 1});
  EXPECT_EQ(reversed.distance(), 1);
  EXPECT_EQ(reversed.neighbours_share(), 1);
  ASSERT_TRUE(reversed.first);
  EXPECT_EQ(reversed.first->place, 0);
  EXPECT_EQ(reversed.first->was, 0);
  EXPECT_EQ(reversed.first->is, 2);
  const auto moved = order_difference(Times{1, 2, 3, 4}, Times{1, 5, 3, 4});  // the second thing comes last
  EXPECT_EQ(moved.swapped, 2);
  EXPECT_EQ(moved.neighbours_swapped, 1);
  EXPECT_EQ(moved.first->place, 1);
  EXPECT_EQ(moved.first->was, 1);
  EXPECT_EQ(moved.first->is, 2);
  const auto at_once = order_difference(Times{5, 5, 5}, Times{2, 3, 1});
  EXPECT_EQ(at_once.pairs, 0);
  EXPECT_EQ(at_once.neighbours, 0);
  EXPECT_EQ(at_once.distance() + at_once.neighbours_share(), 0);
  EXPECT_FALSE(at_once.first);
  EXPECT_EQ(order_difference({}, {}).pairs, 0);
  EXPECT_DEATH(order_difference(Times{1}, {}), literal("was.size() == is.size()"));
}

TEST(Order, AsAllPairsSay) {
  Prng random(11);
  for (int i = 0; i < 500; ++i) {
    const size_t things = random.next() % 40;
    Times was, is;
    for (size_t t = 0; t < things; ++t) {
      was.push_back(static_cast<Picoseconds>(random.next() % (1 + i % 60)));
      is.push_back(i % 3 == 0 ? was.back() * 2 : static_cast<Picoseconds>(random.next() % 50));
    }
    uint64_t pairs = 0, swapped = 0;
    for (size_t a = 0; a < things; ++a)
      for (size_t b = 0; b < a; ++b) {
        pairs += was[a] != was[b] && is[a] != is[b];
        swapped += (was[a] < was[b] && is[a] > is[b]) || (was[a] > was[b] && is[a] < is[b]);
      }
    const OrderDifference d = order_difference(was, is), back = order_difference(is, was);
    EXPECT_EQ(d.pairs, pairs);
    EXPECT_EQ(d.swapped, swapped);
    EXPECT_EQ(back.pairs, pairs);
    EXPECT_EQ(back.swapped, swapped);
    EXPECT_EQ(d.first.has_value(), swapped > 0);
    EXPECT_LE(d.neighbours_swapped, std::min(d.neighbours, swapped));
  }
}

/// Three nodes and two collectives that start at these times.
trace::TraceSet starting(const Times& starts) {
  Job job(1);
  trace::Trace& t = job.builders[0].trace;
  for (size_t i = 0; i < starts.size(); ++i) {
    const trace::NodeId n = i < 3
                                ? job.compute(0, 1)
                                : job.collective(0, i == 3 ? trace::CommType::all_reduce : trace::CommType::barrier, 8);
    t.name.edit(n) = t.strings.intern(i == 1 ? "b" : i == 3 ? "sum" : "a");
    t.start_ps.edit(n) = std::max<Picoseconds>(0, starts[i]);
    if (starts[i] >= 0) t.flags.edit(n) |= trace::kHasStart;
  }
  return job.finish();
}

TEST(Order, OfNodesAndOfCommunication) {
  Findings findings;
  const trace::TraceSet was = starting({1, 2, 3, 4, 5});
  const auto rows = [&](std::vector<trace::TraceSet> is) { return order_timing(was, is, findings).rows; };
  const auto same = rows({starting({1, 2, 3, 4, 5})});
  ASSERT_EQ(same.size(), 2);
  EXPECT_EQ(std::get<int64_t>(same[0][2]), 5);
  EXPECT_EQ(std::get<int64_t>(same[1][2]), 2);
  for (const auto& row : same) {
    EXPECT_EQ(std::get<double>(row[3]), 0);
    EXPECT_EQ(std::get<double>(row[4]), 0);
    EXPECT_EQ(std::get<std::string>(row[5]), "");
  }
  const auto other = rows({starting({1, 2, 3, 4, 5}), starting({1, 2, 3, 5, 4}), starting({2, 1, 3, 5, 4})});
  EXPECT_DOUBLE_EQ(std::get<double>(other[0][3]), 0.25);  // the middle of 0, 1 and 2 of 4
  EXPECT_DOUBLE_EQ(std::get<double>(other[0][4]), 0.1);   // of 0, 1 and 2 of 10
  EXPECT_DOUBLE_EQ(std::get<double>(other[1][4]), 1);
  EXPECT_EQ(std::get<std::string>(other[0][5]), "number 4 is a (node 5), was sum (node 4)");
  EXPECT_EQ(std::get<std::string>(other[1][5]), "number 1 is a (node 5), was sum (node 4)");
  EXPECT_TRUE(findings.empty());
  const auto fewer = rows({starting({1, 2, -1, 4})});
  EXPECT_EQ(std::get<int64_t>(fewer[0][2]), 3);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].tag, "analyze.timing.order");
  EXPECT_NE(findings[0].text.find("2 nodes of the first job and 0 of the second"), std::string::npos)
      << findings[0].text;
}

}  // namespace
}  // namespace chakra::analyze
