// Linking stops where the steps that a function needs have not run.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/link/assemble.h"
#include "chakra/link/matching.h"
#include "chakra/link/node_writer.h"

namespace chakra::link {
namespace {

using chakra::testing::literal;

TEST(Contract, OfAssembling) {
  trace::Builder builder;
  Linking l{Recording{}, builder.trace, {}};
  EXPECT_DEATH((void)assemble(l, builder), literal("l.filled.contains(kEndParts)"));
  l.filled.add({Part::matches, Part::chains, Part::host_deps});
  EXPECT_DEATH((void)assemble(l, builder), literal("l.filled.contains(kEndParts)"));
}

TEST(Contract, OfMatching) {
  trace::Builder builder;
  Linking l{Recording{}, builder.trace, {}};
  const RowMap by_id;
  EXPECT_DEATH(match_other_names(l, by_id), literal("l.report.matched_host_ops > 0"));
  EXPECT_DEATH(match_host_comm(l, 0, UINT64_MAX), literal("l.report.matched_host_ops > 0"));
}

TEST(Contract, OfNodes) {
  trace::Builder builder;
  Linking l{Recording{}, builder.trace, {}};
  NodeWriter writer(l, builder);
  Numbering numbering;
  EXPECT_DEATH(writer.write(trace::NodeId(0), numbering, {}), literal("node < numbering.nodes()"));
  numbering.origins.assign(2, {Item::Kind::gap, 0});
  EXPECT_DEATH(writer.write(trace::NodeId(0), numbering, {}), literal("t_.type.size() == numbering.nodes()"));
  for (int n = 0; n < 2; ++n) builder.trace.type.push_back(trace::NodeType::comp);
  EXPECT_DEATH(writer.write(trace::NodeId(0), numbering, {}), literal("t_.start_ps.size() == numbering.nodes()"));
  builder.trace.start_ps.resize(2);
  EXPECT_DEATH(writer.write(trace::NodeId(1), numbering, {}), literal("t_.attr_begin.size() == node"));
}

}  // namespace
}  // namespace chakra::link
