#include "chakra/view/view.h"
#include "chakra/view/layout.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "chakra/base/testing/testing.h"
#include "chakra/view/shown.h"

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
    result::Timeline t;
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
  result::Timeline t;
  t.tracks.push_back({0, "x"});
  t.slices.push_back({0, t.strings.intern("s"), 0, 1'234'567'891, 1'234'567'891 + 500, 1});
  ASSERT_TRUE(write_chrome_trace(t, folder.path("t.json")));
  EXPECT_NE(chakra::testing::must_read(folder.path("t.json")).find("\"ts\": 1234.567891, \"dur\": 0.0005"),
            std::string::npos);
}

TEST(Layout, SlicesInOrderOfAnyTimelineNest) {
  Prng random(3);
  result::Timeline t;
  t.tracks = {{0, "a"}, {0, "b"}, {1, "empty"}, {1, "c"}};
  for (int i = 0; i < 1000; ++i) {
    const auto start = static_cast<Picoseconds>(random.below(500));
    const auto track = static_cast<uint32_t>(std::array{0, 1, 3}[random.below(3)]);
    t.slices.push_back({track, 0, 0, start, start + static_cast<Picoseconds>(random.below(100)), 0});
  }
  const Layout layout = lay_out(t);
  ASSERT_EQ(layout.order.size(), t.slices.size());
  std::vector<std::vector<const result::Timeline::Slice*>> around(layout.drawn.size());
  std::vector<bool> seen(t.slices.size());
  for (size_t i = 0; i < layout.order.size(); ++i) {
    const uint32_t s = layout.order[i], drawn = layout.track_of_slice[s];
    const result::Timeline::Slice& slice = t.slices[s];
    EXPECT_FALSE(seen[s]);
    seen[s] = true;
    EXPECT_EQ(layout.drawn[drawn].track, slice.track);
    if (i > 0 && t.slices[layout.order[i - 1]].track == slice.track)
      EXPECT_LE(t.slices[layout.order[i - 1]].start_ps, slice.start_ps);
    auto& open = around[drawn];
    while (!open.empty() && open.back()->end_ps <= slice.start_ps) open.pop_back();
    if (!open.empty()) EXPECT_GE(open.back()->end_ps, slice.end_ps);
    open.push_back(&slice);
  }
  EXPECT_EQ(layout.name(t, 1).substr(0, 1), "a");
}

TEST(QueueCounters, GrowAtTheLaunchAndShrinkAtTheBegin) {
  result::Timeline t;
  t.tracks = {{4, "thread 1"}, {4, "device 0 stream 7"}};
  const StringId launch = t.strings.intern("launch"), other = t.strings.intern("comm");
  const auto add = [&](uint32_t track, Picoseconds start, Picoseconds end) {
    t.slices.push_back({track, 0, 0, start, end, 0});
    return static_cast<uint32_t>(t.slices.size() - 1);
  };
  const uint32_t a = add(0, 0, 10), b = add(0, 10, 20), x = add(1, 10, 50), y = add(1, 50, 60), early = add(1, 5, 8);
  t.flows = {{a, x, launch}, {b, y, launch}, {b, early, launch}, {a, y, other}};
  add_queue_counters(t);
  ASSERT_EQ(t.counters.size(), 1u);
  EXPECT_EQ(t.counters[0].rank, 4);
  EXPECT_EQ(t.counters[0].name, "waiting on device 0 stream 7");
  // At 10 two calls begin, x begins, and so does `early`, whose recorded begin is before its call.
  EXPECT_EQ(t.counters[0].at_ps, (std::vector<Picoseconds>{0, 10, 50}));
  EXPECT_EQ(t.counters[0].values, (std::vector<int64_t>{1, 1, 0}));
}

