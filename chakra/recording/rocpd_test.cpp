#include "chakra/recording/rocpd.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/recording/testing/databases.h"
#include "chakra/sqlite/testing/database.h"

namespace chakra::recording {
namespace {

using chakra::testing::tag_of;

/// Tables of one process, as rocprofv3 writes them (schema 3): a copy within a call of HSA and a kernel, launched below
/// a range, and a wait for both; a call of RCCL in a group, with the kernel launched by the group's end.
struct Base {
  std::string suffix = "_0192";
  int64_t pid = 70;
  std::string agents = "(0, 'CPU', 0, 'CPU', ''), (4, 'GPU', 1, 'gfx942', 'MI300X')";
  std::string strings =
      "(1, 'HIP_RUNTIME_API_EXT'), (2, 'HSA_CORE_API'), (3, 'MARKER_CORE_RANGE_API'), (4, 'RCCL_API'), (5, "
      "'KERNEL_DISPATCH'), (6, 'MEMORY_COPY'), (10, 'hipLaunchKernel'), (11, 'hipMemcpyAsync'), (12, "
      "'hipStreamSynchronize'), (13, 'hsa_amd_memory_async_copy'), (14, 'roctxThreadRangeA'), (15, "
      "'roctxProcessRangeA'), "
      "(16, 'MEMORY_COPY_HOST_TO_DEVICE'), (17, 'ncclGroupStart'), (18, 'ncclGroupEnd'), (19, 'ncclAllReduce'), (20, "
      "'HIP_COMPILER_API')";
  std::string kernels =
      "(7, '_Z5scale.kd', 'scale(float*)'), (8, 'ncclDevKernel_Generic_4.kd', 'ncclDevKernel_Generic_4(x)')";
  /// id, category, stack_id, extdata
  std::string events =
      "(1, 1, 31, '{}'), (2, 1, 32, '{}'), (3, 1, 33, '{}'), (4, 2, 40, '{}'), (5, 3, 50, '{\"message\": "
      "\"st\\u0065p\"}'), "
      "(6, 5, 32, '{}'), (7, 6, 40, '{}'), (8, 4, 60, '{}'), (9, 4, 61, '{}'), (10, 4, 62, '{}'), (11, 1, 63, '{}'), "
      "(12, "
      "5, 63, '{}'), (13, 3, 64, '{}'), (14, 20, 65, '{}')";
  /// start, end, tid, name, event
  std::vector<std::array<int64_t, 5>> regions{{100, 120, 77, 11, 1}, {130, 140, 77, 10, 2},  {150, 300, 77, 12, 3},
                                              {105, 115, 77, 13, 4}, {90, 310, 77, 14, 5},   {400, 401, 77, 17, 8},
                                              {402, 404, 77, 19, 9}, {405, 420, 77, 18, 10}, {406, 410, 77, 10, 11},
                                              {1, 2, 77, 15, 13},    {3, 4, 77, 10, 14}};
  std::string dispatches = "(170, 290, 4, 7, 1, 2, 6), (430, 500, 4, 8, 2, 2, 12)";
  std::string copies = "(125, 165, 16, 4, 0, 4096, 1, 7)";
  std::string arguments =
      "(9, 'count', '1000'), (9, 'datatype', 'ncclFloat32'), (9, 'comm', '0x7f00'), (9, 'op', 'ncclSum'), (1, 'count', "
      "'5')";
  std::string more = "";

