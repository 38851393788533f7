#include "chakra/link/link.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "chakra/base/testing/testing.h"
#include "chakra/link/steps.h"

namespace chakra::link {
namespace {

using chakra::testing::tag_of;

TEST(Steps, ReadWhatStepsBeforeThemFill) {
  for (const auto steps : {kSteps, kHostSteps}) {
    EXPECT_EQ(first_too_early(steps), "");
    for (const Step& step : steps) EXPECT_NE(step.fills.bits, 0u) << step.name;
  }
  const Step swapped[] = {kSteps[1], kSteps[0]};
  EXPECT_EQ(first_too_early(swapped), kSteps[1].name);
}

/// Three iterations of two operators that take no time: the last of an iteration begins when it ends.
TEST(Link, MatchesByNamesWhatTakesNoTime) {
  std::string nodes = R"({"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1, "attrs": []})",
              events;
  for (int id = 2; id < 4; ++id)
    nodes += fmt::format(R"(, {{"id": {}, "name": "op{}", "ctrl_deps": 1, "attrs": []}})", id, id);
  for (int i = 0; i < 6; ++i)
    events += fmt::format(R"({}{{"ph": "X", "cat": "cpu_op", "name": "op{}", "pid": 1, "tid": 1, "ts": {}, "dur": 0}})",
                          i == 0 ? "" : ", ", 2 + i % 2, 10 * i);
  const std::string host = R"({"schema": "1.0.1", "nodes": [)" + nodes + "]}";
  const std::string kineto = R"({"traceEvents": [)" + events + "]}";
  auto linked = link_rank(*ByteSource::from_memory(host), *ByteSource::from_memory(kineto), {}, {});
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_TRUE(linked->report.by_names);
  EXPECT_EQ(linked->report.matched_host_ops, 2);
}

TEST(Link, ChoosesAWholeIterationWithTheShapes) {
  EXPECT_EQ(choose_iteration({{30, 0}, {10, 0}, {20, 0}}), 2u);
  EXPECT_EQ(choose_iteration({{30, 0}, {10, 1}, {20, 0}}), 2u);
  EXPECT_EQ(choose_iteration({{10, 0, false}, {20, 5}, {30, 0, false}}), 1u);
  EXPECT_EQ(choose_iteration({{30, 0, false}, {20, 0, false}}), 1u);  // which link() then refuses
}

/// Records whose times make no sense: they overlap, lie before their launch, end nowhere.
std::string random_recording(Prng& random) {
  static const char* const kCalls[] = {
      "cudaLaunchKernel",      "cudaMemcpyAsync", "cudaMemcpy",          "cudaStreamSynchronize",
      "cudaDeviceSynchronize", "cudaEventRecord", "cudaStreamWaitEvent", "cudaEventSynchronize",
      "hipGraphLaunch",        "cudaFree",        "cudaMalloc"};
  static const char* const kOps[] = {"aten::mm",           "ProfilerStep#1",  "c10d::allreduce_", "gloo:all_reduce",
                                     "record_param_comms", "nccl:all_reduce", "autograd::x"};
  static const char* const kKernels[] = {"gemm", "ncclDevKernel_AllReduce_Sum_f32", "Memcpy DtoH (Device -> Pageable)",
                                         "Memset"};
  std::string out;
  const int64_t span = random.chance(0.5) ? 2'000 : 200'000;
  const auto event = [&](const char* cat, const std::string& name, int64_t pid, int64_t tid, const std::string& args) {
    out += fmt::format(
        "{}{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, "
        "\"args\": {{{}}}}}",
        out.empty() ? "" : ",", cat, name, pid, tid, random.below(static_cast<uint64_t>(span)),
        random.chance(0.3) ? 0 : random.below(static_cast<uint64_t>(span) / 3), args);
  };
  for (uint64_t n = 1 + random.below(60); n > 0; --n) {
    const int64_t thread = random.between(1, 4), stream = random.between(7, 9), correlation = random.between(1, 20);
    switch (random.below(4)) {
      case 0:
        event(random.chance(0.3) ? "user_annotation" : "cpu_op", kOps[random.below(7)], 1, thread,
              fmt::format("\"Record function id\": {}", random.below(10)));
        break;
      case 1:
        event("cuda_runtime", kCalls[random.below(11)], 1, thread, fmt::format("\"correlation\": {}", correlation));
        break;
      case 2:
        event("kernel", kKernels[random.below(4)], 0, stream,
              fmt::format("\"device\": {}, \"stream\": {}, \"correlation\": {}", random.below(2), stream, correlation));
        break;
      default:
        event("cuda_sync", random.chance(0.5) ? "Stream Wait Event" : "Event Sync", 0, stream,
              fmt::format("\"stream\": {}, \"correlation\": {}, \"wait_on_stream\": {}, "
                          "\"wait_on_cuda_event_record_corr_id\": {}",
                          stream, correlation, random.between(7, 9), random.between(1, 20)));
    }
  }
  return "{\"schemaVersion\": 1, \"traceEvents\": [" + out + "]}";
}

