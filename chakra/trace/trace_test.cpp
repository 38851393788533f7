#include "chakra/trace/trace.h"
#include "chakra/trace/share.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/trace/sizes.h"

namespace chakra::trace {
namespace {

/// A random graph whose edges go from later to earlier rows of a random permutation.
Trace random_graph(Prng& random, uint32_t nodes, bool cyclic) {
  Builder b;
  std::vector<uint64_t> ids;
  for (const NodeId n : chakra::ids<NodeId>(nodes)) ids.push_back(n * 3 + 7);
  for (uint32_t n = nodes; n > 1; --n) std::swap(ids[n - 1], ids[random.below(n)]);
  for (const uint64_t id : ids) b.add(id, b.trace.strings.intern("n"), NodeType::comp);
  for (const NodeId n : chakra::ids<NodeId>(nodes))
    for (uint64_t edges = random.below(4); edges > 0 && ids[n] > 7; --edges) {
      const uint64_t on = random.below((ids[n] - 7) / 3) * 3 + 7;
      b.dep_by_id(n, on, static_cast<uint8_t>(EdgeKind::given), static_cast<Picoseconds>(random.below(5)));
      b.trace.dur_ps.edit(n) = static_cast<Picoseconds>(random.below(100));
    }
  if (cyclic) {
    const auto at = [&](uint64_t id) { return NodeId(std::find(ids.begin(), ids.end(), id) - ids.begin()); };
    b.dep_by_id(at(7), 10, 0, 0);
    b.dep_by_id(at(10), 7, 0, 0);
  }
  return std::move(b).finish();
}

TEST(Attrs, AreReadAsTheyWereAdded) {
  const std::string far(Attrs::kInline + 1, 'x'), near(Attrs::kInline, 'y');
  const std::vector<Attr> all{{1, int64_t{0}},
                              {2, int64_t{-1}},
                              {300, std::numeric_limits<int64_t>::min()},
                              {1 << 28, std::numeric_limits<int64_t>::max()},
                              {3, std::numeric_limits<uint64_t>::max()},
                              {4, -0.25},
                              {5, true},
                              {6, false},
                              {7, std::string_view()},
                              {8, std::string_view(near)},
                              {9, std::string_view(far)}};
  Attrs attrs;
  std::vector<size_t> positions{0};
  for (const Attr& attr : all) {
    attrs.add(attr);
    positions.push_back(attrs.position());
  }
  size_t at = 0;
  for (const Attr& attr : attrs.range(0, attrs.position())) {
    EXPECT_EQ(attr.name, all[at].name);
    EXPECT_EQ(attr.value, all[at].value) << at;
    EXPECT_EQ((*attrs.range(positions[at], positions[at + 1]).begin()).value, attr.value);
    ++at;
  }
  EXPECT_EQ(at, all.size());
}

TEST(Order, StandsBehindItsDependencies) {
  Prng random(1);
  for (int round = 0; round < 200; ++round) {
    const Trace t = random_graph(random, static_cast<uint32_t>(1 + random.below(60)), false);
    const Order order = topological_order(t.deps);
    ASSERT_EQ(order.order.size(), t.size());
    EXPECT_TRUE(order.cycle.empty());
    std::vector<size_t> place(t.size());
    for (size_t i = 0; i < order.order.size(); ++i) place[order.order[i]] = i;
    for (const NodeId n : t.nodes())
      for (const NodeId on : t.deps.of(n)) EXPECT_LT(place[on], place[n]);
  }
}

TEST(Order, NamesACycle) {
  Prng random(2);
  for (int round = 0; round < 100; ++round) {
    const Trace t = random_graph(random, static_cast<uint32_t>(2 + random.below(60)), true);
    const Order order = topological_order(t.deps);
    ASSERT_FALSE(order.cycle.empty());
    EXPECT_LT(order.order.size(), t.size());
    for (size_t i = 0; i < order.cycle.size(); ++i) {  // each waits for the next, the last for the first
      const auto deps = t.deps.of(order.cycle[i]);
      const NodeId next = order.cycle[(i + 1) % order.cycle.size()];
      EXPECT_NE(std::find(deps.begin(), deps.end(), next), deps.end());
    }
  }
}

TEST(Order, LongChainsDoNotRecurse) {
  Builder b;
  constexpr uint32_t kNodes = 1'000'000;
  for (const NodeId n : ids<NodeId>(kNodes)) b.add(n, 0, NodeType::comp);
  for (NodeId n{0}; n + 1 < kNodes; ++n) b.dep(n, n + 1, 0);  // against the order of rows
  const Trace t = std::move(b).finish();
  EXPECT_EQ(topological_order(t.deps).order.front(), kNodes - 1);
}

TEST(EarliestEnds, IsTheLongestPath) {
  Prng random(3);
  for (int round = 0; round < 100; ++round) {
    const Trace t = random_graph(random, static_cast<uint32_t>(1 + random.below(40)), false);
    const Order order = topological_order(t.deps);
    const std::vector<Picoseconds> ends = earliest_ends(t, order.order, t.dur_ps);
    // Until nothing changes: another way to the same numbers.
    std::vector<Picoseconds> slow(t.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (const NodeId n : t.nodes()) {
        Picoseconds start = 0;
        for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
          start = std::max(start, slow[t.deps.node[e]] + t.deps.lag_of(e));
        changed |= slow[n] != start + t.dur_ps[n];
        slow[n] = start + t.dur_ps[n];
      }
    }
    EXPECT_EQ(ends, slow);
  }
}

TEST(Reversed, TwiceIsTheSame) {
  Prng random(4);
  const Trace t = random_graph(random, 50, false);
  const Edges back = reversed(reversed(t.deps));
  for (const NodeId n : t.nodes()) {
    std::vector<NodeId> a(t.deps.of(n).begin(), t.deps.of(n).end()), b(back.of(n).begin(), back.of(n).end());
    std::sort(a.begin(), a.end());
    EXPECT_EQ(a, b);
  }
}

TEST(Builder, FindsDefects) {
  Builder b;
  for (const uint64_t id : {1, 2, 2, 4}) b.add(id, 0, NodeType::comp);
  b.dep_by_id(NodeId(1), 99, 0, 0);
  b.dep_by_id(NodeId(3), 4, 0, 0);
  b.ctrl_by_id(NodeId(3), 98);
  const Trace t = std::move(b).finish();
  ASSERT_EQ(t.defects.size(), 4u);
  EXPECT_EQ(t.defects[0].kind, Defect::Kind::duplicate_id);
  EXPECT_EQ(t.defects[1].kind, Defect::Kind::dangling_dep);
  EXPECT_EQ(t.defects[1].id, 99u);
  EXPECT_EQ(t.defects[2].kind, Defect::Kind::dangling_ctrl);
  EXPECT_EQ(t.defects[3].kind, Defect::Kind::self_dep);
  EXPECT_TRUE(t.deps.node.empty());
}

TEST(InclusiveEnds, ReachOverPartsAndCallees) {
  Builder b;
  const uint32_t thread = b.lane({Lane::Kind::thread, 1, 1}), stream = b.lane({Lane::Kind::stream, 0, 7});
  const auto add = [&](Picoseconds start, Picoseconds dur, uint32_t lane) {
    const NodeId n = b.add(b.trace.size() + 1, 0, NodeType::comp);
    b.trace.flags.edit(n) = kHasStart;
    b.trace.start_ps.edit(n) = start;
    b.trace.dur_ps.edit(n) = dur;
    b.trace.lane.edit(n) = lane;
    return n;
  };
  const NodeId op = add(10, 5, thread), callee = add(15, 20, thread), rest = add(35, 3, thread),
               kernel = add(20, 500, stream);
  b.ctrl(callee, op);
  b.ctrl(kernel, op);  // on another lane: does not prolong the operator
  b.trace.part_of.edit(rest) = op;
  const Trace t = std::move(b).finish();
  EXPECT_EQ(inclusive_ends(t), (std::vector<Picoseconds>{38, 35, 38, 520}));
}

TEST(CommunicationSpans, HoldPiecesBeforeAndBehind) {
  Builder b;
  const auto add = [&](NodeType type, Picoseconds start, Picoseconds dur, NodeId whole) {
    const NodeId n = b.add(b.trace.size() + 1, 0, type);
    b.trace.flags.edit(n) = start >= 0 ? kHasStart : 0;
    b.trace.start_ps.edit(n) = std::max<Picoseconds>(0, start);
    b.trace.dur_ps.edit(n) = dur;
    b.trace.part_of.edit(n) = whole;
    if (is_comm(type)) b.comm(n);
    return n;
  };
  add(NodeType::metadata, 5, 10, NodeId(1));
  const NodeId coll = add(NodeType::coll, 12, 20, kNoNode), comp = add(NodeType::comp, 0, 90, kNoNode);
  add(NodeType::metadata, 32, 8, coll);
  add(NodeType::comp, 90, 10, comp);
  const NodeId unmeasured = add(NodeType::send, -1, 7, kNoNode);
  add(NodeType::metadata, 3, 50, unmeasured);  // says nothing of when
  const Trace t = std::move(b).finish();
  const std::vector<CommSpan> spans = communication_spans(t);
  EXPECT_EQ(spans[t.comm_row[coll]].start, 5);
  EXPECT_EQ(spans[t.comm_row[coll]].end, 40);
  EXPECT_EQ(spans[t.comm_row[unmeasured]].length(), 7);
  EXPECT_FALSE(spans[t.comm_row[unmeasured]].measured);
  for (const NodeId n : t.nodes()) EXPECT_EQ(is_piece_of_communication(t, n), n == 0 || n == 3 || n == 6) << n;
}

TEST(Columns, IdsAreWhatWasPut) {
  Prng random(7);
  for (int round = 0; round < 300; ++round) {
    Ids ids;
    std::vector<uint64_t> wanted;
    const double jumps = round % 3 == 0 ? 0 : 0.02;
    uint64_t next = round % 5 == 0 ? UINT64_MAX - random.below(4) : random.below(3);
    for (uint64_t n = random.below(40); n > 0; --n) {
      wanted.push_back(next);
      ids.push_back(next);
      next = random.chance(jumps) ? random.next() : next + 1;
    }
    if (!wanted.empty() && random.chance(0.2)) {
      const size_t row = random.below(wanted.size());
      ids.set(row, wanted[row] = random.below(30));
    }
    ASSERT_EQ(ids.size(), wanted.size());
    for (size_t row = 0; row < wanted.size(); ++row) {
      ASSERT_EQ(ids[row], wanted[row]);
      for (const uint64_t id : {wanted[row] - 1, wanted[row], wanted[row] + 1})
        ASSERT_EQ(ids.find(id), std::find(wanted.begin(), wanted.end(), id) - wanted.begin());
    }
    ASSERT_EQ(ids.ascend(), std::adjacent_find(wanted.begin(), wanted.end(), std::greater_equal<>()) == wanted.end());
  }
}

TEST(Columns, LagsAreThoseOfTheirEdges) {
  Prng random(8);
  for (int round = 0; round < 300; ++round) {
    std::vector<Picoseconds> wanted(random.below(400), 0);
    std::vector<std::pair<uint32_t, Picoseconds>> some;
    for (uint32_t edge = 0; edge < wanted.size(); ++edge)
      if (random.below(round % 10 + 1) == 0) some.emplace_back(edge, wanted[edge] = random.between(1, kLongestPs));
    std::reverse(some.begin(), some.end());
    const Lags lags(wanted.size(), some);
    ASSERT_EQ(lags.empty(), some.empty());
    for (size_t edge = 0; edge < wanted.size(); ++edge) ASSERT_EQ(lags[edge], wanted[edge]);
  }
}

TEST(Columns, TensorsComeBackAsTheyWere) {
  Prng random(9);
  Arena arena;
  std::vector<std::pair<Io, PackedIo>> all;
  std::vector<std::string> texts;
  for (int n = 0; n < 500; ++n)
    for (int direction = 0; direction < 2; ++direction)
      texts.emplace_back(random.below(3) * random.below(20'000), static_cast<char>('a' + n % 26));
  for (size_t n = 0; n < 500; ++n) {
    const auto id = [&] { return static_cast<StringId>(random.next() >> (32 + random.below(32))); };
    const Io io{{texts[2 * n], id(), id(), id()}, {texts[2 * n + 1], id(), id(), id()}};
    all.emplace_back(io, PackedIo(io, arena));
  }
  for (const auto& [wanted, packed] : all) {
    const Io io = packed;
    for (const auto& [is, was] : {std::pair(io.inputs, wanted.inputs), std::pair(io.outputs, wanted.outputs)}) {
      ASSERT_EQ(is.values, was.values);
      ASSERT_EQ(std::tuple(is.shapes, is.types, is.strides), std::tuple(was.shapes, was.types, was.strides));
    }
  }
}

TEST(Trace, CopiesShareTheirColumnsUntilOneIsEdited) {
  Builder b;
  for (const NodeId n : ids<NodeId>(3)) b.add(n, b.trace.strings.intern("n"), NodeType::comp);
  b.comm(NodeId(1)).bytes = 7;
  b.dep(NodeId(2), NodeId(1), 0);
  const Trace t = std::move(b).finish();
  Trace copy = t;
  each_column([&](const auto& row) { EXPECT_TRUE((t.*row.column).shares_with(copy.*row.column)) << row.name; });
  copy.strings.intern("more");
  copy.comms.edit(0).bytes = 8;
  EXPECT_FALSE(t.comms.shares_with(copy.comms));
  EXPECT_EQ(t.comms[0].bytes, 7u);
  copy.dur_ps.edit(0) = 1;
  EXPECT_TRUE(t.flags.shares_with(copy.flags));
  EXPECT_EQ(t.dur_ps[0], 0);
}

TEST(Trace, EqualTracesShareTheirMemory) {
  const auto make = [](std::string_view name, Picoseconds duration) {
    Builder b;
    for (const NodeId n : ids<NodeId>(3)) b.add(n, b.trace.strings.intern(name), NodeType::comp);
    b.trace.dur_ps.edit(2) = duration;
    b.comm(NodeId(1)).bytes = 7;
    b.dep(NodeId(2), NodeId(1), 0, 5);
    return std::move(b).finish();
  };
  const Trace t = make("n", 1);
  Trace equal = make("n", 1), longer = make("n", 2), other_name = make("m", 1);
  EXPECT_FALSE(share_all(t, equal));
  share_equal(equal, t);
  EXPECT_TRUE(share_all(t, equal));
  share_equal(longer, t);
  EXPECT_FALSE(share_all(t, longer));
  EXPECT_TRUE(t.flags.shares_with(longer.flags));
  EXPECT_EQ(t.deps.identity(), longer.deps.identity());
  EXPECT_EQ(longer.dur_ps[2], 2);
  share_equal(other_name, t);  // its name has the same number and is another text
  EXPECT_TRUE(share_all(t, other_name));
  EXPECT_FALSE(t.strings.shares_with(other_name.strings));
  EXPECT_EQ(other_name.name_of(NodeId(0)), "m");
  EXPECT_EQ(t.name_of(NodeId(0)), "n");
  equal.dur_ps.edit(0) = 1;
  EXPECT_FALSE(share_all(t, equal));
}

TEST(Sizes, TwoSizesReadApart) {
  using Texts = std::pair<std::string, std::string>;
  EXPECT_EQ(show_bytes_apart(4000, 4032), Texts("4,000 B", "4,032 B"));
  EXPECT_EQ(show_bytes_apart(4096, 5120), Texts("4.0 KiB", "5.0 KiB"));
  EXPECT_EQ(show_bytes_apart(4000, 4000), Texts("3.9 KiB", "3.9 KiB"));
  Prng random(11);
  for (int round = 0; round < 10'000; ++round) {
    const uint64_t a = random.next() >> random.below(60),
                   b = random.chance(0.5) ? a + 1 + random.below(200) : random.next();
    const auto [x, y] = show_bytes_apart(a, b);
    EXPECT_EQ(x == y, a == b) << a << " " << b;
  }
}

}  // namespace
}  // namespace chakra::trace
