// Communication over Gloo: small recordings whose truth is known.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "chakra/base/testing/testing.h"
#include "chakra/link/link.h"

namespace chakra::link {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;

/// A Kineto trace of rank 0: thread 100 makes calls, others carry them out. Times in microseconds.
class Recording {
 public:
  explicit Recording(std::string groups) : groups_(std::move(groups)) {}
  void event(std::string_view cat, std::string_view name, int64_t thread, int64_t start, int64_t dur,
             const std::string& args = "") {
    events_ += fmt::format(
        "{}{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 1, \"tid\": {}, \"ts\": {}, \"dur\": {}, "
        "\"args\": {{{}}}}}",
        events_.empty() ? "" : ",", cat, name, thread, start, dur, args);
  }
  /// A call on thread 100 that takes 50 us, and what the backend records of it.
  void all_reduce(int64_t thread, int64_t call, int64_t start, int64_t end, int64_t elements) {
    event("cpu_op", "c10d::allreduce_", 100, call, 50,
          fmt::format("\"Input Dims\": [[[{}]], []], \"Input type\": [\"TensorList\", \"\"], \"Concrete Inputs\": "
                      "[\"\", \"\"]",
                      elements));
    event("user_annotation", "gloo:all_reduce", thread, start, end - start,
          fmt::format("\"Input Dims\": [[{}]], \"Input type\": [\"float\"]", elements));
  }
  Linked link_it() const {
    const std::string text = fmt::format(
        "{{\"distributedInfo\": {{\"rank\": 0, \"world_size\": 4, \"pg_config\": [{}]}}, \"traceEvents\": "
        "[{}]}}",
        groups_, events_);
    auto linked = link_rank(std::nullopt, *ByteSource::from_memory(text), {}, {});
    EXPECT_TRUE(linked) << (linked ? "" : linked.error().message());
    return std::move(*linked);
  }

