// Jobs by classes of ranks: merged ranks come back, written jobs are read, invalid ones are refused.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"

namespace chakra::io {
namespace {

using testing::tag_of;
using testing::TemporaryFolder;
using trace::ClassJob;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

/// A random trace of a rank: what it does comes from `program`, with whom from the lists.
Trace random_trace(uint64_t program, int64_t rank, const std::vector<trace::ProcessGroup>& groups,
                   const std::vector<int64_t>& peers, bool undescribed) {
  Prng random(program);
  trace::Builder b;
  Trace& t = b.trace;
  t.rank = rank;
  t.says_rank = true;
  t.file = fmt::format("file of {}", rank);
  if (random.chance(0.5)) t.strings.intern(fmt::format("only of {}", rank));  // ids differ, texts do not
  t.metadata.push_back({t.strings.intern("schema"), t.texts.add("1.1")});
  const auto nodes = static_cast<uint32_t>(random.between(0, 12));
  for (const NodeId n : ids<NodeId>(nodes)) {
    const auto type = static_cast<NodeType>(random.between(1, 7));
    b.add(n + 1, t.strings.intern(fmt::format("node {}", random.below(4))), type);
    if (n > 0 && random.chance(0.7))
      b.dep(n, NodeId(random.below(n)), static_cast<uint8_t>(random.below(10)), random.between(0, 2) * kPsPerNs);
    t.flags.edit(n) = trace::kSaysCpuOrNot | trace::kHasDuration;
    t.dur_ps.edit(n) = random.between(0, 100) * kPsPerNs;
    if (random.chance(0.5)) t.lane.edit(n) = b.lane({trace::Lane::Kind::stream, 0, random.between(0, 2)});
    const std::string text = random.chance(0.5) ? "short" : std::string(80, 'x');
    b.attr({t.strings.intern("note"), std::string_view(text)});
    if (random.chance(0.3)) b.attr({t.strings.intern("number"), random.between(-5, 5)});
    if (random.chance(0.3)) b.attr({t.strings.intern("real"), 0.5});
    if (!is_comm(type)) continue;
    trace::Comm& c = b.comm(n);
    c.bytes = random.below(1000);
    if (type == NodeType::coll) {
      c.type = static_cast<CommType>(random.below(10));
      const size_t g = random.below(groups.size() + 1);
      if (g < groups.size()) c.group = t.strings.intern(groups[g].name);
      if (random.chance(0.2)) c.in_split = t.texts.add("[1, 2]");
    } else if (!peers.empty()) {
      (type == NodeType::send ? c.dst : c.src) = peers[random.below(peers.size())];
      c.tag = random.between(0, 3);
    }
  }
  if (!undescribed) t.groups = groups;
  return std::move(b).finish();
}

/// A job of some ranks with random programs in random groups; those described by nobody have no members.
TraceSet random_job(Prng& random) {
  TraceSet job;
  const int64_t count = random.between(1, 24);
  const int64_t programs = random.between(1, 4), step = random.between(1, 3), groups = random.between(0, 3);
  const bool undescribed = random.chance(0.3), world = random.chance(0.3);
  const uint64_t seed = random.next();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t rank = i * step;
    const uint64_t program = seed + static_cast<uint64_t>(i % programs);
    std::vector<trace::ProcessGroup> of_rank;
    for (int64_t g = 0; g < groups; ++g) {  // ranks i, i + stride, ...
      const int64_t stride = g + 1, first = i % stride;
      trace::ProcessGroup group{fmt::format("group{}", g * 10 + (g == 2 ? 0 : first)), "", "nccl", {}, 0};
      for (int64_t m = g == 2 ? 0 : first; m < count; m += g == 2 ? 1 : stride) group.ranks.push_back(m * step);
      group.size = static_cast<int64_t>(group.ranks.size());
      of_rank.push_back(group);
    }
    if (world) of_rank.push_back({"", "default_pg", "", {}, count});
    const std::vector<int64_t> peers{(i + 1) % count * step, (i + count - 1) % count * step};
    job.ranks.push_back(random_trace(program, rank, of_rank, peers, undescribed));
  }
  return job;
}

std::vector<std::string> bytes(const TraceSet& job) {
  std::vector<std::string> all;
  for (const Trace& t : job.ranks) all.push_back(to_et(t));
  return all;
}

TEST(Classes, GiveBackEveryRank) {
  Prng random(7);
  size_t merged = 0;
  for (int i = 0; i < 200; ++i) {
    TraceSet job = random_job(random);
    const std::vector<std::string> before = bytes(job);
    const ClassJob classes = trace::by_class(std::move(job));
    ASSERT_EQ(bytes(trace::expand(classes)), before) << i;
    ASSERT_LE(classes.classes.size(), before.size());
    merged += before.size() - classes.classes.size();

    const TemporaryFolder folder;
    const auto written = write_class_job(classes, folder.path("job"));
    ASSERT_TRUE(written) << i << " " << written.error().message();
    const auto read = read_class_job(folder.path("job"), {.texts = true});
    ASSERT_TRUE(read) << i << " " << read.error().message();
    ASSERT_EQ(bytes(trace::expand(*read)), before) << i;
    const auto expanded = read_job(folder.path("job") + "/ranks.json", {.texts = true});
    ASSERT_TRUE(expanded);
    ASSERT_EQ(bytes(*expanded), before) << i;
    // Classes of classes are the same classes.
    const ClassJob again = trace::by_class(trace::expand(classes));
    ASSERT_EQ(again.classes.size(), classes.classes.size());
    for (size_t r = 0; r < classes.ranks.size(); ++r) ASSERT_EQ(again.ranks[r].cls, classes.ranks[r].cls);
  }
  EXPECT_GT(merged, 500u);
}

TEST(Classes, KeepApartWhatDiffersAnywhere) {
  const auto rank = [](uint64_t program, int64_t r) {
    return random_trace(program, r, {{"g", "", "", {0, 1}, 2}}, {1 - r}, false);
  };
  uint64_t program = 1;  // the first that has something of everything
  for (;; ++program) {
    const Trace t = rank(program, 0);
    if (t.size() > 1 && !t.lanes.empty() && !t.deps.kind.empty() &&
        std::any_of(t.comms.begin(), t.comms.end(), [](const trace::Comm& c) { return c.group != 0; }))
      break;
  }
  const auto job = [&](const auto& change) {
    TraceSet set;
    for (int64_t r = 0; r < 2; ++r) {
      set.ranks.push_back(rank(program, r));
      if (r == 1) change(set.ranks[1]);
    }
    return trace::by_class(std::move(set)).classes.size();
  };
  ASSERT_EQ(job([](Trace&) {}), 1u);
  const auto comm = [](Trace& t) -> trace::Comm& { return t.comms.edit(0); };
  EXPECT_EQ(job([](Trace& t) { t.dur_ps.edit(1) += 1; }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.name.edit(1) = t.strings.intern("other"); }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.type.edit(1) = NodeType::metadata; }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.flags.edit(1) ^= trace::kOnCpu; }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.deps.kind.edit(0) ^= 1; }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.lanes.at(0).index += 1; }), 2u);
  EXPECT_EQ(job([&](Trace& t) { comm(t).bytes += 1; }), 2u);
  EXPECT_EQ(job([&](Trace& t) { comm(t).tag += 1; }), 2u);
  EXPECT_EQ(job([&](Trace& t) { comm(t).root = 0; }), 2u);
  EXPECT_EQ(job([&](Trace& t) { comm(t).dtype = t.strings.intern("Float"); }), 2u);
  EXPECT_EQ(job([&](Trace& t) { comm(t).out_split = "[9]"; }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.metadata.push_back({t.strings.intern("more"), true}); }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.base_ns += 1; }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.groups.push_back({"h", "", "", {1}, 1}); }), 2u);
  EXPECT_EQ(job([](Trace& t) { t.groups.at(0).name = "not used"; }), 2u);  // now one more slot
  EXPECT_EQ(job([](Trace& t) { t.file = "elsewhere", t.strings.intern("of no use"); }), 1u);
}

