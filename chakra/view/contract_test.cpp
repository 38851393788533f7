// Pictures stop at nodes, cells and parts that cannot be drawn.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/view/parts.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using chakra::testing::literal;
using result::Table;

TEST(Contract, OfExplaining) {
  trace::Builder b;
  b.add(1, 0, trace::NodeType::comp);
  const trace::Trace trace = std::move(b).finish();
  EXPECT_NE(explain(trace, trace::NodeId(0)), "");
  EXPECT_DEATH((void)explain(trace, trace::NodeId(1)), literal("node < t.size()"));
}

TEST(Contract, OfHeatMaps) {
  Table table{"times", {{"who", Table::Kind::text}, {"a", Table::Kind::count}}, {{std::string("rank 0"), int64_t{1}}}};
  EXPECT_NE(to_heat_map(table), "");
  table.rows = {{std::string("rank 0"), std::string("1")}};
  EXPECT_DEATH((void)to_heat_map(table), literal("!std::holds_alternative<std::string>(cell)"));
  table.rows = {{int64_t{0}, int64_t{1}}};
  EXPECT_DEATH((void)to_heat_map(table), literal("std::holds_alternative<std::string>(row[0])"));
  table.rows = {{std::string("rank 0")}};
  EXPECT_DEATH((void)to_heat_map(table), literal("row.size() == table.columns.size()"));
}

TEST(Contract, OfParts) { EXPECT_DEATH((void)divide({}, 1), literal("most >= 2")); }

}  // namespace
}  // namespace chakra::view
