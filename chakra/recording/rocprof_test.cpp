#include "chakra/recording/rocprof.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"

namespace chakra::recording {
namespace {

using chakra::testing::tag_of;

/// An output of one process: a copy within a call of HSA and a kernel, launched below a range, and a wait for both.
struct Output {
  std::string agents =
      R"({"id": {"handle": 1}, "type": 1, "name": "CPU"}, {"id": {"handle": 9}, "type": 2, "name": "gfx942",
          "product_name": "MI300X"})";
  std::string kinds =
      R"({"kind": "NONE", "operations": []}, {"kind": "HIP_RUNTIME_API", "operations": ["none", "hipLaunchKernel",
          "hipMemcpyAsync", "hipStreamSynchronize"]}, {"kind": "HSA_CORE_API", "operations": ["hsa_copy"]},
          {"kind": "KERNEL_DISPATCH", "operations": ["none", "dispatch"]}, {"kind": "MEMORY_COPY", "operations":
          ["NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST"]},
          {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA", "roctxRangeStartA"]})";
  std::string kernels = R"x({"kernel_id": 4, "kernel_name": "_Z5scale.kd", "formatted_kernel_name": "scale(float*)"})x";
  std::string hip = call(1, 2, 31, 100, 120) + "," + call(1, 1, 32, 130, 140) + "," + call(1, 3, 33, 150, 300);
  std::string hsa = call(2, 0, 40, 105, 115);
  std::string dispatches = dispatch(32, 170, 290);
  std::string copies = copy(40, 125, 165);
  std::string markers = call(5, 1, 50, 90, 310) + "," + call(5, 0, 51, 95, 95);
  std::string more = "";
  std::string after = "";  ///< another process

  static std::string call(int kind, int operation, int correlation, int start, int end) {
    return fmt::format(
        R"({{"size": 64, "kind": {}, "operation": {}, "correlation_id": {{"internal": {}, "external": 0}},
        "start_timestamp": {}, "end_timestamp": {}, "thread_id": 77}})",
        kind, operation, correlation, start, end);
  }
  static std::string dispatch(int correlation, int start, int end, const char* more = "") {
    return fmt::format(R"({{"kind": 3, "operation": 1, "thread_id": 77, "correlation_id": {{"internal": {}}},
        "start_timestamp": {}, "end_timestamp": {}{}, "dispatch_info": {{"agent_id": {{"handle": 9}},
        "queue_id": {{"handle": 2}}, "kernel_id": 4, "grid_size": {{"x": 1}}}}}})",
                       correlation, start, end, more);
  }
  static std::string copy(int correlation, int start, int end) {
    return fmt::format(R"({{"kind": 4, "operation": 2, "thread_id": 77, "correlation_id": {{"internal": {}}},
        "start_timestamp": {}, "end_timestamp": {}, "dst_agent_id": {{"handle": 9}},
        "src_agent_id": {{"handle": 1}}, "bytes": 4096}})",
                       correlation, start, end);
  }
  std::string json() const {
    return fmt::format(R"({{"rocprofiler-sdk-tool": [{{"metadata": {{"pid": 70, "init_time": 5}}, "agents": [{}],
        "strings": {{"buffer_records": [{}], "marker_api": [{{"key": 50, "value": "st\u0065p"}}]}},
        "kernel_symbols": [{}], "buffer_records": {{"kernel_dispatch": [{}], "hip_api": [{}], "hsa_api": [{}],
        "marker_api": [{}], "memory_copy": [{}]{}}}}}{}]}})",
                       agents, kinds, kernels, dispatches, hip, hsa, markers, copies, more, after);
  }
};

struct Read {
  StringPool strings;
  Findings findings;
  Result<Profile> profile;

  explicit Read(const std::string& json) : profile(Profile()) {
    profile = read_rocprof(*ByteSource::from_memory(json, "memory"), strings, findings);
  }
  std::vector<std::string> tags() const {
    std::vector<std::string> tags;
    for (const Finding& finding : findings) tags.push_back(finding.tag);
    return tags;
  }
};

