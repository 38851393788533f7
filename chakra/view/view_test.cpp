#include "chakra/view/view.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "chakra/base/testing/testing.h"

namespace chakra::view {
namespace {

using chakra::testing::TemporaryFolder;

bool is_valid(const std::string& path) {
  return std::system(("python3 tools/check_timeline.py '" + path + "' >/dev/null").c_str()) == 0;
}

TEST(ChromeTrace, RandomSlicesNestOnTheirTracks) {
  TemporaryFolder folder;
  Prng random(1);
  for (int round = 0; round < 20; ++round) {
    table::Timeline t;
    for (int64_t rank = 0; rank < 3; ++rank)
      for (int i = 0; i < 2; ++i) t.tracks.push_back({rank, "track \"" + std::to_string(i)});
    for (int i = 0; i < 300; ++i) {
      const auto start = static_cast<Picoseconds>(random.below(5'000'000));
      t.slices.push_back({static_cast<uint32_t>(random.below(6)), t.strings.intern("a\"b\\c\n\xff"),
                          t.strings.intern("c"), start, start + static_cast<Picoseconds>(random.below(2'000'000)),
                          random.next()});
    }
    for (int i = 0; i < 50; ++i)
      t.flows.push_back(
          {static_cast<uint32_t>(random.below(300)), static_cast<uint32_t>(random.below(300)), t.strings.intern("f")});
    ASSERT_TRUE(write_chrome_trace(t, folder.path("t.json")));
    EXPECT_TRUE(is_valid(folder.path("t.json")));
  }
}

TEST(ChromeTrace, TimesAreExactMicroseconds) {
  TemporaryFolder folder;
  table::Timeline t;
  t.tracks.push_back({0, "x"});
  t.slices.push_back({0, t.strings.intern("s"), 0, 1'234'567'891, 1'234'567'891 + 500, 1});
  ASSERT_TRUE(write_chrome_trace(t, folder.path("t.json")));
  EXPECT_NE(chakra::testing::must_read(folder.path("t.json")).find("\"ts\": 1234.567891, \"dur\": 0.0005"),
            std::string::npos);
}

TEST(ChromeTrace, AnEmptyTimelineIsValid) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_chrome_trace({}, folder.path("t.json")));
  EXPECT_TRUE(is_valid(folder.path("t.json")));
}

TEST(TimelineOf, OperatorsNestAndLaunchesPoint) {
  trace::Builder b;
  const uint32_t thread = b.lane({trace::Lane::Kind::thread, 1, 5}), stream = b.lane({trace::Lane::Kind::stream, 0, 7});
  const auto add = [&](std::string_view name, Picoseconds start, Picoseconds dur, uint32_t lane) {
    const trace::NodeId n = b.add(b.trace.size() + 1, b.trace.strings.intern(name), trace::NodeType::comp);
    b.trace.flags[n] = trace::kHasStart;
    b.trace.start_ps[n] = start;
    b.trace.dur_ps[n] = dur;
    b.trace.lane[n] = lane;
    return n;
  };
  const auto op = add("aten::mm", 0, 5, thread), launch = add("cudaLaunchKernel", 5, 3, thread),
             rest = add("aten::mm", 8, 4, thread);
  const auto gap = add(trace::kHostGap, 12, 10, thread), kernel = add("gemm", 10, 50, stream);
  b.trace.part_of[rest] = op;
  b.ctrl(launch, op);
  b.ctrl(kernel, op);
  b.dep(kernel, launch, static_cast<uint8_t>(trace::EdgeKind::launch));
  b.dep(gap, rest, static_cast<uint8_t>(trace::EdgeKind::program));
  trace::TraceSet job;
  job.ranks.push_back(std::move(b).finish());
  Findings findings;
  auto t = timeline_of(job, findings);
  ASSERT_TRUE(t);
  ASSERT_EQ(t->slices.size(), 3u);  // neither the continuation nor the gap
  EXPECT_EQ(t->slices[0].end_ps, 12);
  ASSERT_EQ(t->flows.size(), 1u);
  EXPECT_EQ(t->strings[t->slices[t->flows[0].from].name], "cudaLaunchKernel");
  EXPECT_EQ(t->strings[t->slices[t->flows[0].to].name], "gemm");
  EXPECT_TRUE(findings.empty());
}

TEST(TimelineOf, WithoutTimesAsEarlyAsPossible) {
  trace::Builder b;
  for (int i = 0; i < 2; ++i) b.add(static_cast<uint64_t>(i), 0, trace::NodeType::comp);
  b.trace.dur_ps = {10, 20};
  b.dep(1, 0, 0);
  trace::TraceSet job;
  job.ranks.push_back(std::move(b).finish());
  Findings findings;
  auto t = timeline_of(job, findings);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->slices[1].start_ps, 10);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "view.not_measured");
}

TEST(Text, ColumnsAlign) {
  using table::Table;
  const Table t{"title",
                {{"name", Table::Kind::text}, {"time", Table::Kind::time_ps}},
                {{std::string("\xc3\xbc"), int64_t{1'500'000}}, {std::string("long"), int64_t{0}}}};
  EXPECT_EQ(to_text(t), "title\n  name      time\n  \xc3\xbc     1.500 us\n  long       0 s\n");
}

}  // namespace
}  // namespace chakra::view