 private:
  std::string groups_, events_;
};

std::string group(std::string_view name, std::string_view ranks) {
  return fmt::format("{{\"pg_name\": \"{}\", \"backend_config\": \"cpu:gloo\", \"pg_size\": {}, \"ranks\": [{}]}}",
                     name, std::count(ranks.begin(), ranks.end(), ',') + 1, ranks);
}
const std::string kWorld = group("0", "0, 1, 2, 3");
const std::string kThree = kWorld + "," + group("1", "0, 1") + "," + group("2", "0, 2");

/// The groups of the collectives, by their bytes: "1024:0 2048:1".
std::string groups_of(const Linked& linked) {
  std::map<uint64_t, std::string> by_bytes;
  const trace::Trace& t = linked.trace;
  for (const NodeId n : t.nodes())
    if (const trace::Comm* comm = t.comm(n)) by_bytes[comm->bytes] = t.strings[comm->group];
  std::string out;
  for (const auto& [bytes, name] : by_bytes) out += fmt::format("{}{}:{}", out.empty() ? "" : " ", bytes, name);
  return out;
}

std::string groups_by_threads(const std::vector<int64_t>& threads) {
  Recording recording(kThree);
  int64_t at = 0;
  for (size_t i = 0; i < threads.size(); ++i, at += 1'000)
    recording.all_reduce(threads[i], at, at + 100, at + 500, static_cast<int64_t>(i) + 1);
  return groups_of(recording.link_it());
}

TEST(GlooGroups, ThreadsAreTheGroupsInTheOrderInWhichTheyWereMade) {
  EXPECT_EQ(groups_by_threads({200, 203, 210, 211, 220, 222}), "4:0 8:0 12:1 16:1 20:2 24:2");
  EXPECT_EQ(groups_by_threads({222, 200, 211, 203, 220, 210}), "4:2 8:0 12:1 16:0 20:2 24:1");
  // One thread of a group is idle: the others' numbers tell whose.
  EXPECT_EQ(groups_by_threads({200, 201, 210, 220, 221}), "4:0 8:0 12:1 16:2 20:2");
  EXPECT_EQ(groups_by_threads({200, 210, 220}), "4:0 8:1 12:2");
}

TEST(GlooGroups, WhatCannotBeToldStaysOpen) {
  // Two of three groups were used, and nothing tells which.
  const std::string two = groups_by_threads({200, 201, 210, 211});
  EXPECT_EQ(two, "4:thread 200 8:thread 201 12:thread 210 16:thread 211");
  Recording recording(kThree);
  for (int64_t i = 0; i < 2; ++i) recording.all_reduce(200 + i, i * 1'000, i * 1'000 + 100, i * 1'000 + 500, i + 1);
  const Linked linked = recording.link_it();
  EXPECT_EQ(groups_of(linked), "4:thread 200 8:thread 201");
  EXPECT_EQ(linked.report.open_groups.names.size(), 2u);  // which all ranks together decide, or match.group.open says
}

std::string group_warning(const Recording& recording) {
  for (const Finding& finding : recording.link_it().report.findings)
    if (finding.tag == "pytorch.comm.group_unknown") return finding.text;
  return "";
}

TEST(GlooGroups, RecordingsWithoutNamesSayThatThereAreSeveral) {
  Recording one("");
  one.all_reduce(200, 0, 100, 500, 64);
  one.all_reduce(201, 1'000, 1'100, 1'500, 64);
  EXPECT_EQ(group_warning(one), "");
  one.all_reduce(210, 2'000, 2'100, 2'500, 64);
  EXPECT_TRUE(group_warning(one).find("ran on 3 threads") != std::string::npos);
  Recording part("");
  part.event("cpu_op", "c10d::_allgather_base_", 100, 0, 50,
             "\"Input Dims\": [[8], [4], [], []], \"Input type\": [\"float\", \"float\", \"\", \"\"]");
  part.event("user_annotation", "gloo:all_gather", 200, 60, 100, "\"Input Dims\": [[4]], \"Input type\": [\"float\"]");
  EXPECT_TRUE(group_warning(part).find("c10d::_allgather_base_ do not match 4 ranks") != std::string::npos);
}

TEST(Gloo, TheCallSaysWhatTheRecordDoesNot) {
  Recording recording(kWorld);
  recording.event("cpu_op", "c10d::alltoall_base_", 100, 0, 50,
                  "\"Input Dims\": [[6], [4], [], [], [], []], \"Input type\": [\"float\", \"float\", \"\", \"\", "
                  "\"\", \"Scalar\"], \"Concrete Inputs\": "
                  "[\"\", \"\", \"\", \"[1, 2, 3, 0]\", \"[0, 4, 0, 0]\", \"-1\"]");
  recording.event("user_annotation", "gloo:all_to_all", 200, 60, 100,
                  "\"Input Dims\": [[4]], \"Input type\": [\"float\"]");
  recording.event("cpu_op", "c10d::recv_", 100, 1'000, 50,
                  "\"Input Dims\": [[[8, 2]], [], [], []], \"Input type\": [\"TensorList\", \"\", \"Scalar\", "
                  "\"Scalar\"], \"Concrete Inputs\": [\"\", \"\", \"3\", \"7\"]");
  recording.event("user_annotation", "gloo:recv", 100, 1'040, 800,
                  "\"Input Dims\": [[8, 2]], \"Input type\": [\"double\"]");
  recording.event("cpu_op", "aten::mm", 100, 1'100, 300);  // goes on beside the message
  recording.event("cpu_op", "aten::add", 100, 1'900, 50);
  const Linked linked = recording.link_it();
  const trace::Trace& t = linked.trace;
  int found = 0;
  for (const NodeId n : t.nodes()) {
    const trace::Comm* comm = t.comm(n);
    if (t.name_of(n) == "aten::mm") EXPECT_EQ(t.dur_ps[n], 300 * kPsPerUs);
    if (!comm) continue;
    ++found;
    if (t.type[n] == NodeType::coll) {
      EXPECT_EQ(comm->type, CommType::all_to_all);
      EXPECT_EQ(comm->bytes, 16u);
      EXPECT_EQ(comm->out_bytes, 24u);
      EXPECT_EQ(comm->in_split, "[0, 4, 0, 0]");
      EXPECT_EQ(comm->out_split, "[1, 2, 3, 0]");
    } else {
      EXPECT_EQ(t.type[n], NodeType::recv);
      EXPECT_EQ(comm->src, 3);
      EXPECT_EQ(comm->tag, 7);
      EXPECT_EQ(comm->bytes, 128u);
      EXPECT_EQ(t.dur_ps[n], 800 * kPsPerUs);
    }
  }
  EXPECT_EQ(found, 2);
  // The thread waited from 1,400 to 1,840 us and went on 60 us later.
  int64_t gap = 0;
  for (const NodeId n : t.nodes())
    if (t.name_of(n) == trace::kHostGap && t.start_ps[n] >= 1'400 * kPsPerUs) gap += t.dur_ps[n];
  EXPECT_EQ(gap, 60 * kPsPerUs);
}

/// A send whose call begins at 1,000 us and whose record at `begins`: when its node starts, and what runs until then.
std::pair<int64_t, int64_t> start_of_send(int64_t begins) {
  Recording recording(kWorld);
  recording.event("cpu_op", "aten::mm", 100, 0, 900);
  recording.event("cpu_op", "c10d::send", 100, 1'000, begins - 1'000 + 30,
                  "\"Input Dims\": [[[8]], [], [], []], \"Input type\": [\"TensorList\", \"\", \"Scalar\", "
                  "\"Scalar\"], \"Concrete Inputs\": [\"\", \"\", \"3\", \"7\"]");
  recording.event("user_annotation", "gloo:send", 100, begins, 500);
  recording.event("cpu_op", "aten::add", 100, begins + 600, 50);
  const Linked linked = recording.link_it();
  const trace::Trace& t = linked.trace;
  std::pair<int64_t, int64_t> out{-1, 0};
  for (const NodeId n : t.nodes()) {
    if (t.name_of(n) == "c10d::send") out.second += t.dur_ps[n];
    if (!t.comm(n)) continue;
    out.first = t.start_ps[n];
    EXPECT_EQ(t.start_ps[n] + t.dur_ps[n], (begins + 500) * kPsPerUs);
  }
  return out;
}

TEST(Gloo, ASendThatWasInterruptedBeganWithItsCall) {
  EXPECT_EQ(start_of_send(1'050), std::pair(1'050 * kPsPerUs, 80 * kPsPerUs));
  // Its message may have been there long before its record began; the call's time stays the call's.
  EXPECT_EQ(start_of_send(9'000), std::pair(1'000 * kPsPerUs + kPsPerNs, 8'030 * kPsPerUs));
}

TEST(Gloo, APlaceThatIsAnotherRankInEachGroupLeavesThePeerOpen) {
  Recording recording(kThree);
  recording.event("cpu_op", "c10d::send", 100, 0, 50,
                  "\"Input Dims\": [[[8]], [], [], []], \"Input type\": [\"TensorList\", \"\", \"Scalar\", "
                  "\"Scalar\"], \"Concrete Inputs\": [\"\", \"\", \"1\", \"7\"]");
  recording.event("user_annotation", "gloo:send", 100, 20, 500);
  const Linked linked = recording.link_it();
  ASSERT_EQ(linked.report.open_peers.size(), 1u);
  const auto& [node, ranks] = *linked.report.open_peers.begin();
  EXPECT_EQ(linked.trace.type[NodeId(linked.trace.id.find(node))], NodeType::send);
  EXPECT_EQ(ranks, (std::vector<int64_t>{1, 2}));
}

TEST(Gloo, PartsOfOneCallAreOneCollective) {
  Recording recording(kWorld);
  recording.event("cpu_op", "c10d::_reduce_scatter_base_", 100, 0, 50,
                  "\"Input Dims\": [[2], [8], []], \"Input type\": [\"float\", \"float\", \"\"]");
  recording.event("user_annotation", "gloo:all_reduce", 200, 60, 100,
                  "\"Input Dims\": [[8]], \"Input type\": [\"float\"]");
  recording.event("user_annotation", "gloo:scatter", 201, 70, 190, "\"Input Dims\": [], \"Input type\": []");
  const Linked linked = recording.link_it();
  ASSERT_EQ(linked.trace.comms.size(), 1u);
  EXPECT_EQ(linked.trace.comms[0].type, CommType::reduce_scatter);
  EXPECT_EQ(linked.trace.comms[0].bytes, 32u);
  EXPECT_EQ(linked.trace.comms[0].out_bytes, 8u);
}

/// A reduce-scatter in two parts, a reduce whose tensor has its memory, and a scatter of a rank that contributes no
/// data; alone, or with a Kineto trace without record-function ids (PyTorch 2.2).
TEST(Gloo, CallsShareMemoryAndPutInNothing) {
  struct Row {
    std::string_view name, values, shapes, types;
    int scope;
    int64_t thread, start, dur;
  };
  const Row rows[] = {
      {"c10d::_reduce_scatter_base_", R"([[20, 7, 0, 320, 4, "cpu"], [21, 8, 0, 960, 4, "cpu"], "<Object>"])",
       "[[320], [960], []]", R"x(["Tensor(float)", "Tensor(float)", "Object"])x", 0, 100, 0, 50},
      {"gloo:all_reduce", R"([[21, 8, 0, 960, 4, "cpu"]])", "[[960]]", R"x(["Tensor(float)"])x", 7, 200, 60, 100},
      {"gloo:scatter", R"([[22, 8, 0, 320, 4, "cpu"]])", "[[320]]", R"x(["Tensor(float)"])x", 7, 201, 170, 100},
      {"c10d::reduce_", R"([[[23, 8, 0, 710, 4, "cpu"]], "<Object>", "<Object>", 1])", "[[[710]], [], [], []]",
       R"(["GenericList[Tensor(float)]", "Object", "Object", "Int"])", 0, 100, 300, 50},
      {"gloo:reduce", R"([[23, 8, 0, 710, 4, "cpu"]])", "[[710]]", R"x(["Tensor(float)"])x", 7, 200, 360, 100},
      {"c10d::scatter_", R"([[[24, 9, 0, 720, 4, "cpu"]], [], "<Object>", 1])", "[[[720]], [], [], []]",
       R"(["GenericList[Tensor(float)]", "GenericList[]", "Object", "Int"])", 0, 100, 500, 50},
      {"gloo:scatter", "[]", "[]", "[]", 7, 200, 560, 100},
  };
  std::string nodes = R"({"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1, "inputs": )"
                      R"({"values": [], "shapes": [], "types": []}, "attrs": []})";
  std::string events;
  int id = 1;
  for (const Row& row : rows) {
    ++id;
    nodes += fmt::format(
        R"(,{{"id": {}, "name": "{}", "ctrl_deps": 1, "inputs": {{"values": {}, "shapes": {}, "types": {}}}, )"
        R"("outputs": {{"values": [], "shapes": [], "types": []}}, "attrs": [{{"name": "rf_id", "type": "uint64", )"
        R"("value": {}}}, {{"name": "scope", "type": "uint64", "value": {}}}, {{"name": "tid", "type": "uint64", )"
        R"("value": 1}}]}})",
        id, row.name, row.values, row.shapes, row.types, id + 10, row.scope);
    events += fmt::format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {}, "dur": {}, "args": {{}}}})",
        events.empty() ? "" : ",", row.scope ? "user_annotation" : "cpu_op", row.name, row.thread, row.start, row.dur);
  }
  const std::string host = fmt::format(R"({{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [{}]}})", nodes);
  const std::string device = fmt::format(R"({{"schemaVersion": 1, "traceEvents": [{}]}})", events);
  for (const bool alone : {true, false}) {
    std::optional<ByteSource> kineto;
    if (!alone) kineto = *ByteSource::from_memory(device);
    const auto linked = link_rank(*ByteSource::from_memory(host), std::move(kineto), {}, {});
    ASSERT_TRUE(linked) << linked.error().message();
    std::string found;
    for (const trace::Comm& comm : linked->trace.comms)
      found += fmt::format("{} {} root {}; ", trace::name(comm.type), comm.bytes, comm.root);
    EXPECT_EQ(found, "REDUCE_SCATTER 3840 root -1; REDUCE 2840 root 1; SCATTER 0 root 1; ") << alone;
  }
}

TEST(Gloo, AnAnnotationOfThatNameIsNone) {
  Recording recording(kWorld);
  recording.event("user_annotation", "gloo:all_reduce", 100, 0, 1'000);
  recording.event("cpu_op", "aten::mm", 100, 2'000, 300);
  recording.event("user_annotation", "gloo:send", 100, 3'000, 1'000);
  EXPECT_TRUE(recording.link_it().trace.comms.empty());
}

TEST(Gloo, WaitTensorWaitsByAnyPrefix) {
  for (const std::string_view prefix : {"_c10d_functional", "c10d_functional"}) {
    Recording recording(kWorld);
    recording.all_reduce(200, 0, 100, 5'000, 64);
    recording.event("cpu_op", fmt::format("{}::wait_tensor", prefix), 100, 200, 4'850);
    const Linked linked = recording.link_it();
    const trace::Trace& t = linked.trace;
    int64_t own = 0;
    bool waits = false;
    for (const NodeId n : t.nodes()) {
      if (t.name_of(n).ends_with("wait_tensor")) own += t.dur_ps[n];
      if (t.name_of(n) != trace::kSyncRemainder) continue;
      own += t.dur_ps[n];
      for (const NodeId on : t.deps.of(n)) waits |= t.comm(on) != nullptr;
    }
    EXPECT_EQ(own, 50 * kPsPerUs) << prefix;
    EXPECT_TRUE(waits);
  }
}

TEST(Gloo, WorkThatHasANameIsNotAWait) {
  for (const bool named : {false, true}) {
    Recording recording(kWorld);
    recording.all_reduce(200, 0, 60, 6'000, 64);
    if (named) recording.event("user_annotation", "work", 100, 100, 23'900);
    recording.event("cpu_op", "aten::add", 100, 24'200, 50);
    const Linked linked = recording.link_it();
    const trace::Trace& t = linked.trace;
    int64_t gaps = 0, waiting = 0;
    for (const NodeId n : t.nodes()) {
      if (t.lane[n] == t.lane[0] && t.name_of(n) == trace::kHostGap) gaps += t.dur_ps[n];
      for (const NodeId on : t.deps.of(n))
        if (t.comm(on) != nullptr) waiting = t.start_ps[n] / kPsPerUs;
    }
    EXPECT_EQ(gaps, (named ? 24'150 : 18'200) * kPsPerUs) << named;
    EXPECT_EQ(waiting, named ? 24'000 : 6'000) << named;
  }
}

TEST(Gloo, AnAnnotationThatOnceEndsSoonIsAWait) {
  for (const bool waits : {false, true}) {
    Recording recording(kWorld);
    recording.all_reduce(200, 0, 60, 6'000, 64);
    recording.event("user_annotation", "part", 100, 100, 23'900);
    recording.all_reduce(200, 30'000, 30'060, waits ? 53'800 : 36'000, 64);
    recording.event("user_annotation", "part", 100, 30'100, 23'900);
    recording.event("cpu_op", "aten::add", 100, 54'010, 50);
    const Linked linked = recording.link_it();
    const trace::Trace& t = linked.trace;
    int64_t gaps = 0;
    for (const NodeId n : t.nodes())
      if (t.lane[n] == t.lane[0] && t.name_of(n) == trace::kHostGap) gaps += t.dur_ps[n] / kPsPerUs;
    // Both parts take 23.9 ms, or the rest of them after the communication; beside them 50 us, 6 ms and 60 us.
    EXPECT_EQ(gaps, waits ? 18'000 + 200 + 6'110 : 2 * 23'900 + 6'110) << waits;
  }
}

/// Whatever the records say, the graph is sound and the same each time.
TEST(Gloo, AnyRecordsGiveASoundGraph) {
  static constexpr std::string_view kNames[] = {"c10d::allreduce_",
                                                "c10d::_reduce_scatter_base_",
                                                "c10d::send",
                                                "c10d::recv_",
                                                "c10d::monitored_barrier_",
                                                "gloo:all_reduce",
                                                "gloo:scatter",
                                                "gloo:send",
                                                "gloo:recv",
                                                "gloo:barrier",
                                                "aten::mm",
                                                "_c10d_functional::wait_tensor",
                                                "c10d::barrier",
                                                "ProfilerStep#1"};
  Prng random(11);
  for (int round = 0; round < 1'000; ++round) {
    Recording recording(round % 2 ? kWorld : kThree);
    const int64_t span = random.chance(0.5) ? 300 : 30'000;
    for (uint64_t n = 1 + random.below(50); n > 0; --n) {
      const std::string_view name = kNames[random.below(std::size(kNames))];
      recording.event(name.starts_with("gloo") ? "user_annotation" : "cpu_op", name, random.between(1, 6),
                      static_cast<int64_t>(random.below(static_cast<uint64_t>(span))),
                      static_cast<int64_t>(random.below(static_cast<uint64_t>(span) / 2)),
                      random.chance(0.5) ? "\"Input Dims\": [[4], [4], [], []], \"Input type\": [\"float\", \"float\"]"
                                         : fmt::format("\"Record function id\": {}", random.below(20)));
    }
    const Linked linked = recording.link_it();
    const trace::Trace& t = linked.trace;
    ASSERT_TRUE(t.defects.empty());
    for (const NodeId n : t.nodes()) {
      ASSERT_GE(t.dur_ps[n], 0);
      ASSERT_GE(t.start_ps[n], 0);
      for (const NodeId on : t.deps.of(n)) ASSERT_LT(on, n);
    }
    EXPECT_EQ(recording.link_it().trace.deps.node, t.deps.node);
  }
}

/// Operators at random inside [from, to), some inside others.
void nest(Recording& recording, Prng& random, int64_t from, int64_t to, int depth) {
  while (to - from > 20 && random.chance(0.7)) {
    const int64_t start = from + static_cast<int64_t>(random.below(static_cast<uint64_t>(to - from - 10)));
    const int64_t dur = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(to - start)));
    recording.event("cpu_op", "aten::copy_", 200, start, dur);
    if (depth < 4) nest(recording, random, start, start + dur, depth + 1);
    from = start + dur;
  }
}

TEST(GlooTime, IsOneWhateverRunsInside) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Prng random(seed);
    Recording recording(kWorld);
    std::vector<int64_t> lasts;
    int64_t at = 0;
    for (int i = 0; i < 5; ++i) {
      const int64_t start = at + 60, dur = 1 + static_cast<int64_t>(random.below(3'000));
      recording.all_reduce(200, at, start, start + dur, 100);
      nest(recording, random, start, start + dur, 0);
      lasts.push_back(dur);
      at = start + dur + static_cast<int64_t>(random.below(500));
    }
    recording.event("cpu_op", "aten::mm", 100, at, 100);
    const Linked linked = recording.link_it();
    const trace::Trace& t = linked.trace;
    const std::vector<trace::CommSpan> spans = trace::communication_spans(t);
    const StringId inside = t.strings.find("inside_dur_ns");
    std::vector<int64_t> got;
    for (const NodeId n : t.nodes()) {
      if (t.type[n] == NodeType::coll) got.push_back(spans[t.comm_row[n]].length() / kPsPerUs);
      if (t.name_of(n) == "gloo:all_reduce") EXPECT_NE(t.type[n], NodeType::comp) << seed;
      if (t.name_of(n) != "aten::copy_") continue;
      EXPECT_EQ(t.dur_ps[n], 0) << seed;
      bool says = false;
      for (const trace::Attr& attr : t.attrs_of(n)) says |= attr.name == inside;
      EXPECT_TRUE(says) << seed;
    }
    EXPECT_EQ(got, lasts) << seed;
    const std::vector<Picoseconds> ends = trace::earliest_ends(t, trace::topological_order(t.deps).order, t.dur_ps);
    EXPECT_EQ(*std::max_element(ends.begin(), ends.end()), (at + 100) * kPsPerUs) << seed;
  }
}

}  // namespace
}  // namespace chakra::link
