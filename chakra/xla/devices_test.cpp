// Planes of CPUs, GPUs and TPUs: one node per event, edges of the programs, overlap, steps, whatever the times say.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "chakra/base/testing/testing.h"
#include "chakra/trace/metadata.h"
#include "chakra/xla/testing/messages.h"
#include "chakra/xla/xla.h"

namespace chakra::xla {
namespace {

using namespace testing;
using trace::EdgeKind;
using trace::NodeId;

constexpr std::string_view kStatNames[] = {"hlo_op",    "hlo_module",     "program_id", "run_id", "correlation_id",
                                           "Hlo Proto", "device_ordinal", "_p",         "_c"};
enum StatNumber : int64_t { kOp = 1, kModule, kProgram, kRun, kCorrelation, kProto, kDevice, kLeadsTo, kComesFrom };

std::string stat(StatNumber name, int64_t value) { return number(1, name) + number(4, value); }
std::string stat(StatNumber name, std::string_view value) { return number(1, name) + text(5, value); }

/// An event of a plane; times in picoseconds.
struct Event {
  std::string name;
  int64_t start = 0, length = 0;
  std::string stats = {};  ///< fields of XEvent
};
struct Line {
  int64_t id = 0;
  std::string_view name;
  std::vector<Event> events;
};
std::string plane(std::string_view name, const std::vector<Line>& lines, bool with_displays = false) {
  std::map<std::string, int64_t> ids;
  std::string bytes = text(2, name);
  for (const Line& line : lines) {
    std::string content = number(1, line.id) + text(2, line.name) + number(3, 5);
    for (const Event& event : line.events) {
      const int64_t id = ids.try_emplace(event.name, static_cast<int64_t>(ids.size()) + 1).first->second;
      content += field(4, number(1, id) + number(2, event.start) + number(3, event.length) + event.stats);
    }
    bytes += field(3, content);
  }
  for (const auto& [event, id] : ids) {
    const std::string names = with_displays && event.find_first_of(".") != std::string::npos
                                  ? text(2, "%" + event + " = f32[4]{0} op(...)") + text(4, event)
                                  : text(2, event);
    bytes += field(4, number(1, id) + field(2, number(1, id) + names));
  }
  for (int64_t s = 1; const std::string_view stat : kStatNames) {
    bytes += field(5, number(1, s) + field(2, number(1, s) + text(2, stat)));
    ++s;
  }
  return field(1, bytes);
}
std::string metadata(const std::string& name, const std::string& proto) {
  const std::string stat = field(5, number(1, kProto) + text(6, proto));
  return field(1, text(2, "/host:metadata") + field(4, number(1, 1) + field(2, number(1, 1) + text(2, name) + stat)) +
                      field(5, number(1, kProto) + field(2, number(1, kProto) + text(2, "Hlo Proto"))));
}

/// dot.2 -> all-gather-start.3, beside which multiply.4 runs -> all-gather-done.5 -> add.6.
std::string gathering(int64_t devices) {
  return program({computation(1, {{"parameter", 1, {4, 4}, {}},
                                  {"dot", 2, {4, 4}, {1, 1}, {}, field(30, list(1, {1}))},
                                  {"all-gather-start", 3, {8, 4}, {2}, {}, number(26, 1) + number(71, 1)},
                                  {"multiply", 4, {4, 4}, {2, 2}},
                                  {"all-gather-done", 5, {8, 4}, {3}},
                                  {"add", 6, {8, 4}, {5, 4}}})},
                 1, devices);
}

Result<LinkedProfile> link_bytes(const std::string& bytes) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(bytes));
  return link_profile(std::move(source));
}
NodeId find(const trace::Trace& t, std::string_view name, size_t nth = 0) {
  for (const NodeId n : t.nodes())
    if (t.name_of(n) == name && nth-- == 0) return n;
  return trace::kNoNode;
}
/// Edges of a node as text: "data dot.2".
std::vector<std::string> waits_of(const trace::Trace& t, NodeId node) {
  std::vector<std::string> waits;
  for (uint32_t e = t.deps.begin[node]; e < t.deps.begin[node + 1]; ++e)
    waits.push_back(std::string(trace::name(trace::kind_of(t.deps.kind[e]))) + " " +
                    std::string(t.name_of(t.deps.node[e])));
  std::sort(waits.begin(), waits.end());
  return waits;
}
using Texts = std::vector<std::string>;
std::vector<std::string> tags_of(const LinkedProfile& linked) {
  std::vector<std::string> tags;
  for (const Finding& finding : linked.findings)
    if (finding.tag != "xla.memory.none") tags.push_back(finding.tag);
  return tags;
}
std::pair<Picoseconds, Picoseconds> time_of(const trace::Trace& t, NodeId n) {
  return {t.start_ps[n], t.start_ps[n] + t.dur_ps[n]};
}