  std::string statements() const {
    std::string all;
    const auto table = [&](const std::string& name, const std::string& columns, const std::string& rows) {
      all += fmt::format("CREATE TABLE \"{}{}\"({});", name, suffix, columns);
      if (!rows.empty()) all += fmt::format("INSERT INTO \"{}{}\" VALUES {};", name, suffix, rows);
    };
    table("rocpd_info_process", "id, pid", fmt::format("({0}, {0})", pid));
    table("rocpd_info_agent", "id, type, type_index, name, product_name", agents);
    table("rocpd_string", "id, string", strings);
    table("rocpd_info_kernel_symbol", "id, kernel_name, display_name", kernels);
    table("rocpd_event", "id, category_id, stack_id, extdata", events);
    std::string rows;
    for (const auto& [start, end, tid, name, event] : regions)
      rows += fmt::format("{}({}, {}, {}, {}, {}, {})", rows.empty() ? "" : ", ", start, end, pid, tid, name, event);
    table("rocpd_region", "start, end, pid, tid, name_id, event_id", rows);
    const auto with_pid = [&](const std::string& columns, const std::string& name, const std::string& values) {
      table(name, columns + ", pid", "");
      if (!values.empty())
        all += fmt::format("INSERT INTO \"{0}{1}\" SELECT *, {2} FROM (VALUES {3});", name, suffix, pid, values);
    };
    with_pid("start, end, agent_id, kernel_id, stream_id, queue_id, event_id", "rocpd_kernel_dispatch", dispatches);
    with_pid("start, end, name_id, dst_agent_id, src_agent_id, size, stream_id, event_id", "rocpd_memory_copy", copies);
    table("rocpd_arg", "event_id, name, value", arguments);
    return all + more;
  }
  std::string bytes() const { return sqlite::testing::database(statements()); }
};

using Read = testing::DatabaseRead<read_rocpd>;

TEST(Rocpd, ReadsCallsDeviceOperationsAndRanges) {
  Read read(Base().bytes());
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  const Profile& p = *read.profile;
  EXPECT_EQ(p.device_names.at(1), "MI300X");
  EXPECT_EQ(kVendors[p.vendor].name, "AMD");
  ASSERT_EQ(p.calls.size(), 4u);
  EXPECT_EQ(read.strings[p.calls[1].name], "hipLaunchKernel");
  EXPECT_EQ(p.calls[1].correlation, 32);
  EXPECT_EQ(p.calls[1].start_ns, 130);
  EXPECT_EQ(p.threads[p.calls[1].lane].process, 70);
  EXPECT_EQ(p.threads[p.calls[1].lane].index, 77);
  ASSERT_EQ(p.device_ops.size(), 3u);
  EXPECT_EQ(read.strings[p.device_ops[0].name], "scale(float*)");
  EXPECT_EQ(p.device_ops[0].correlation, 32);
  EXPECT_EQ(p.device_ops[0].dur_ns, 120);
  EXPECT_EQ(p.streams[p.device_ops[0].lane].process, 1);
  EXPECT_EQ(p.streams[p.device_ops[0].lane].index, 1);
  EXPECT_EQ(read.strings[p.device_ops[2].name], "CopyHostToDevice");
  EXPECT_EQ(p.device_ops[2].correlation, 31);  // of the call of HIP around the call of HSA
  EXPECT_EQ(p.device_ops[2].bytes, 4096);
  ASSERT_EQ(p.ops.size(), 4u);
  EXPECT_EQ(read.strings[p.ops[0].name], "step");
  EXPECT_TRUE(p.ops[0].annotation);
  EXPECT_FALSE(p.ops[0].library_call);
  ASSERT_EQ(read.findings.size(), 3u);
  EXPECT_EQ(read.findings[0].tag, "rocpd.ranges");
  EXPECT_EQ(read.findings[1].tag, "rocpd.regions");
  EXPECT_EQ(read.findings[2].tag, "rocpd.communicators");
}

TEST(Rocpd, GivesRcclsCallsTheirSizes) {
  Read read(Base().bytes());
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  const DeviceOp& kernel = read.profile->device_ops[1];
  ASSERT_NE(kernel.comm, trace::kNoRow);
  EXPECT_EQ(read.profile->comms[kernel.comm].in_bytes, 4000);
  EXPECT_EQ(read.strings[read.profile->comms[kernel.comm].collective], "ncclAllReduce");
  EXPECT_EQ(read.profile->comms[kernel.comm].group, 0u);
  Base two;
  two.regions.push_back({500, 501, 77, 19, 15});
  two.events += ", (15, 4, 66, '{}')";
  two.arguments += ", (15, 'count', '1'), (15, 'datatype', '1'), (15, 'comm', '0x7f99')";
  Read several(two.bytes());
  ASSERT_TRUE(several.profile);
  EXPECT_EQ(several.strings[several.profile->comms[several.profile->device_ops[1].comm].group], "rccl:70:0x7f00");
  EXPECT_TRUE(std::any_of(several.findings.begin(), several.findings.end(),
                          [](const Finding& finding) { return finding.tag == "rocpd.communicators"; }));
  for (const auto& [from, to] : {std::pair("'1000'", "'x'"),
                                 {"ncclFloat32", "ncclNew"},
                                 {"'1000'", "'-1'"},
                                 {"'1000'", "'9223372036854775807'"}}) {
    Base of;
    of.arguments.replace(of.arguments.find(from), std::string_view(from).size(), to);
    Read other(of.bytes());
    ASSERT_TRUE(other.profile);
    EXPECT_EQ(other.profile->device_ops[1].comm, trace::kNoRow) << to;
    EXPECT_TRUE(std::any_of(other.findings.begin(), other.findings.end(), [](const Finding& finding) {
      return finding.tag == "rocpd.arguments";
    })) << to;
  }
}

TEST(Rocpd, ReadsTheChosenProcessOfMergedDatabases) {
  Base first, second;
  second.suffix = "_0193", second.pid = 71;
  second.agents = "(4, 'GPU', 5, 'gfx942', '')";
  second.dispatches = "(171, 280, 4, 7, 1, 2, 6)";
  const std::string bytes = sqlite::testing::database(first.statements() + second.statements());
  EXPECT_EQ(tag_of(Read(bytes).profile), "rocpd.processes");
  Read read(bytes, {71, {}});
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  ASSERT_EQ(read.profile->device_ops.size(), 2u);
  EXPECT_EQ(read.profile->device_ops[0].start_ns, 171);
  EXPECT_EQ(read.profile->calls.size(), 4u);
  EXPECT_EQ(read.profile->device_names.at(5), "gfx942");
  EXPECT_EQ(tag_of(Read(bytes, {72, {}}).profile), "rocpd.nothing");
  const auto database = sqlite::Database::from_memory(bytes, "memory");
  ASSERT_TRUE(database);
  const auto survey = survey_rocpd(*database);
  ASSERT_TRUE(survey);
  ASSERT_EQ(survey->processes.size(), 2u);
  EXPECT_EQ(survey->processes.at(70).device, 1);
  EXPECT_EQ(survey->processes.at(71).device, 5);
}

struct BadPart {
  std::string Base::*part;
  std::string text;
  const char* tag;
};

TEST(Rocpd, RefusesWhatCannotBe) {
  const std::vector<BadPart> parts{
      {&Base::more, "ALTER TABLE rocpd_region_0192 DROP COLUMN tid;", "rocpd.table"},
      {&Base::more, "DELETE FROM rocpd_kernel_dispatch_0192; DELETE FROM rocpd_memory_copy_0192;", "rocpd.nothing"},
      {&Base::dispatches, "(170, 160, 4, 7, 1, 2, 6)", "rocpd.value"},
      {&Base::dispatches, "('x', 160, 4, 7, 1, 2, 6)", "rocpd.value"},
      {&Base::dispatches, "(-9223372036854775807, 9223372036854775807, 4, 7, 1, 2, 6)", "rocpd.value"},
      {&Base::dispatches, "(170, 290, 0, 7, 1, 2, 6)", "rocpd.value"},
      {&Base::dispatches, "(170, 290, 4, 99, 1, 2, 6)", "rocpd.value"},
      {&Base::dispatches, "(170, 290, 4, 7, NULL, NULL, 6)", "rocpd.value"},
      {&Base::copies, "(125, 165, 99, 4, 0, 4096, 1, 7)", "rocpd.value"},
      {&Base::agents, "(4, 'GPU', NULL, '', '')", "rocpd.value"},
      {&Base::events, "(5, 3, 50, '{\"message\": ')", "rocpd.json"},
      {&Base::events, "(5, 3, 50, '[1]')", "rocpd.json"},
      {&Base::strings, "(1, 'HIP_RUNTIME_API')", "rocpd.value"},
  };
  for (const BadPart& part : parts) {
    Base of;
    of.*part.part = part.text;
    EXPECT_EQ(tag_of(Read(of.bytes()).profile), part.tag) << part.text;
  }
}

TEST(Rocpd, CutDatabasesEndWithAnError) {
  const std::string whole = Base().bytes();
  for (size_t cut = 0; cut < whole.size() - 4096; cut += whole.size() / 200)
    EXPECT_FALSE(Read(whole.substr(0, cut)).profile) << cut;
}

}  // namespace
}  // namespace chakra::recording
