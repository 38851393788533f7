// What every Trace promises (assert_whole).
#include <algorithm>

#include "chakra/trace/trace.h"

namespace chakra::trace {

void assert_whole(const Edges& edges, uint32_t nodes) {
  CHAKRA_ASSERT(edges.begin.size() == size_t{nodes} + 1);
  CHAKRA_ASSERT(edges.begin.front() == 0);
  CHAKRA_ASSERT(edges.begin.back() == edges.node.size());
  CHAKRA_ASSERT(edges.kind.empty() || edges.kind.size() == edges.node.size());
  CHAKRA_ASSERT_SLOW(std::is_sorted(edges.begin.begin(), edges.begin.end()));
  CHAKRA_ASSERT_SLOW(std::all_of(edges.node.begin(), edges.node.end(), [&](NodeId on) { return on < nodes; }));
}

void assert_whole(const Trace& t) {
  const size_t nodes = t.id.size();
  each_column([&](const auto& row) {
    [[maybe_unused]] const auto& column = t.*row.column;
    CHAKRA_ASSERT(column.size() == nodes || (row.is_attribute() && column.empty()));
  });
  CHAKRA_ASSERT(t.attr_begin.size() == nodes + 1);
  assert_whole(t.deps, t.size());
  assert_whole(t.ctrl, t.size());
  CHAKRA_ASSERT(t.deps.kind.size() == t.deps.node.size());

  const auto each = [](const auto& column, const auto& holds) {
    return std::all_of(column.begin(), column.end(), holds);
  };
  CHAKRA_ASSERT_SLOW(each(t.name, [&](StringId name) { return name < t.strings.size(); }));
  CHAKRA_ASSERT_SLOW(each(t.type, [](NodeType type) { return static_cast<size_t>(type) < kNodeTypeNames.size(); }));
  CHAKRA_ASSERT_SLOW(each(t.part_of, [&](NodeId whole) { return whole == kNoNode || whole < nodes; }));
  CHAKRA_ASSERT_SLOW(each(t.lane, [&](uint32_t lane) { return lane == kNoLane || lane < t.lanes.size(); }));
  CHAKRA_ASSERT_SLOW(each(t.comm_row, [&](uint32_t row) { return row == kNoRow || row < t.comms.size(); }));
  CHAKRA_ASSERT_SLOW(each(t.io_row, [&](uint32_t row) { return row == kNoRow || row < t.ios.size(); }));
  CHAKRA_ASSERT_SLOW(std::is_sorted(t.attr_begin.begin(), t.attr_begin.end()));
  CHAKRA_ASSERT_SLOW(
      each(t.deps.kind, [](uint8_t kind) { return static_cast<size_t>(kind_of(kind)) < kEdgeKinds.size(); }));
  CHAKRA_ASSERT_SLOW(each(t.dur_ps, [](Picoseconds time) { return time >= 0; }));
}

}  // namespace chakra::trace