std::string tpu(int64_t number, int64_t late = 0) {
  const std::string run = field(4, stat(kRun, 77));
  return plane("/device:TPU:" + std::to_string(number),
               {{1, "Steps", {{"12", 900 + late, 1200}}},
                {2, "XLA Modules", {{"jit_f(7)", 1000 + late, 1000, run}}},
                {3,
                 "XLA Ops",
                 {{"dot.2", 1000 + late, 200},
                  {"all-gather-start.3", 1200 + late, 50},
                  {"multiply.4", 1250 + late, 300},
                  {"all-gather-done.5", 1550 + late, 350},
                  {"add.6", 1900 + late, 100}}},
                {4, "Async XLA Ops", {{"all-gather-start.3", 1200 + late, 600}}},
                {5, "Framework Ops", {{"jit(f)/dot", 1000 + late, 200}}}},
               true);
}

TEST(Tpus, OverlapAsynchronousInstructions) {
  const auto linked = link_bytes(metadata("jit_f(7)", gathering(2)) + tpu(0) + tpu(1, 10) +
                                 plane("/device:TPU:0 SparseCore 0", {{1, "Sparse Core Ops", {{"x", 0, 1}}}}));
  ASSERT_TRUE(linked) << linked.error().message();
  ASSERT_EQ(linked->devices.size(), 2U);
  EXPECT_EQ(tags_of(*linked), Texts{"xla.plane.other"});
  EXPECT_EQ(linked->devices[0].events, 6);
  ASSERT_EQ(linked->programs.size(), 1U);
  EXPECT_EQ(linked->programs[0].runs, 1);
  ASSERT_EQ(linked->programs[0].collectives.size(), 1U);
  EXPECT_EQ(linked->programs[0].collectives[0].executions, 2U);
  const trace::Trace& t = linked->devices[0].trace;
  // The transfer is the collective; the event of -start on the core is a node beside.
  const NodeId transfer = find(t, "all-gather-start.3"), issue = find(t, "all-gather-start.3", 1);
  const NodeId done = find(t, "all-gather-done.5"), add = find(t, "add.6"), multiply = find(t, "multiply.4");
  ASSERT_TRUE(t.comm(transfer));
  EXPECT_EQ(t.comm(transfer)->type, trace::CommType::all_gather);
  EXPECT_EQ(t.comm(transfer)->bytes, 64U);
  EXPECT_FALSE(t.comm(issue));
  EXPECT_EQ(time_of(t, transfer), std::pair(Picoseconds{1200}, Picoseconds{1800}));
  EXPECT_EQ(time_of(t, issue), std::pair(Picoseconds{1200}, Picoseconds{1250}));
  // The -done waits until the transfer has ended.
  EXPECT_EQ(time_of(t, done), std::pair(Picoseconds{1800}, Picoseconds{1900}));
  EXPECT_EQ(waits_of(t, transfer), Texts{"data dot.2"});
  EXPECT_EQ(waits_of(t, issue), (Texts{"data dot.2", "stream dot.2"}));
  EXPECT_EQ(waits_of(t, multiply), (Texts{"data dot.2", "stream all-gather-start.3"}));
  EXPECT_EQ(waits_of(t, done), (Texts{"data all-gather-start.3", "data all-gather-start.3", "stream multiply.4"}));
  EXPECT_EQ(waits_of(t, add), (Texts{"data all-gather-done.5", "data multiply.4", "stream all-gather-done.5"}));
  EXPECT_EQ(t.num_ops[find(t, "dot.2")], 2 * 64);
  const auto step = trace::metadata(t, "xla_run_0");
  ASSERT_TRUE(step && step->text());
  EXPECT_EQ(*step->text(), "step 12");
}