/// A timeline with many pieces (pieces.h), with tracks that are longer and shorter than a piece.
result::Timeline long_timeline() {
  Prng random(77);
  result::Timeline t;
  const StringId name = t.strings.intern("gemm \"x\"\n"), category = t.strings.intern("comp");
  for (uint32_t track = 0; track < 40; ++track) {
    t.tracks.push_back({track / 4, fmt::format("stream {}", track % 4)});
    for (uint64_t left = track % 20 == 3 ? 30'000 : 500 + random.below(2'000), at = 0; left-- > 0;) {
      at += random.below(5'000);
      const auto start = static_cast<Picoseconds>(at), length = static_cast<Picoseconds>(random.below(20'000));
      t.slices.push_back({track, name, category, start, start + length, left});
      if (random.below(3) == 0)
        t.flows.push_back({static_cast<uint32_t>(random.below(t.slices.size())),
                           static_cast<uint32_t>(t.slices.size() - 1), category});
    }
  }
  result::Timeline::Counter counter;
  counter.rank = 0, counter.name = "queue", counter.unit = "launches";
  for (int64_t i = 0; i < 20'000; ++i) counter.at_ps.push_back(i), counter.values.push_back(i % 7);
  t.counters.push_back(counter);
  return t;
}

TEST(WriteTimeline, GivesTheSameBytesForAnyNumberOfCores) {
  const result::Timeline timeline = long_timeline();
  chakra::testing::TemporaryFolder folder;
  for (const auto write : {&write_chrome_trace, &write_perfetto}) {
    std::string expected;
    for (const int64_t number : {1, 2, 3, 16}) {
      limit_cores(number);
      const std::string path = folder.path("t");
      ASSERT_TRUE(write(timeline, path));
      const std::string bytes = chakra::testing::must_read(path);
      if (expected.empty()) expected = bytes;
      EXPECT_TRUE(bytes == expected) << number;
    }
    limit_cores(0);
    EXPECT_GT(expected.size(), 1'000'000U);
  }
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
    b.trace.flags.edit(n) = trace::kHasStart;
    b.trace.start_ps.edit(n) = start;
    b.trace.dur_ps.edit(n) = dur;
    b.trace.lane.edit(n) = lane;
    return n;
  };
  const auto op = add("aten::mm", 0, 5, thread), launch = add("cudaLaunchKernel", 5, 3, thread),
             rest = add("aten::mm", 8, 4, thread);
  const auto gap = add(trace::kHostGap, 12, 10, thread), kernel = add("gemm", 10, 50, stream);
  b.trace.part_of.edit(rest) = op;
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
  b.dep(trace::NodeId(1), trace::NodeId(0), 0);
  trace::TraceSet job;
  job.ranks.push_back(std::move(b).finish());
  Findings findings;
  auto t = timeline_of(job, findings);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->slices[1].start_ps, 10);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "view.not_measured");
}

// ---- graphs -------------------------------------------------------------------------------------------

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++found;
  return found;
}

/// Random nodes and edges, some to ids that nobody has, some of a node to itself, some ids twice.
trace::Trace random_graph(Prng& random, size_t nodes, bool defects) {
  trace::Builder b;
  static constexpr std::array<std::string_view, 5> kNames{"a\"\\<&>\n\x01", "layer3.mlp.up", "aten::mm", "\xff\xc3\xbc",
                                                          ""};
  static constexpr std::array<trace::NodeType, 4> kTypes{trace::NodeType::comp, trace::NodeType::coll,
                                                         trace::NodeType::send, trace::NodeType::mem_load};
  for (size_t i = 0; i < nodes; ++i) {
    const uint64_t id = defects && i > 0 && random.below(10) == 0 ? i : i + 1;
    const trace::NodeId n = b.add(id, b.trace.strings.intern(kNames[random.below(5)]), kTypes[random.below(4)]);
    b.trace.flags.edit(n) = random.below(2) ? trace::kOnCpu : trace::kSaysCpuOrNot;
    b.trace.dur_ps.edit(n) = static_cast<Picoseconds>(random.below(1000));
    if (random.below(2))
      b.trace.lane.edit(n) = b.lane({trace::Lane::Kind::stream, 0, static_cast<int64_t>(random.below(3))});
    if (trace::is_comm(b.trace.type[n])) b.comm(n).bytes = random.below(5000);
    for (size_t e = random.below(4); e-- > 0;) {
      const uint64_t on = 1 + random.below(nodes + (defects ? 3 : 0));
      if (defects || on < i + 1) b.dep_by_id(n, on, static_cast<uint8_t>(random.below(10)), 0);
    }
    if (i > 0 && random.below(2)) b.ctrl_by_id(n, 1 + random.below(defects ? nodes + 2 : i));
  }
  return std::move(b).finish();
}