TEST(Rocprof, ReadsCallsDeviceOperationsAndRanges) {
  const std::string json = Output().json();
  EXPECT_TRUE(is_rocprof(json));
  Read read(json);
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  const Profile& p = *read.profile;
  EXPECT_EQ(p.device_names.at(0), "MI300X");
  EXPECT_EQ(kVendors[p.vendor].name, "AMD");
  ASSERT_EQ(p.calls.size(), 3u);
  EXPECT_EQ(read.strings[p.calls[1].name], "hipLaunchKernel");
  EXPECT_EQ(p.calls[1].start_ns, 130);
  EXPECT_EQ(p.calls[1].dur_ns, 10);
  EXPECT_EQ(p.threads[p.calls[1].lane].index, 77);
  ASSERT_EQ(p.device_ops.size(), 2u);
  EXPECT_EQ(read.strings[p.device_ops[0].name], "scale(float*)");
  EXPECT_EQ(p.device_ops[0].correlation, 32);
  EXPECT_EQ(p.device_ops[0].dur_ns, 120);
  EXPECT_EQ(p.streams[p.device_ops[0].lane].index, 2);
  EXPECT_EQ(read.strings[p.device_ops[1].name], "CopyHostToDevice");
  EXPECT_EQ(p.device_ops[1].correlation, 31);  // of the HIP call around the call of HSA
  EXPECT_EQ(p.device_ops[1].bytes, 4096);
  ASSERT_EQ(p.ops.size(), 1u);
  EXPECT_TRUE(p.ops[0].annotation);
  EXPECT_EQ(read.strings[p.ops[0].name], "step");
  EXPECT_EQ(read.tags(), (std::vector<std::string>{"rocprof.ranges"}));
}

TEST(Rocprof, PrefersStreamsToQueues) {
  Output of;
  of.dispatches = Output::dispatch(32, 170, 290, R"(, "stream_id": {"handle": 5})");
  Read read(of.json());
  ASSERT_TRUE(read.profile);
  EXPECT_EQ(read.profile->streams[read.profile->device_ops[0].lane].index, 5);
}

TEST(Rocprof, SaysThatLaunchesAreMissing) {
  Output of;
  of.hip = "";
  Read read(of.json());
  ASSERT_TRUE(read.profile);
  EXPECT_EQ(read.tags(), (std::vector<std::string>{"rocprof.ranges", "rocprof.launch"}));
}

TEST(Rocprof, RefusesWhatItCannotRead) {
  const auto tag = [](const Output& of) { return tag_of(Read(of.json()).profile); };
  Output of;
  of.dispatches = of.copies = "";
  EXPECT_EQ(tag(of), "rocprof.nothing");
  of = Output();
  of.after = ", {}";
  EXPECT_EQ(tag(of), "rocprof.processes");
  of = Output();
  of.kernels = "";
  EXPECT_EQ(tag(of), "rocprof.value");
  of = Output();
  of.agents = R"({"id": {"handle": 9}, "type": 1})";
  EXPECT_EQ(tag(of), "rocprof.value");
  of = Output();
  of.dispatches = Output::dispatch(32, 290, 170);
  EXPECT_EQ(tag(of), "rocprof.value");
  of = Output();
  of.hip = Output::call(1, 9, 31, 100, 120);
  EXPECT_EQ(tag(of), "rocprof.value");
  of = Output();
  of.hip = R"({"kind": "x"})";
  EXPECT_EQ(tag(of), "rocprof.json");
  of = Output();
  of.hip = "7";
  EXPECT_EQ(tag(of), "rocprof.json");
  EXPECT_EQ(tag_of(Read("{}").profile), "rocprof.json");
  EXPECT_EQ(tag_of(Read(R"({"rocprofiler-sdk-tool": []})").profile), "rocprof.processes");
}

TEST(Rocprof, NamesTheErrorWhereverTheFileEnds) {
  const std::string json = Output().json();
  for (size_t i = 0; i < 200; ++i) {
    Read read(json.substr(0, json.size() * i / 200));
    ASSERT_FALSE(read.profile) << i;
    EXPECT_EQ(read.profile.error().tag, "rocprof.json") << i;
  }
}

}  // namespace
}  // namespace chakra::recording