TEST(Tpus, WithoutAProgramKeepTheOrderOfTheCore) {
  const auto linked = link_bytes(
      plane("/device:TPU:3",
            {{2, "XLA Modules", {{"jit_g(9)", 0, 1000}}},
             {3, "XLA Ops", {{"while.1", 100, 500}, {"add.2", 150, 100}, {"add.3", 300, 100}, {"add.4", 700, 10}}}},
            true));
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(tags_of(*linked), Texts{"xla.program.missing"});
  ASSERT_EQ(linked->devices.size(), 1U);
  const trace::Trace& t = linked->devices[0].trace;
  EXPECT_EQ(t.rank, 3);
  EXPECT_EQ(linked->devices[0].events, 4);
  // The loop is pieces around its body: 100 to 150, 250 to 300, 400 to 600.
  EXPECT_EQ(time_of(t, find(t, "while.1")), std::pair(Picoseconds{100}, Picoseconds{150}));
  EXPECT_EQ(time_of(t, find(t, "while.1", 1)), std::pair(Picoseconds{250}, Picoseconds{300}));
  EXPECT_EQ(time_of(t, find(t, "while.1", 2)), std::pair(Picoseconds{400}, Picoseconds{600}));
  EXPECT_EQ(t.part_of[find(t, "while.1", 2)], find(t, "while.1"));
  EXPECT_EQ(waits_of(t, find(t, "add.2")), Texts{"stream while.1"});
  EXPECT_EQ(waits_of(t, find(t, "add.4")), Texts{"stream while.1"});
}

/// A kernel of jit_f(7).
Event kernel(std::string name, std::string_view op, int64_t start, int64_t length, int64_t call) {
  return {std::move(name), start, length,
          field(4, stat(kOp, op)) + field(4, stat(kModule, "jit_f")) + field(4, stat(kProgram, 7)) +
              field(4, stat(kCorrelation, call))};
}