constexpr const char* kGood =
    R"({"schema": "chakra-ranks-1",
"classes": [{"file": "class0.et", "group_slots": ["tp"], "peer_slots": 1}],
"groups": [{"name": "a", "ranks": {"first": 0, "step": 1, "count": 2}}, {"name": "b", "ranks": [2, 3]}],
"ranks": [{"rank": 1, "class": 0, "groups": [0], "peers": [2]}, {"rank": 0, "class": 0, "groups": [0], "peers": [3]},
{"rank": 2, "class": 0, "groups": [1], "peers": [0]}, {"rank": 3, "class": 0, "groups": [1], "peers": [1]}]})";

/// A class that uses its one group slot and its one peer slot.
Trace one_class(const char* group = "tp", int64_t peer = 0, const char* described = "tp") {
  trace::Builder b;
  b.add(1, b.trace.strings.intern("reduce"), NodeType::coll);
  b.comm(NodeId(0)).type = CommType::all_reduce;
  b.comm(NodeId(0)).group = b.trace.strings.intern(group);
  b.add(2, b.trace.strings.intern("send"), NodeType::send);
  b.comm(NodeId(1)).dst = peer;
  b.trace.groups.push_back({described, "", "", {}, 0});
  return std::move(b).finish();
}

TEST(Ranks, AreReadAsTheyStand) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_et(one_class(), folder.path("class0.et")));
  folder.write("ranks.json", kGood);
  const auto job = read_job(folder.path());
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->ranks.size(), 4u);
  for (int64_t r = 0; r < 4; ++r) {
    const Trace& t = job->ranks[static_cast<size_t>(r)];
    EXPECT_EQ(t.rank, r);
    EXPECT_EQ(t.strings[t.comm(NodeId(0))->group], r < 2 ? "a" : "b");
    EXPECT_EQ(t.comm(NodeId(1))->dst, (std::array{3, 2, 0, 1}[static_cast<size_t>(r)]));
    ASSERT_EQ(t.groups.size(), 1u);
    EXPECT_EQ(t.groups[0].ranks, r < 2 ? (std::vector<int64_t>{0, 1}) : (std::vector<int64_t>{2, 3}));
  }
}