TEST(Graph, HasEveryNodeAndEdgeInEveryForm) {
  TemporaryFolder folder;
  Prng random(3);
  for (int round = 0; round < 200; ++round) {
    const bool defects = round % 2 == 1;
    const trace::Trace t = random_graph(random, 1 + random.below(40), defects);
    int64_t data = static_cast<int64_t>(t.deps.node.size()), control = static_cast<int64_t>(t.ctrl.node.size());
    for (const trace::Defect& d : t.defects) {
      data += d.kind == trace::Defect::Kind::dangling_dep || d.kind == trace::Defect::Kind::self_dep;
      control += d.kind == trace::Defect::Kind::dangling_ctrl;
    }
    Findings findings;
    const auto dot = write_graph(t, "dot", {}, folder.path("g.dot"), findings);
    const auto xml = write_graph(t, "graphml", {}, folder.path("g.graphml"), findings);
    ASSERT_TRUE(dot && xml);
    EXPECT_EQ(dot->data, data);
    EXPECT_EQ(dot->control, control);
    EXPECT_EQ(dot->boxes, t.size());
    const std::string dot_text = chakra::testing::must_read(folder.path("g.dot"));
    const std::string xml_text = chakra::testing::must_read(folder.path("g.graphml"));
    EXPECT_EQ(count(dot_text, "->"), static_cast<size_t>(data + control));
    EXPECT_EQ(count(xml_text, "<edge "), static_cast<size_t>(data + control));
    EXPECT_EQ(count(xml_text, "<data key=\"dependency\">control"), static_cast<size_t>(control));
    EXPECT_EQ(count(xml_text, "<node "), static_cast<size_t>(t.size() + xml->absent));
    EXPECT_EQ(count(xml_text, "\"absent\">true"), static_cast<size_t>(xml->absent));
    // Grouped, no edge gets lost, and there are no more boxes than asked for.
    GraphOptions grouped;
    grouped.group = true;
    grouped.boxes = 2 + random.below(8);
    const auto few = write_graph(t, "dot", grouped, folder.path("g.dot"), findings);
    ASSERT_TRUE(few);
    EXPECT_LE(few->boxes, static_cast<int64_t>(grouped.boxes));
    int64_t self = 0;  // of a node to itself: inside no box's count
    for (const trace::Defect& d : t.defects) self += d.kind == trace::Defect::Kind::self_dep;
    EXPECT_EQ(few->data + few->control + few->inside, data + control - self);
  }
}

TEST(Graph, IsXmlThatAnotherReaderAccepts) {
  TemporaryFolder folder;
  Prng random(4);
  Findings findings;
  ASSERT_TRUE(write_graph(random_graph(random, 60, true), "graphml", {}, folder.path("g.graphml"), findings));
  EXPECT_EQ(std::system(("python3 -c \"import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])\" '" +
                         folder.path("g.graphml") + "'")
                            .c_str()),
            0);
}

TEST(Graph, OnlySomeNodesKeepWhoWaitsForWhom) {
  TemporaryFolder folder;
  Prng random(5);
  for (int round = 0; round < 200; ++round) {
    const trace::Trace t = random_graph(random, 1 + random.below(14), false);
    Findings findings;
    GraphOptions options;
    options.only = Only::comm;
    const auto counts = write_graph(t, "dot", options, folder.path("g.dot"), findings);
    ASSERT_TRUE(counts);
    // All paths through nodes that are left out, but for those that other arrows stand for.
    std::vector<std::vector<char>> before(t.size(), std::vector<char>(t.size(), 0));
    for (const trace::NodeId n : trace::topological_order(t.deps).order)
      for (const trace::NodeId on : t.deps.of(n)) {
        before[n][on] = 1;
        for (const trace::NodeId m : t.nodes()) before[n][m] |= before[on][m];
      }
    const auto is_shown = [&](trace::NodeId n) { return trace::is_comm(t.type[n]); };
    int64_t direct = 0, indirect = 0;
    for (const trace::NodeId n : t.nodes()) {
      if (!is_shown(n)) continue;
      std::vector<char> reached(t.size(), 0), waited(t.size(), 0);
      std::vector<trace::NodeId> stack;
      for (const trace::NodeId on : t.deps.of(n))
        if (is_shown(on)) waited[on] = 1, ++direct;
        else stack.push_back(on);
      while (!stack.empty()) {
        const trace::NodeId hidden = stack.back();
        stack.pop_back();
        for (const trace::NodeId on : t.deps.of(hidden))
          if (is_shown(on)) reached[on] = 1;
          else stack.push_back(on);
      }
      for (const trace::NodeId on : t.nodes()) {
        if (!reached[on] || waited[on]) continue;
        const auto nodes = t.nodes();
        indirect += std::none_of(nodes.begin(), nodes.end(), [&](trace::NodeId other) {
          return (reached[other] || waited[other]) && before[other][on];
        });
      }
    }
    EXPECT_EQ(counts->data, direct);
    EXPECT_EQ(counts->indirect, indirect);
  }
}

