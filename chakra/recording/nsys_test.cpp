#include "chakra/recording/nsys.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/sqlite/testing/database.h"

namespace chakra::recording {
namespace {

using chakra::testing::tag_of;

constexpr int64_t kPid = int64_t{77} << 24;

/// An export of one process: a copy and a kernel, launched below two ranges, and a wait for both.
struct Export {
  std::string version = "3";
  std::string strings =
      "(1, 'cudaLaunchKernel_v7000'), (2, 'void scale<float>(float*)'), (3, 'cudaMemcpyAsync_v3020'), "
      "(4, 'cudaStreamSynchronize_v3020'), (5, 'forward')";
  std::string calls = fmt::format("(100, 120, {0}, 31, 3), (130, 140, {0}, 32, 1), (150, 300, {0}, 33, 4)", kPid + 5);
  std::string kernels = fmt::format("(170, 290, 0, 7, 32, {}, 2)", kPid);
  std::string copies = fmt::format("(125, 165, 0, 7, 31, {}, 4096, 1, 1, 2)", kPid);
  std::string ranges = fmt::format("(90, 310, 59, {0}, 'step', NULL), (95, 145, 59, {0}, NULL, 5)", kPid + 5);
  std::string more = "";

  std::string bytes() const {
    std::string all =
        "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES "
        "('EXPORT_SCHEMA_VERSION_MAJOR', '" +
        version +
        "'); CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER); INSERT INTO "
        "TARGET_INFO_SESSION_START_TIME VALUES (1000000); CREATE TABLE TARGET_INFO_GPU(id INTEGER, name "
        "TEXT, cuDevice INTEGER); INSERT INTO TARGET_INFO_GPU VALUES (3, 'H100', 0);";
    const auto table = [&](const char* name, const char* columns, const std::string& rows) {
      all += fmt::format("CREATE TABLE {}({});", name, columns);
      if (!rows.empty()) all += fmt::format("INSERT INTO {} VALUES {};", name, rows);
    };
    table("StringIds", "id INTEGER PRIMARY KEY, value TEXT", strings);
    table("CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId", calls);
    table("CUPTI_ACTIVITY_KIND_KERNEL", "start, end, deviceId, streamId, correlationId, globalPid, demangledName",
          kernels);
    table("CUPTI_ACTIVITY_KIND_MEMCPY",
          "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind", copies);
    table("NVTX_EVENTS", "start, end, eventType, globalTid, text, textId", ranges);
    table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "correlationId, deviceId, streamId, syncType", "(33, 0, 7, 3)");
    return sqlite::testing::database(all + more);
  }
};

struct Read {
  StringPool strings;
  Findings findings;
  Result<Profile> profile;

