// Views stop at nodes, cells and parts that cannot be drawn.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/view/parts.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using chakra::testing::literal;

TEST(Contract, OfExplaining) {
  trace::Builder b;
  b.add(1, 0, trace::NodeType::comp);
  const trace::Trace trace = std::move(b).finish();
  EXPECT_NE(explain(trace, trace::NodeId(0)), "");
  EXPECT_DEATH((void)explain(trace, trace::NodeId(1)), literal("node < t.size()"));
}

TEST(Contract, OfHeatMaps) {
  HeatMap map{"times", {"a"}, {{"rank 0", {1}}}};
  EXPECT_NE(to_heat_map(map), "");
  map.rows[0].bytes.clear();
  EXPECT_DEATH((void)to_heat_map(map), literal("row.bytes.size() == columns"));
}

TEST(Contract, OfParts) { EXPECT_DEATH((void)divide({}, 1), literal("most >= 2")); }

}  // namespace
}  // namespace chakra::view