TEST(Graph, AFocusThatIsNotThereIsAnError) {
  TemporaryFolder folder;
  Prng random(6);
  Findings findings;
  GraphOptions options;
  options.focus = 999;
  const auto counts = write_graph(random_graph(random, 5, false), "dot", options, folder.path("g.dot"), findings);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().tag, "view.graph.focus");
  EXPECT_FALSE(is_file(folder.path("g.dot")));
}

TEST(Graph, FormsAreToldByEndings) {
  EXPECT_EQ(form_of("a/b.DOT"), "dot");
  EXPECT_EQ(form_of("x.gv"), "dot");
  EXPECT_EQ(form_of("x.json"), "timeline");
  EXPECT_EQ(form_of("x.graphml"), "graphml");
  EXPECT_EQ(form_of("x"), "");
  EXPECT_EQ(form_of("x."), "");
  EXPECT_EQ(form_of("x.do"), "");
}

// ---- event lines --------------------------------------------------------------------------------------

constexpr std::string_view kEvents =
    "issue,sys->id=0,tick=1000,node->id=1,node->name=COMP_NODE_a\n"
    "[info] issue,sys->id=1, tick=2000, node->id=7, node->name=forward, node->type=7\r\n"
    "callback,sys->id=0,tick=3500,node->id=1,node->name=COMP_NODE_a\n"
    "callback,sys->id=1, tick=4000, node->id=7, node->name=forward, node->type=7\n"
    "other\n"
    "issue,a=1,b=5000,c=8,d=what\n";

Result<result::Timeline> read_events(std::string_view text, Findings& findings, EventCsvOptions options = {}) {
  auto source = ByteSource::from_memory(text, "x.csv");
  if (!source) return Failure(source.error());
  return read_event_csv(std::move(*source), options, findings);
}

TEST(EventCsv, GivesSlicesOnTracksByRankAndKind) {
  Findings findings;
  EventCsvOptions options;
  options.hz = 1'500'000'000;
  const auto t = read_events(kEvents, findings, options);
  ASSERT_TRUE(t) << t.error().message();
  ASSERT_EQ(t->slices.size(), 2u);
  EXPECT_EQ(t->strings[t->slices[0].name], "COMP_NODE_a");
  EXPECT_EQ(t->slices[0].start_ps, 666'667);
  EXPECT_EQ(t->slices[0].end_ps, 2'333'333);
  EXPECT_EQ(t->tracks[t->slices[1].track].rank, 1);
  EXPECT_EQ(t->tracks[t->slices[1].track].name, "communication");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].tag, "view.csv.unfinished");
  EXPECT_EQ(findings[1].tag, "view.csv.skipped");
}

TEST(EventCsv, WrongLinesAreErrorsWithTheirPlace) {
  const auto tag_of = [](const std::string& text, int64_t ranks = 0) {
    Findings findings;
    EventCsvOptions options;
    options.ranks = ranks;
    const std::string whole = text + "\n";
    const auto t = read_events(whole, findings, options);
    EXPECT_TRUE(t || (t.error().place.line == 2 && t.error().place.file == "x.csv"));
    return t ? std::string() : t.error().tag;
  };
  const std::string issue = "issue,r=0,t=5,i=1,n=a\n";
  EXPECT_EQ(tag_of(issue + "issue,r=0,t=6,i=1,n=a"), "view.csv.issued_twice");
  EXPECT_EQ(tag_of(issue + "callback,r=0,t=6,i=2,n=a"), "view.csv.not_issued");
  EXPECT_EQ(tag_of(issue + "callback,r=0,t=4,i=1,n=a"), "view.csv.time");
  EXPECT_EQ(tag_of(issue + "callback,r=3,t=4,i=1,n=a", 3), "view.csv.rank");
  EXPECT_EQ(tag_of(issue + "callback,r=x,t=4,i=1,n=a"), "view.csv.form");
  EXPECT_EQ(tag_of(issue + "callback,r=0,t=4"), "view.csv.form");
  EXPECT_EQ(tag_of(issue + "callback,r=0,4,i=1,n=a"), "view.csv.form");
  EXPECT_EQ(tag_of(issue + "callback,r=0,t=18446744073709551615,i=1,n=a"), "view.csv.time");
  EXPECT_EQ(tag_of(issue + "callback,r=0,t=6,i=1,n=a"), "");
}