  explicit Read(const std::string& bytes) : profile(Profile()) {
    const auto database = sqlite::Database::from_memory(bytes, "memory");
    profile = database ? read_nsys(*database, strings, findings) : Result<Profile>(Failure(database.error()));
  }
};

TEST(Nsys, ReadsCallsDeviceOperationsAndRanges) {
  Read read(Export().bytes());
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  const Profile& p = *read.profile;
  EXPECT_EQ(p.base_ns, 1000000);
  EXPECT_EQ(p.device_names.at(0), "H100");
  ASSERT_EQ(p.calls.size(), 3u);
  EXPECT_EQ(read.strings[p.calls[1].name], "cudaLaunchKernel");
  EXPECT_EQ(p.calls[1].start_ns, 130);
  EXPECT_EQ(p.calls[1].dur_ns, 10);
  EXPECT_EQ(p.calls[1].correlation, 32);
  EXPECT_EQ(p.threads[p.calls[1].lane].process, 77);
  EXPECT_EQ(p.threads[p.calls[1].lane].index, 5);
  ASSERT_EQ(p.device_ops.size(), 2u);
  EXPECT_EQ(read.strings[p.device_ops[0].name], "void scale<float>(float*)");
  EXPECT_EQ(p.device_ops[0].correlation, 32);
  EXPECT_EQ(p.device_ops[0].dur_ns, 120);
  EXPECT_EQ(read.strings[p.device_ops[1].name], "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(p.device_ops[1].bytes, 4096);
  EXPECT_EQ(p.streams[p.device_ops[1].lane].index, 7);
  ASSERT_EQ(p.ops.size(), 2u);
  EXPECT_TRUE(p.ops[0].annotation);
  EXPECT_EQ(read.strings[p.ops[0].name], "step");
  EXPECT_EQ(read.strings[p.ops[1].name], "forward");
  ASSERT_EQ(p.syncs.size(), 1u);
  EXPECT_EQ(p.syncs[0].kind, SyncRecord::Kind::stream);
  EXPECT_EQ(p.syncs[0].stream, 7);
}

/// Pageable memory is 0 in these tables; only copies from pageable memory block their call.
TEST(Nsys, NumbersKindsOfMemoryAsNsysDoes) {
  Export of;
  of.copies = fmt::format("(125, 165, 0, 7, 31, {}, 1, 2, 2, 0)", kPid);
  Read read(of.bytes());
  ASSERT_TRUE(read.profile);
  EXPECT_EQ(read.strings[read.profile->device_ops[1].name], "Memcpy DtoH (Device -> Pageable)");
}

TEST(Nsys, CountsRangesThatAreLeftOut) {
  Export of;
  of.ranges = fmt::format(
      "(90, 310, 60, {0}, 'a', NULL), (95, NULL, 59, {0}, 'b', NULL), (9, NULL, 34, {0}, 'c', NULL)", kPid + 5);
  Read read(of.bytes());
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  EXPECT_TRUE(read.profile->ops.empty());
  ASSERT_EQ(read.findings.size(), 2u);
  EXPECT_EQ(read.findings[0].tag, "nsys.ranges");
  EXPECT_EQ(read.findings[1].tag, "nsys.open");
}

struct BadRow {
  std::string Export::*part;
  std::string text;
  const char* tag;
};

TEST(Nsys, RefusesWhatCannotBe) {
  const std::vector<BadRow> rows{
      {&Export::version, "4", "nsys.version"},
      {&Export::version, "new", "nsys.version"},
      {&Export::more, "DROP TABLE StringIds;", "nsys.table"},
      {&Export::more, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN streamId;", "nsys.table"},
      {&Export::more,
       "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; DELETE FROM "
       "CUPTI_ACTIVITY_KIND_MEMCPY;",
       "nsys.nothing"},
      {&Export::kernels, fmt::format("(170, 160, 0, 7, 32, {}, 2)", kPid), "nsys.value"},
      {&Export::kernels, fmt::format("(NULL, 160, 0, 7, 32, {}, 2)", kPid), "nsys.value"},
      {&Export::kernels, fmt::format("('x', 160, 0, 7, 32, {}, 2)", kPid), "nsys.value"},
      {&Export::kernels, fmt::format("(-9223372036854775807, 9223372036854775807, 0, 7, 32, {}, 2)", kPid),
       "nsys.value"},
      {&Export::kernels, fmt::format("(170, 290, 0, 7, 32, {}, 99)", kPid), "nsys.value"},
      {&Export::kernels, fmt::format("(170, 290, NULL, 7, 32, {}, 2)", kPid), "nsys.value"},
      {&Export::kernels, fmt::format("(170, 290, 0, 7, 32, {}, 2)", kPid + (1 << 24)), "nsys.processes"},
      {&Export::calls, "(100, 120, NULL, 31, 3)", "nsys.value"},
      {&Export::calls, fmt::format("(100, 120, {}, 31, 99)", kPid + 5), "nsys.value"},
  };
  for (const BadRow& row : rows) {
    Export of;
    of.*row.part = row.text;
    Read read(of.bytes());
    EXPECT_EQ(tag_of(read.profile), row.tag) << row.text;
  }
}

TEST(Nsys, CutExportsEndWithAnError) {
  const std::string whole = Export().bytes();
  for (size_t cut = 0; cut < whole.size() - 4096; cut += whole.size() / 200) {
    Read read(whole.substr(0, cut));
    EXPECT_FALSE(read.profile) << cut;
  }
}

}  // namespace
}  // namespace chakra::recording