TEST(Gpus, RunSeveralKernelsForAnInstruction) {
  std::vector<Event> compute, comm;
  for (int64_t run = 0; run < 3; ++run) {
    const int64_t at = run * 10'000, call = run * 10;
    compute.push_back(kernel("prepare", "dot.2", at + 100, 50, call));
    compute.push_back(kernel("gemm", "dot.2", at + 200, 500, call + 1));
    comm.push_back(kernel("ncclDevKernel_AllGather", "all-gather-start.3", at + 750, 900, call + 2));
    compute.push_back(kernel("loop_multiply", "multiply.4", at + 800, 300, call + 3));
    compute.push_back(kernel("loop_add", "add.6", at + 1700, 100, call + 4));
  }
  compute.push_back({"MemcpyD2H", 40'000, 10, field(4, stat(kCorrelation, 90))});
  // The calls of the host have the instruction as well, and are no executions.
  const std::string host = plane("/host:CPU", {{1, "python", {kernel("cuLaunchKernel", "dot.2", 0, 10, 1)}}});
  const auto linked =
      link_bytes(metadata("jit_f(7)", gathering(2)) + host +
                 plane("/device:GPU:1", {{13, "Stream #13(Compute)", compute}, {14, "Stream #14(Compute)", comm}}));
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(tags_of(*linked), Texts{"xla.run.order"});
  ASSERT_EQ(linked->devices.size(), 1U);
  EXPECT_EQ(linked->devices[0].events, 16);
  EXPECT_EQ(linked->programs[0].runs, 3);
  EXPECT_EQ(linked->programs[0].collectives[0].executions, 3U);
  const trace::Trace& t = linked->devices[0].trace;
  EXPECT_EQ(t.rank, 1);
  // The longest kernel has the work.
  const NodeId gemm = find(t, "dot.2"), prepare = find(t, "dot.2", 1);
  EXPECT_EQ(t.num_ops[gemm], 2 * 64);
  EXPECT_EQ(t.num_ops[prepare], 0);
  EXPECT_EQ(time_of(t, prepare), std::pair(Picoseconds{100}, Picoseconds{150}));
  EXPECT_EQ(waits_of(t, gemm), (Texts{"launch cuLaunchKernel", "stream dot.2"}));
  EXPECT_EQ(waits_of(t, find(t, "multiply.4")), (Texts{"data dot.2", "data dot.2", "stream dot.2"}));
  // -done has no kernel: add.6 waits for the transfer.
  EXPECT_EQ(waits_of(t, find(t, "add.6", 1)),
            (Texts{"data all-gather-start.3", "data multiply.4", "stream multiply.4"}));
  const NodeId transfer = find(t, "all-gather-start.3", 1);
  ASSERT_TRUE(t.comm(transfer));
  EXPECT_EQ(t.comm(transfer)->sequence, 1);
  EXPECT_EQ(waits_of(t, find(t, "MemcpyD2H")), (Texts{"given [chakra|host_gap]", "stream add.6"}));
}

/// A collective whose kernel runs alone is an execution each time.
TEST(Gpus, CountCollectivesByTheirKernels) {
  std::vector<Event> comm;
  for (int64_t run = 0; run < 5; ++run)
    comm.push_back(kernel("ncclDevKernel_AllReduce", "all-reduce.2", run * 100, 50, run));
  const std::string reducing = program(
      {computation(1, {{"parameter", 1, {4}, {}}, {"all-reduce", 2, {4}, {1}, {}, number(26, 1) + number(71, 1)}})}, 1,
      2);
  const auto linked =
      link_bytes(metadata("jit_f(7)", reducing) + plane("/device:GPU:0", {{1, "Stream #1(Compute)", comm}}));
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(linked->programs[0].runs, 5);
  EXPECT_EQ(linked->programs[0].collectives[0].executions, 5U);
}

/// A collective inside of an asynchronous instruction that has the only event.
TEST(Gpus, FindCollectivesInsideAsynchronousInstructions) {
  const std::string wrapped = program(
      {computation(1, {{"parameter", 1, {4}, {}}, {"all-to-all", 2, {4}, {1}, {}, number(26, 1)}}),
       computation(2, {{"parameter", 3, {4}, {}}, {"async-start", 4, {4}, {3}, {1}}, {"async-done", 5, {4}, {4}}})},
      2, 2);
  const auto linked =
      link_bytes(metadata("jit_f(7)", wrapped) +
                 plane("/device:GPU:0", {{1, "Stream #1(Compute)", {kernel("nccl", "async-start.4", 0, 9, 1)}}}));
  ASSERT_TRUE(linked) << linked.error().message();
  const trace::Trace& t = linked->devices[0].trace;
  const trace::Comm* const comm = t.comm(find(t, "async-start.4"));
  ASSERT_TRUE(comm);
  EXPECT_EQ(comm->type, trace::CommType::all_to_all);
  EXPECT_EQ(comm->bytes, 16U);
  EXPECT_EQ(linked->programs[0].collectives[0].executions, 1U);
}

/// The host starts each kernel; the time between two calls is the host's.
TEST(Gpus, WaitForTheCallsOfTheHost) {
  const auto call = [](std::string name, int64_t start, int64_t length, int64_t number) {
    return Event{std::move(name), start, length, field(4, stat(kCorrelation, number))};
  };
  // The second kernel begins before its call returns, which starts the third as well. The call 9 starts no event.
  const std::string host = plane(
      "/host:CPU", {{40, "thread", {call("launch", 100, 20, 1), call("launch", 200, 50, 2), call("x", 1, 1, 9)}}});
  const auto linked = link_bytes(
      metadata("jit_f(7)", gathering(2)) + host +
      plane("/device:GPU:1", {{13,
                               "Stream #13(Compute)",
                               {kernel("gemm", "dot.2", 130, 30, 1), kernel("loop_multiply", "multiply.4", 220, 60, 2),
                                kernel("loop_add", "add.6", 290, 5, 2)}}}));
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(linked->devices[0].events, 3);
  const trace::Trace& t = linked->devices[0].trace;
  const NodeId first = find(t, "launch"), second = find(t, "launch", 1), gap = find(t, "[chakra|host_gap]");
  EXPECT_EQ(find(t, "x"), trace::kNoNode);
  EXPECT_TRUE(t.on_cpu(first));
  EXPECT_EQ(time_of(t, first), std::pair(Picoseconds{100}, Picoseconds{120}));
  EXPECT_EQ(time_of(t, gap), std::pair(Picoseconds{120}, Picoseconds{200}));
  EXPECT_EQ(time_of(t, second), std::pair(Picoseconds{200}, Picoseconds{220}));
  EXPECT_EQ(waits_of(t, gap), Texts{"given launch"});
  EXPECT_EQ(waits_of(t, second), Texts{"given [chakra|host_gap]"});
  EXPECT_EQ(waits_of(t, find(t, "dot.2")), Texts{"launch launch"});
  EXPECT_EQ(waits_of(t, find(t, "multiply.4")), (Texts{"data dot.2", "launch launch", "stream dot.2"}));
  EXPECT_EQ(waits_of(t, find(t, "add.6")),
            (Texts{"data dot.2", "data multiply.4", "launch launch", "stream multiply.4"}));
  EXPECT_EQ(find(t, "launch", 2), trace::kNoNode);
}

/// A run that begins before the last one has ended: the host's time goes on from where it began that one.
TEST(Gpus, MayOverlapRuns) {
  const auto other = [](std::string_view op, int64_t start, int64_t length) {
    return Event{std::string(op), start, length,
                 field(4, stat(kOp, op)) + field(4, stat(kModule, "jit_f")) + field(4, stat(kProgram, 8))};
  };
  const auto linked = link_bytes(metadata("jit_f(7)", gathering(2)) + metadata("jit_f(8)", gathering(2)) +
                                 plane("/device:GPU:0", {{1, "Stream #1", {kernel("gemm", "dot.2", 100, 300, 1)}},
                                                         {2, "Stream #2", {other("dot.2", 250, 20)}}}));
  ASSERT_TRUE(linked) << linked.error().message();
  const trace::Trace& t = linked->devices[0].trace;
  const NodeId first = find(t, "[chakra|initial_condition]"), second = find(t, "[chakra|host_gap]");
  EXPECT_EQ(time_of(t, first), std::pair(Picoseconds{0}, Picoseconds{100}));
  EXPECT_EQ(time_of(t, second), std::pair(Picoseconds{100}, Picoseconds{250}));
  EXPECT_EQ(waits_of(t, second), Texts{"given [chakra|initial_condition]"});
  EXPECT_EQ(find(t, "[chakra|initial_condition]", 1), trace::kNoNode);
}

/// An instruction that a CPU executes.
Event executed(std::string_view op, int64_t start, int64_t length, int64_t run = 1, const std::string& more = {}) {
  return {std::string(op), start, length,
          field(4, stat(kOp, op)) + field(4, stat(kModule, "jit_f")) + field(4, stat(kProgram, 7)) +
              field(4, stat(kRun, run)) + more};
}
std::string chain(std::string_view second) {
  return program(
      {computation(
          1, {{"parameter", 1, {4}, {}}, {"negate", 2, {4}, {1}}, {second, 3, {4}, {1}}, {"add", 4, {4}, {2, 3}}})},
      1);
}

/// TensorFlow's CPU has the device -1 and the run -1.
TEST(Cpus, MayStateNeitherDeviceNorRun) {
  std::vector<Event> events;
  for (int64_t run = 0; run < 3; ++run) {
    const std::string more = field(4, stat(kDevice, -1));
    events.push_back(executed("negate.2", run * 100 + 10, 5, -1, more));
    events.push_back(executed("abs.3", run * 100 + 20, 5, -1, more));
    events.push_back(executed("add.4", run * 100 + 30, 5, -1, more));
  }
  const auto linked = link_bytes(metadata("jit_f(7)", chain("abs")) + plane("/host:CPU", {{1, "main", events}}));
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(tags_of(*linked), Texts{"xla.run.order"});
  ASSERT_EQ(linked->devices.size(), 1U);
  EXPECT_EQ(linked->devices[0].trace.rank, 0);
  EXPECT_EQ(linked->devices[0].events, 9);
  EXPECT_EQ(linked->programs[0].runs, 3);
}

/// A thread runs one instruction after the other. It goes on while other threads compute a convolution, which ends
/// where its first user begins, or where the event "end: " begins.
TEST(Cpus, RunInstructionsOnThreads) {
  for (const Picoseconds stated : {900, 2000}) {
    const Event end{"end: convolution.3", stated, 1, field(4, stat(kComesFrom, 77))};
    const auto linked =
        link_bytes(metadata("jit_f(7)", chain("convolution")) +
                   plane("/host:CPU", {{1,
                                        "main",
                                        {executed("convolution.3", 10, 5, 1, field(4, stat(kLeadsTo, 77))),
                                         executed("negate.2", 20, 5), executed("add.4", 1000, 5)}},
                                       {2, "other", {end}}}));
    ASSERT_TRUE(linked) << linked.error().message();
    const trace::Trace& t = linked->devices[0].trace;
    EXPECT_EQ(time_of(t, find(t, "convolution.3")), std::pair(Picoseconds{10}, std::min(stated, Picoseconds{1000})));
    EXPECT_EQ(waits_of(t, find(t, "negate.2")), Texts{"given [chakra|initial_condition]"});
    EXPECT_EQ(waits_of(t, find(t, "add.4")), (Texts{"data convolution.3", "data negate.2", "stream negate.2"}));
  }
}

/// A CPU copies the operand of a sort first: two events are one execution, in each iteration.
TEST(Cpus, CopyTheOperandsOfASort) {
  const std::string sorting =
      program({computation(1, {{"parameter", 1, {4}, {}}, {"negate", 2, {4}, {1}}, {"sort", 3, {4}, {2}}}),
               computation(2, {{"parameter", 4, {4}, {}}, {"compare", 5, {}, {4, 4}}}),
               computation(3, {{"parameter", 6, {4}, {}}, {"while", 7, {4}, {6}, {1, 2}}, {"add", 8, {4}, {7, 7}}})},
              3);
  std::vector<Event> events{executed("while.7", 5, 290)};
  for (int64_t at : {0, 100, 200})
    for (const Event& event : {executed("compare.5", at + 10, 5), executed("negate.2", at + 20, 5),
                               executed("sort.3", at + 30, 5), executed("sort.3", at + 40, 50)})
      events.push_back(event);
  events.push_back(executed("add.8", 300, 5));
  const auto linked = link_bytes(metadata("jit_f(7)", sorting) + plane("/host:CPU", {{1, "main", events}}));
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(tags_of(*linked), Texts{});
  EXPECT_EQ(linked->devices[0].events, 14);
  const trace::Trace& t = linked->devices[0].trace;
  // The longer event is the sort, with its work; the copy is a node beside.
  EXPECT_EQ(time_of(t, find(t, "sort.3", 2)), std::pair(Picoseconds{140}, Picoseconds{190}));
  EXPECT_EQ(time_of(t, find(t, "sort.3", 3)), std::pair(Picoseconds{130}, Picoseconds{135}));
  EXPECT_GT(t.num_ops[find(t, "sort.3", 2)], 0);
  EXPECT_EQ(t.num_ops[find(t, "sort.3", 3)], 0);
  EXPECT_EQ(waits_of(t, find(t, "sort.3", 2)), (Texts{"data negate.2", "stream sort.3"}));
}

TEST(Devices, HaveNoCycleWhateverTheTimes) {
  std::mt19937 random(1);
  const auto any = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  const std::string_view ops[] = {"dot.2", "all-gather-start.3", "multiply.4", "all-gather-done.5", "add.6", "other.7"};
  for (int round = 0; round < 300; ++round) {
    const bool gpu = round % 3 == 1, cpu = round % 3 == 2;
    std::vector<Line> lines;
    int64_t events = 0;
    for (int64_t line = 0; line < 3; ++line) {
      lines.push_back({line, gpu ? "Stream #1(Compute)" : line == 2 ? "Async XLA Ops" : "XLA Ops", {}});
      for (int64_t e = any(12); e-- > 0; ++events) {
        const std::string op(ops[any(cpu ? 5 : 6)]);
        lines.back().events.push_back(cpu ? executed(op, any(6), any(4), any(3) - 1, field(4, stat(kLeadsTo, any(20))))
                                          : kernel(op, op, any(6), any(4), any(20)));
      }
    }
    std::vector<Event> host;  // calls that start events of GPUs, and events that end those of CPUs
    for (int64_t n = 0; n < 20; ++n)
      host.push_back({"call", any(6), any(4), field(4, stat(cpu ? kComesFrom : kCorrelation, any(20)))});
    const std::string_view device = cpu ? "/host:CPU" : gpu ? "/device:GPU:0" : "/device:TPU:0";
    if (cpu) lines.push_back({7, "ends", host});
    const auto linked = link_bytes(metadata("jit_f(7)", gathering(2)) + plane(device, lines) +
                                   (cpu ? "" : plane("/host:CPU", {{7, "calls", host}})));
    if (events == 0) continue;
    ASSERT_TRUE(linked) << linked.error().message();
    const trace::Trace& t = linked->devices[0].trace;
    EXPECT_EQ(linked->devices[0].events, events);
    EXPECT_TRUE(trace::topological_order(t.deps).cycle.empty());
    std::map<std::pair<std::string, Picoseconds>, int64_t> starts;  // what is no piece, by name
    int64_t nodes = 0;
    for (const NodeId n : t.nodes())
      nodes += t.part_of[n] == trace::kNoNode && !t.name_of(n).starts_with("[chakra|") && t.name_of(n) != "call";
    EXPECT_EQ(nodes, events);
  }
}

TEST(Devices, OfTwoKindsAreRefused) {
  const std::vector<Line> ops{{1, "XLA Ops", {{"add.1", 0, 1}}}}, stream{{1, "Stream #1", {{"add.1", 0, 1}}}};
  const auto tag = [](const Result<LinkedProfile>& linked) { return linked ? "" : linked.error().tag; };
  EXPECT_EQ(tag(link_bytes(plane("/device:TPU:0", ops) + plane("/device:GPU:0", stream))), "xla.profile.kinds");
  EXPECT_EQ(tag(link_bytes(plane("/device:TPU:99999999999", ops))), "xla.devices.number");
  EXPECT_EQ(tag(link_bytes(plane("/device:TPU:0", stream))), "xla.profile.empty");
  EXPECT_EQ(tag(link_bytes(plane("/device:CUSTOM:0", stream))), "xla.profile.empty");
}

}  // namespace
}  // namespace chakra::xla