TEST(EventCsv, EveryPrefixIsReadOrRefused) {
  for (size_t length = 0; length <= kEvents.size(); ++length) {
    Findings findings;
    const auto t = read_events(kEvents.substr(0, length), findings);
    if (!t) EXPECT_TRUE(t.error().tag.starts_with("view.csv.") && t.error().place.line > 0) << length;
  }
}

TEST(EventCsv, FrequenciesHaveUnits) {
  const auto hz = [](std::string_view text) {
    const auto parsed = parse_frequency(text);
    return parsed ? *parsed : 0;
  };
  EXPECT_EQ(hz("1500"), 1'500'000'000u);
  EXPECT_EQ(hz("1.5GHz"), 1'500'000'000u);
  EXPECT_EQ(hz("1.5 ghz"), 1'500'000'000u);
  EXPECT_EQ(hz("800 MHz"), 800'000'000u);
  EXPECT_EQ(hz("0.001kHz"), 1u);
  for (const char* wrong :
       {"", "GHz", "0", "-1", "1.5.0", "1e3", "0.5Hz", "5000 GHz", "1..5", "0x10", "1.5furlongs", ".5"})
    EXPECT_EQ(hz(wrong), 0u) << wrong;
}

TEST(HeatMap, IsXmlWithACellForEachNumber) {
  TemporaryFolder folder;
  const HeatMap t{"a < b & \"c\"", {"rank 0", "rank 1"}, {{"x", {100, 300}}, {"y", {0, 0}}}};
  folder.write("h.svg", to_heat_map(t));
  folder.write("none.svg", to_heat_map({}));
  for (const char* name : {"h.svg", "none.svg"})
    EXPECT_EQ(std::system(("python3 -c \"import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])\" '" +
                           folder.path(name) + "'")
                              .c_str()),
              0);
  EXPECT_EQ(count(to_heat_map(t), "<title>"), 6u);  // cells and sums
}

TEST(Text, ColumnsAlign) {
  const Grid grid{"title", {{"name", true}, {"time"}}, {{"\xc3\xbc", "1.500 us"}, {"long", "0 s"}}};
  EXPECT_EQ(to_text(grid), "title\n  name      time\n  \xc3\xbc     1.500 us\n  long       0 s\n");
}

TEST(Text, FindingsAreLines) {
  const Findings findings{{"a.b", Severity::error, 1, 2, "wrong"}};
  EXPECT_EQ(to_text(findings), "  error: rank 1: node 2: wrong [a.b]\n");
  EXPECT_EQ(to_text(findings, ""), "error: rank 1: node 2: wrong [a.b]\n");
}

TEST(Perfetto, HasTheTextsOfTheTimeline) {
  const std::string odd = std::string("a\0b", 3) + "\n\x1b[31m\u202e\"\\";
  result::Timeline t;
  t.tracks = {{0, "track " + odd}};
  t.slices = {{0, t.strings.intern("name " + odd + "\xff."), t.strings.intern("category " + odd), 0, 1'000, 1}};
  t.counters.push_back({0, "counter " + odd, "unit " + odd, {0}, {1}});
  const TemporaryFolder folder;
  ASSERT_TRUE(write_perfetto(t, folder.path("t.pftrace")));
  const std::string stream = read_file(folder.path("t.pftrace")).value();
  for (const char* kind : {"track ", "category ", "counter ", "unit "})
    EXPECT_NE(stream.find(kind + odd), std::string::npos) << kind;
  EXPECT_NE(stream.find("name " + odd + "\xef\xbf\xbd."), std::string::npos);
  EXPECT_EQ(stream.find('\xff'), std::string::npos);
}

}  // namespace
}  // namespace chakra::view