TEST(Ranks, WhatIsWrongIsNamed) {
  struct Row {
    const char *from, *to, *tag;
  };
  const Row rows[] = {
      {"ranks-1", "ranks-2", "io.ranks.schema"},
      {"\"schema\": \"chakra-ranks-1\",", "", "io.ranks.form"},
      {"\"schema\": \"chakra-ranks-1\"", "\"schema\": 1", "io.ranks.form"},
      {"\"classes\": [{", "\"more\": 1, \"classes\": [{", "io.ranks.form"},
      {"\"peer_slots\": 1", "\"peer_slots\": 1, \"peer_slots\": 1", "io.ranks.form"},
      {"\"peer_slots\": 1", "\"peer_slots\": -1", "io.ranks.form"},
      {"\"peer_slots\": 1", "\"peer_slots\": 1e9", "io.ranks.form"},
      {"\"peer_slots\": 1", "\"peer_slots\": 99999999", "io.ranks.large"},
      {"\"peer_slots\": 1", "\"peer_slots\": 2", "io.ranks.slot"},
      {"[\"tp\"]", "[\"tp\", \"tp\"]", "io.ranks.slot"},
      {"[\"tp\"]", "[\"\"]", "io.ranks.slot"},
      {"[\"tp\"]", "[\"dp\"]", "io.ranks.slot"},
      {"[\"tp\"]", "[]", "io.ranks.slot"},
      {"[\"tp\"]", "null", "io.ranks.form"},
      {"class0.et", "class9.et", "io.ranks.class"},
      {"class0.et", "../class0.et", "io.ranks.form"},
      {"class0.et", "/dev/zero", "io.ranks.form"},
      {"class0.et", "", "io.ranks.form"},
      {"[{\"file\"", "[{\"file\": \"class1.et\"}, {\"file\"", "io.ranks.slot"},
      {"\"peer_slots\": 1}]", "\"peer_slots\": 1}, {\"file\": \"class1.et\"}]", "io.ranks.class"},
      {"\"peer_slots\": 1}]", "\"peer_slots\": 1}, {\"file\": \"class0.et\"}]", "io.ranks.class"},
      {"\"rank\": 1, \"class\": 0", "\"rank\": 1, \"class\": 1", "io.ranks.class"},
      {"\"rank\": 1,", "\"rank\": 2,", "io.ranks.rank"},
      {"\"rank\": 1,", "\"rank\": -1,", "io.ranks.form"},
      {"\"rank\": 1,", "\"rank\": 1.5,", "io.ranks.form"},
      {"\"rank\": 1,", "\"rank\": 18446744073709551615,", "io.ranks.form"},
      {"\"groups\": [0]", "\"groups\": [1]", "io.ranks.group"},
      {"\"groups\": [0]", "\"groups\": [2]", "io.ranks.form"},
      {"\"groups\": [0]", "\"groups\": [0, 1]", "io.ranks.slot"},
      {"\"groups\": [0]", "\"groups\": 0", "io.ranks.form"},
      {"\"peers\": [2]", "\"peers\": [4]", "io.ranks.peer"},
      {"\"peers\": [2]", "\"peers\": [2, 3]", "io.ranks.slot"},
      {"\"count\": 2", "\"count\": 5", "io.ranks.group"},
      {"\"count\": 2", "\"count\": 1", "io.ranks.group"},
      {"\"count\": 2", "\"count\": 9223372036854775807", "io.ranks.group"},
      {"\"step\": 1", "\"step\": 9223372036854775807", "io.ranks.group"},
      {"\"step\": 1", "\"step\": 0", "io.ranks.form"},
      {"\"step\": 1", "\"step\": 9", "io.ranks.group"},
      {"[2, 3]", "[2, 2]", "io.ranks.group"},
      {"[2, 3]", "[2, 9]", "io.ranks.group"},
      {"[2, 3]", "[3]", "io.ranks.group"},
      {"[2, 3]", "7", "io.ranks.form"},
      {"\"name\": \"a\"", "\"name\": \"a\", \"size\": -1", "io.ranks.form"},
  };
  const TemporaryFolder folder;
  ASSERT_TRUE(write_et(one_class(), folder.path("class0.et")));
  ASSERT_TRUE(write_et(one_class(), folder.path("class1.et")));
  const std::string good(kGood);
  for (const Row& row : rows) {
    std::string text = good;
    const size_t at = text.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from;
    text.replace(at, std::string_view(row.from).size(), row.to);
    EXPECT_EQ(tag_of(parse_class_job(text, folder.path(), "x")), row.tag) << row.from << " -> " << row.to;
  }
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(tag_of(parse_class_job(good.substr(0, size), folder.path(), "x")), "io.ranks.syntax") << size;
  EXPECT_EQ(tag_of(parse_class_job(good + "}", folder.path(), "x")), "io.ranks.syntax");
  EXPECT_EQ(tag_of(parse_class_job(std::string(5000, '['), folder.path(), "x")), "io.ranks.syntax");
}

