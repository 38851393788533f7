#include "chakra/recording/nsys.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/recording/nccl_payload.h"
#include "chakra/recording/testing/databases.h"
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
  std::string ranges =
      fmt::format("(90, 310, 59, {0}, 'step', NULL, NULL), (95, 145, 59, {0}, NULL, 5, NULL)", kPid + 5);
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
    table("NVTX_EVENTS", "start, end, eventType, globalTid, text, textId, binaryData", ranges);
    table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "correlationId, deviceId, streamId, syncType", "(33, 0, 7, 3)");
    return sqlite::testing::database(all + more);
  }
};

using Read = testing::DatabaseRead<read_nsys>;

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
      "(90, 310, 60, {0}, 'a', NULL, NULL), (95, NULL, 59, {0}, 'b', NULL, NULL), (9, NULL, 34, {0}, 'c', NULL, NULL)",
      kPid + 5);
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

TEST(Nsys, ReadsTheChosenProcess) {
  Export of;
  of.kernels += fmt::format(", (171, 280, 1, 7, 32, {}, 2)", kPid + (1 << 24));
  of.calls += fmt::format(", (131, 139, {}, 32, 1)", kPid + (1 << 24) + 6);
  Read first(of.bytes(), {77, {}}), second(of.bytes(), {78, {}}), third(of.bytes(), {79, {}});
  ASSERT_TRUE(first.profile) << first.profile.error().text;
  ASSERT_TRUE(second.profile) << second.profile.error().text;
  EXPECT_EQ(first.profile->calls.size(), 3u);
  EXPECT_EQ(first.profile->device_ops.size(), 2u);
  EXPECT_EQ(first.profile->ops.size(), 2u);
  ASSERT_EQ(second.profile->device_ops.size(), 1u);
  EXPECT_EQ(second.profile->device_ops[0].start_ns, 171);
  EXPECT_EQ(second.profile->streams[0].process, 1);
  EXPECT_EQ(second.profile->calls.size(), 1u);
  EXPECT_TRUE(second.profile->ops.empty());
  EXPECT_EQ(tag_of(third.profile), "nsys.nothing");
}

/// The bytes of a payload as SQL: little endian numbers of 64 or 32 bits.
std::string blob(const std::vector<std::pair<int64_t, int>>& numbers) {
  std::string hex;
  for (const auto& [number, bytes] : numbers)
    for (int i = 0; i < bytes; ++i) hex += fmt::format("{:02x}", static_cast<uint64_t>(number) >> (8 * i) & 0xff);
  return "x'" + hex + "'";
}

constexpr int64_t kComm = 0x1234;
std::string message(int64_t schema, std::vector<std::pair<int64_t, int>> data, int64_t size) {
  data.insert(data.begin(), {{1, 8}, {schema, 8}, {size, 8}, {32, 8}});
  return blob(data);
}

/// A program with NCCL: schemas of NCCL 2.25, calls in groups and alone. Names are texts of ranges.
struct Nccl : Export {
  std::string entries =
      "(1, 2, 0, 18, 'NCCL communicator ID', NULL), (1, 2, 1, 5, 'No. of ranks', 8), (1, 2, 2, 5, 'Rank', 12), "
      "(1, 4, 0, 18, 'NCCL communicator ID', NULL), (1, 4, 1, 22, 'Message size [bytes]', 8), "
      "(1, 7, 0, 18, 'NCCL communicator ID', NULL), (1, 7, 1, 22, 'Message size [bytes]', 8), "
      "(1, 7, 2, 999, 'Reduction operation', 16), "
      "(1, 9, 0, 18, 'NCCL communicator ID', NULL), (1, 9, 1, 22, 'Message size [bytes]', 8), "
      "(1, 9, 2, 5, 'Peer rank', 16)";

  Nccl() {
    strings +=
        ", (6, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)'), (7, 'ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)'), "
        "(8, 'ncclDevKernel_SendRecv(x)')";
    calls.clear(), kernels.clear(), copies.clear(), ranges.clear();
    range(1, 9, "ncclCommInitRank", message(2, {{kComm, 8}, {4, 4}, {2, 4}, {0, 4}, {0, 4}}, 24));
  }
  static void add(std::string& rows, const std::string& row) { rows += (rows.empty() ? "" : ", ") + row; }
  void range(int start, int end, const char* name, const std::string& payload = "NULL") {
    add(ranges, fmt::format("({}, {}, 59, {}, '{}', NULL, {})", start, end, kPid + 5, name, payload));
  }
  void launch(int at, int correlation, int name) {
    add(calls, fmt::format("({}, {}, {}, {}, 1)", at, at + 2, kPid + 5, correlation));
    add(kernels, fmt::format("({}, {}, 0, 7, {}, {}, {})", at + 100, at + 110, correlation, kPid, name));
  }
  std::string all() {
    more +=
        "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId, schemaId, idx, type, name, offset); INSERT INTO "
        "NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES " +
        entries + ";";
    return bytes();
  }
};