TEST(Link, WhateverTheTimesSayTheGraphIsSound) {
  Prng random(5);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_recording(random);
    auto linked = link_rank(std::nullopt, *ByteSource::from_memory(text), {}, {});
    if (!linked && linked.error().tag == "pytorch.kineto.nothing") continue;  // synchronisation alone
    ASSERT_TRUE(linked) << linked.error().message() << "\n" << text;
    const trace::Trace& t = linked->trace;
    ASSERT_TRUE(t.defects.empty());
    int64_t device = 0, unrecorded = 0, edges = 0;
    for (const trace::NodeId n : t.nodes()) {
      ASSERT_EQ(t.id[n], n + 1);
      ASSERT_GE(t.dur_ps[n], 0) << text;
      ASSERT_GE(t.start_ps[n], 0) << text;
      const bool missing = t.name_of(n) == trace::kUnrecorded;
      unrecorded += missing;
      device += t.on_device(n) && t.part_of[n] == trace::kNoNode && !missing;
      for (const trace::NodeId on : t.deps.of(n)) ASSERT_LT(on, n) << text;  // in the order of ids
      for (const trace::NodeId caller : t.ctrl.of(n)) ASSERT_NE(caller, n);
      edges += static_cast<int64_t>(t.deps.of(n).size());
    }
    EXPECT_EQ(device, linked->report.device_ops);
    EXPECT_EQ(unrecorded, linked->report.unrecorded);
    int64_t counted = 0;
    for (const int64_t kind : linked->report.edges) counted += kind;
    EXPECT_EQ(counted, edges);
    auto again = link_rank(std::nullopt, *ByteSource::from_memory(text), {}, {});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->trace.deps.node, t.deps.node);
    EXPECT_EQ(again->trace.start_ps, t.start_ps);
  }
}

/// The result of linking with one of the two files replaced.
std::string tag_of_link(const std::string& host, const std::string& device) {
  return tag_of(link_rank(*ByteSource::from_memory(host), *ByteSource::from_memory(device), {}, {}));
}

TEST(Link, ARealFileCutAnywhereIsAnError) {
  const std::string folder = "examples/traces/ddp_gloo_2ranks/";
  constexpr size_t kCuts = 200;
  for (const char* which : {"host", "device"}) {
    const bool is_host = std::string(which) == "host";
    const std::string text = chakra::testing::must_read(folder + which + ".0.json.gz");
    std::ifstream file(folder + which + ".0.json.gz", std::ios::binary);
    const std::string packed((std::istreambuf_iterator<char>(file)), {});
    ASSERT_GT(text.size(), 1'000'000u);
    const std::string other = is_host ? "{\"traceEvents\": [{}]}" : "{\"nodes\": [{\"id\": 1, \"ctrl_deps\": 1}]}";
    const auto tag = [&](const std::string& cut) {
      return is_host ? tag_of_link(cut, other) : tag_of(link_rank(std::nullopt, *ByteSource::from_memory(cut), {}, {}));
    };
    for (size_t i = 1; i <= kCuts; ++i) {
      EXPECT_EQ(tag(text.substr(0, text.size() * i / (kCuts + 1))), "pytorch.json.truncated") << which << " " << i;
      EXPECT_EQ(tag(packed.substr(0, packed.size() * i / (kCuts + 1))), "base.gzip.truncated") << which << " " << i;
    }
    EXPECT_EQ(tag(""), "pytorch.json.empty");
  }
}

}  // namespace
}  // namespace chakra::link