TEST(Ranks, SlotsThatAClassHasNotAreNamed) {
  const TemporaryFolder folder;
  const auto tag = [&](const Trace& t) {
    EXPECT_TRUE(write_et(t, folder.path("class0.et")));
    return tag_of(parse_class_job(kGood, folder.path(), "x"));
  };
  EXPECT_EQ(tag(one_class()), "");
  EXPECT_EQ(tag(one_class("dp")), "io.ranks.slot");
  EXPECT_EQ(tag(one_class("")), "");
  EXPECT_EQ(tag(one_class("tp", 1)), "io.ranks.slot");
  EXPECT_EQ(tag(one_class("tp", -1)), "");
  EXPECT_EQ(tag(one_class("tp", 0, "dp")), "io.ranks.slot");
}

TEST(Ranks, AFolderIsOneJob) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_et(one_class(), folder.path("class0.et")));
  folder.write("ranks.json", kGood);
  EXPECT_TRUE(is_class_job(folder.path()));
  EXPECT_TRUE(is_class_job(folder.path("ranks.json")));
  EXPECT_FALSE(is_class_job(folder.path("class0.et")));
  ASSERT_TRUE(write_et(one_class(), folder.path("trace.0.et")));
  EXPECT_EQ(tag_of(read_job(folder.path())), "io.job.ambiguous");
  EXPECT_TRUE(read_job(folder.path("ranks.json")));
}

TEST(Ranks, TooManyNodesAreNotExpanded) {
  trace::Builder b;
  for (uint64_t id = 1; id <= 60'000; ++id) b.add(id, 0, NodeType::comp);
  ClassJob job;
  job.classes.push_back(std::move(b).finish());
  job.group_slots.emplace_back();
  job.peer_slots.push_back(0);
  for (int64_t r = 0; r < 1000; ++r) job.ranks.push_back({r, 0, 0, 0});
  const TemporaryFolder folder;
  ASSERT_TRUE(write_class_job(job, folder.path()));
  EXPECT_EQ(tag_of(read_job(folder.path())), "io.ranks.large");
  EXPECT_EQ(read_class_job(folder.path())->ranks.size(), 1000u);
}

TEST(Ranks, WhatIsWrongIsNotWritten) {
  ClassJob job = *[] {
    const TemporaryFolder folder;
    EXPECT_TRUE(write_et(one_class(), folder.path("class0.et")));
    return parse_class_job(kGood, folder.path(), "x");
  }();
  const TemporaryFolder folder;
  job.peer_of[0] = 77;
  EXPECT_EQ(tag_of(write_class_job(job, folder.path("out"))), "io.ranks.peer");
  EXPECT_FALSE(is_directory(folder.path("out")));
}

}  // namespace
}  // namespace chakra::io
