// Every way to break a Trace is stopped by the contract that names it.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/trace/trace.h"

namespace chakra::trace {
namespace {

/// Three nodes, 2 -> 1 -> 0, on a thread; the last is a collective with an attribute and work.
Trace whole() {
  Builder b;
  for (uint64_t id = 0; id < 3; ++id) {
    const NodeId n = b.add(id, b.trace.strings.intern("n"), NodeType::comp);
    b.trace.lane.edit(n) = b.lane({});
    b.trace.num_ops.push_back(1);
    b.trace.tensor_bytes.push_back(1);
    b.trace.op_dtype.push_back(0);
  }
  b.attr({b.trace.strings.intern("a"), int64_t{1}});
  b.comm(NodeId(2)).bytes = 8;
  b.trace.ios.emplace_back(Io{}, b.trace.texts);
  b.trace.io_row.edit(2) = 0;
  for (NodeId n{1}; n < 3; ++n) b.dep(n, n - 1, 0), b.ctrl(n, n - 1);
  return std::move(b).finish();
}

struct Violation {
  const char* contract;
  void (*plant)(Trace& trace);
};

void expect_stopped(std::span<const Violation> violations) {
  assert_whole(whole());
  for (const Violation& violation : violations) {
    Trace trace = whole();
    violation.plant(trace);
    EXPECT_DEATH(assert_whole(trace), chakra::testing::literal(violation.contract)) << violation.contract;
  }
}

TEST(Contract, ColumnsHaveARowPerNode) {
  each_column([](const auto& row) {
    for (const bool longer : {false, true}) {
      Trace trace = whole();
      if (longer) (trace.*row.column).push_back(row.fill);
      else (trace.*row.column).resize(trace.size() - size_t{1});
      EXPECT_DEATH(assert_whole(trace), chakra::testing::literal("column.size() == nodes")) << row.name;
    }
  });
  constexpr Violation kViolations[] = {
      {"column.size() == nodes", [](Trace& t) { t.lane.clear(); }},
      {"column.size() == nodes", [](Trace& t) { t.id.push_back(9); }},
      {"t.attr_begin.size() == nodes + 1", [](Trace& t) { t.attr_begin.push_back(0); }},
  };
  expect_stopped(kViolations);
}

TEST(Contract, EdgesAreWhole) {
  constexpr Violation kViolations[] = {
      {"edges.begin.size() == size_t{nodes} + 1", [](Trace& t) { t.deps.begin.resize(t.deps.begin.size() - 1); }},
      {"edges.begin.size() == size_t{nodes} + 1", [](Trace& t) { t.ctrl.begin.clear(); }},
      {"edges.begin.front() == 0", [](Trace& t) { t.deps.begin.edit(0) = 1; }},
      {"edges.begin.back() == edges.node.size()", [](Trace& t) { t.deps.node.resize(t.deps.node.size() - 1); }},
      {"edges.begin.back() == edges.node.size()", [](Trace& t) { t.ctrl.begin.edit(t.size()) = 7; }},
      {"edges.kind.size() == edges.node.size()", [](Trace& t) { t.deps.kind.resize(t.deps.kind.size() - 1); }},
      {"t.deps.kind.size() == t.deps.node.size()", [](Trace& t) { t.deps.kind.clear(); }},
  };
  expect_stopped(kViolations);
}

#ifdef CHAKRA_SLOW_ASSERTIONS
TEST(Contract, RowsAndEdgesExist) {
  constexpr Violation kViolations[] = {
      {"std::is_sorted(edges.begin.begin(), edges.begin.end())",
       [](Trace& t) { t.deps.begin.edit(1) = 2, t.deps.begin.edit(2) = 1; }},
      {"return on < nodes", [](Trace& t) { t.deps.node.edit(0) = NodeId(3); }},
      {"return on < nodes", [](Trace& t) { t.ctrl.node.edit(1) = kNoNode; }},
      {"return name < t.strings.size()", [](Trace& t) { t.name.edit(1) = 99; }},
      {"static_cast<size_t>(type) < kNodeTypeNames.size()",
       [](Trace& t) { t.type.edit(0) = static_cast<NodeType>(200); }},
      {"whole == kNoNode || whole < nodes", [](Trace& t) { t.part_of.edit(0) = NodeId(3); }},
      {"lane == kNoLane || lane < t.lanes.size()", [](Trace& t) { t.lane.edit(0) = 1; }},
      {"row == kNoRow || row < t.comms.size()", [](Trace& t) { t.comm_row.edit(0) = 1; }},
      {"row == kNoRow || row < t.ios.size()", [](Trace& t) { t.io_row.edit(0) = 1; }},
      {"t.attr_begin.begin(), t.attr_begin.end()", [](Trace& t) { t.attr_begin.edit(1) = t.attr_begin[3] + 1; }},
      {"static_cast<size_t>(kind_of(kind)) < kEdgeKinds.size()", [](Trace& t) { t.deps.kind.edit(0) = 100; }},
      {"return time >= 0", [](Trace& t) { t.dur_ps.edit(0) = -1; }},
  };
  expect_stopped(kViolations);
}
#endif

TEST(Contract, OfOrdersAndEnds) {
  const Trace t = whole();
  const std::vector<NodeId> order{NodeId(0), NodeId(1), NodeId(2)}, part{NodeId(0), NodeId(1)};
  const std::vector<Picoseconds> times{1, 2, 3}, few{1, 2};
  Edges cut = t.deps;
  cut.node.resize(cut.node.size() - 1);
  EXPECT_DEATH((void)topological_order(cut), chakra::testing::literal("edges.begin.back() == edges.node.size()"));
  EXPECT_DEATH((void)earliest_ends(t, part, times), chakra::testing::literal("order.size() == trace.size()"));
  EXPECT_DEATH((void)earliest_ends(t, order, few), chakra::testing::literal("durations.size() == trace.size()"));
  EXPECT_DEATH((void)latest_chain(t, NodeId(3), times), chakra::testing::literal("from < trace.size()"));
  EXPECT_DEATH((void)latest_chain(t, NodeId(2), few), chakra::testing::literal("ends.size() == trace.size()"));
  Trace cycle = whole();
  cycle.deps.begin = {0, 1, 2, 3};
  cycle.deps.node = {NodeId(2), NodeId(0), NodeId(1)};
  cycle.deps.kind = {0, 0, 0};
  EXPECT_DEATH((void)latest_chain(cycle, NodeId(2), times), chakra::testing::literal("chain.size() <= trace.size()"));
  const ClassJob none;
  EXPECT_DEATH((void)concrete(none, 0), chakra::testing::literal("index < job.ranks.size()"));
}

}  // namespace
}  // namespace chakra::trace