std::string reduced(int64_t bytes) { return message(7, {{kComm, 8}, {bytes, 8}, {0, 4}, {0, 4}}, 24); }
const CommRecord* comm_of(const Read& read, size_t op) {
  const uint32_t row = read.profile->device_ops[op].comm;
  return row == trace::kNoRow ? nullptr : &read.profile->comms[row];
}

TEST(Nsys, GivesNcclsCallsToTheirKernels) {
  Nccl of;
  of.range(10, 20, "ncclReduceScatter", reduced(100));  // alone: its kernel is launched within
  of.launch(15, 1, 7);
  of.range(30, 31, "ncclGroupStart");  // PyTorch: a group for each call
  of.range(32, 34, "ncclAllReduce", reduced(200));
  of.range(35, 40, "ncclGroupEnd");
  of.launch(36, 2, 6);
  of.range(50, 51, "ncclGroupStart");  // two calls that NCCL carries out by one kernel
  of.range(52, 53, "ncclAllReduce", reduced(300));
  of.range(54, 55, "ncclAllReduce", reduced(400));
  of.range(56, 60, "ncclGroupEnd");
  of.launch(57, 3, 6);
  of.range(70, 71, "ncclGroupStart");  // two kernels, by their names in another order; groups nest
  of.range(71, 72, "ncclGroupStart");
  of.range(72, 73, "ncclAllReduce", reduced(500));
  of.range(73, 74, "ncclGroupEnd");
  of.range(74, 75, "ncclReduceScatter", reduced(600));
  of.range(76, 80, "ncclGroupEnd");
  of.launch(76, 4, 7);
  of.launch(78, 5, 6);
  const ProcessChoice choice{77, {{communicator_name(kComm), "", "nccl", {0, 1, 2, 3}, 4}}};
  Read read(of.all(), choice);
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  EXPECT_TRUE(read.findings.empty());
  ASSERT_EQ(read.profile->device_ops.size(), 5u);
  const int64_t in[] = {400, 200, 700, 2400, 500}, out[] = {100, 200, 700, 600, 500};
  for (size_t op = 0; op < 5; ++op) {
    ASSERT_NE(comm_of(read, op), nullptr) << op;
    EXPECT_EQ(comm_of(read, op)->in_bytes, in[op]) << op;
    EXPECT_EQ(comm_of(read, op)->out_bytes, out[op]) << op;
    EXPECT_EQ(read.strings[comm_of(read, op)->group], "nccl:0000000000001234");
  }
  ASSERT_EQ(read.profile->groups.size(), 1u);
  EXPECT_EQ(read.profile->groups[0].ranks.size(), 4u);
}

TEST(Nsys, KeepsMessagesWithTheirCallsAndCountsTheRest) {
  Nccl of;
  of.range(10, 11, "ncclGroupStart");
  of.range(12, 13, "ncclSend", message(9, {{kComm, 8}, {64, 8}, {3, 4}, {0, 4}}, 24));
  of.range(14, 15, "ncclRecv", message(9, {{kComm, 8}, {32, 8}, {1, 4}, {0, 4}}, 24));
  of.range(16, 20, "ncclGroupEnd");
  of.launch(17, 1, 8);
  of.range(30, 31, "ncclGroupStart");  // two kinds of calls, one kernel: whose is it?
  of.range(32, 33, "ncclAllReduce", reduced(300));
  of.range(34, 35, "ncclReduceScatter", reduced(400));
  of.range(36, 40, "ncclGroupEnd");
  of.launch(37, 2, 6);
  of.range(50, 55, "ncclAllReduce", reduced(500));  // no kernel
  of.range(60, 65, "ncclAllReduce");                // no payload
  of.launch(62, 3, 6);
  of.range(66, 67, "nccl:all_reduce");                                                             // of c10d
  of.range(70, 75, "ncclAllReduce", message(999, {{kComm, 8}, {500, 8}}, 16));                     // unknown schema
  of.range(80, 85, "ncclAllReduce", message(7, {{kComm, 8}, {500, 8}}, 24));                       // cut
  of.range(90, 95, "ncclAllReduce", message(7, {{kComm, 8}}, 8));                                  // too short
  of.range(96, 97, "ncclAllReduce", blob({{1, 8}, {7, 8}, {INT64_MAX, 8}, {-8, 8}, {kComm, 8}}));  // hostile
  Read read(of.all());
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  for (size_t op = 0; op < read.profile->device_ops.size(); ++op) EXPECT_EQ(comm_of(read, op), nullptr) << op;
  ASSERT_EQ(read.findings.size(), 2u);
  EXPECT_EQ(read.findings[0].tag, "nsys.payloads");
  EXPECT_TRUE(read.findings[0].text.starts_with("5 calls")) << read.findings[0].text;
  EXPECT_EQ(read.findings[1].tag, "nsys.calls");
  EXPECT_TRUE(read.findings[1].text.starts_with("3 collective calls")) << read.findings[1].text;
  std::vector<const CommRecord*> messages;
  for (const CpuOp& op : read.profile->ops)
    if (op.library_call && op.comm != trace::kNoRow && read.strings[op.name] != "ncclAllReduce" &&
        read.strings[op.name] != "ncclReduceScatter")
      messages.push_back(&read.profile->comms[op.comm]);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0]->rank, 3);
  EXPECT_EQ(messages[0]->in_bytes, 64);
  EXPECT_EQ(messages[0]->out_bytes, 0);
  EXPECT_EQ(messages[1]->rank, 1);
  EXPECT_EQ(messages[1]->in_bytes, 0);
  EXPECT_EQ(messages[1]->out_bytes, 32);
  EXPECT_TRUE(messages[1]->in_group);
}

/// NCCL sorts the calls of a group by size, and a call without a payload may be any of them.
TEST(Nsys, DoesNotGuessWhichKernelIsOfWhichCall) {
  Nccl of;
  of.range(10, 11, "ncclGroupStart");
  of.range(12, 13, "ncclAllReduce", reduced(300));
  of.range(14, 15, "ncclAllReduce", reduced(400));
  of.range(16, 20, "ncclGroupEnd");
  of.launch(16, 1, 6);
  of.launch(18, 2, 6);
  of.range(30, 31, "ncclGroupStart");
  of.range(32, 33, "ncclAllReduce", reduced(300));
  of.range(34, 35, "ncclAllReduce");
  of.range(36, 40, "ncclGroupEnd");
  of.launch(37, 3, 6);
  of.range(50, 51, "ncclGroupStart");  // equal calls
  of.range(52, 53, "ncclAllReduce", reduced(300));
  of.range(54, 55, "ncclAllReduce", reduced(300));
  of.range(56, 60, "ncclGroupEnd");
  of.launch(56, 4, 6);
  of.launch(58, 5, 6);
  of.range(70, 71, "ncclGroupStart");  // no calls
  of.range(76, 80, "ncclGroupEnd");
  of.launch(76, 6, 6);
  Read read(of.all());
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  for (size_t op = 0; op < 3; ++op) EXPECT_EQ(comm_of(read, op), nullptr) << op;
  for (size_t op = 3; op < 5; ++op) {
    ASSERT_NE(comm_of(read, op), nullptr) << op;
    EXPECT_EQ(comm_of(read, op)->in_bytes, 300);
  }
  ASSERT_EQ(read.findings.size(), 2u);
  EXPECT_TRUE(read.findings[1].text.starts_with("3 collective calls")) << read.findings[1].text;
}

TEST(Nsys, SchemasThatProcessesDescribeDifferentlyAreUnknown) {
  Nccl of;
  of.entries += ", (1, 7, 1, 22, 'Message size [bytes]', 0)";
  of.range(10, 20, "ncclAllReduce", reduced(200));
  of.launch(15, 1, 6);
  Read read(of.all());
  ASSERT_TRUE(read.profile) << read.profile.error().text;
  ASSERT_EQ(read.findings.size(), 1u);
  EXPECT_EQ(read.findings[0].tag, "nsys.payloads");
}

TEST(Nsys, SurveysProcessesAndCommunicators) {
  Nccl of;
  of.launch(15, 1, 6);
  Nccl::add(of.kernels, fmt::format("(1, 2, 3, 7, 9, {}, 6)", kPid + (1 << 24)));
  const auto database = sqlite::Database::from_memory(of.all(), "memory");
  ASSERT_TRUE(database);
  const auto survey = survey_nsys(*database);
  ASSERT_TRUE(survey) << survey.error().text;
  ASSERT_EQ(survey->processes.size(), 2u);
  EXPECT_EQ(survey->processes.at(77).device, 0);
  EXPECT_EQ(survey->processes.at(78).device, 3);
  ASSERT_EQ(survey->processes.at(77).communicators.size(), 1u);
  const SeenCommunicator seen = survey->processes.at(77).communicators.at(communicator_name(kComm));
  EXPECT_EQ(seen.size, 4);
  EXPECT_EQ(seen.place, 2);
}

TEST(Nsys, CutExportsEndWithAnError) {
  Nccl of;
  of.range(10, 20, "ncclAllReduce", reduced(200));
  of.launch(15, 1, 6);
  const std::string whole = of.all();
  for (size_t cut = 0; cut < whole.size() - 4096; cut += whole.size() / 200) {
    Read read(whole.substr(0, cut));
    EXPECT_FALSE(read.profile) << cut;
  }
}

}  // namespace
}  // namespace chakra::recording
