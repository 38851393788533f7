// Every kind is told by its beginning, and by its name only where nothing else tells.
#include "chakra/filetype/filetype.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "chakra/base/testing/testing.h"

namespace chakra::filetype {
namespace {

using namespace std::string_view_literals;

std::string_view name_of(const Row* row) { return row ? row->name : ""; }

const std::vector<std::pair<std::string_view, std::string_view>> kSamples{
    {"container", "CHAKRAJB\1\0\0\0"sv},
    {"json", " {\n \"chakraTrace\": \"json/1\""},
    {"json", "\xef\xbb\xbf{\"metadata\": {}"},
    {"jsonl", "{\"chakraTrace\":\"jsonl/1\"}"},
    {"jsonl", "{}\n{\"id\": 1}"},
    {"host", "{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": ["},
    {"host", "{ \"nodes\": [{\"rf_id\": 1"},
    {"kineto", "{\"schemaVersion\": 1, \"traceEvents\": ["},
    {"kineto", "{\"metadata\": {\"num_errors\": 0}, \"traceEvents\": ["},
    {"eg", "\x04\x08\x00\x12\x00"sv},
    {"et", "\x07\x0a\x05\x30.0.4"sv},
    {"et", "\x00"sv},
    {"nccl-flight-json", "{\"version\": \"2.4\", \"pg_config\": {}, \"entries\": []}"},
    {"nccl-flight-json", "{\"pg_status\": {}, \"version\": \"2.10\"}"},
    {"nccl-flight-pickle", "\x80\x02}q\x00(X\x07\x00\x00\x00version q\x01 entries pg_config"sv},
    {"nccl-flight-pickle", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x07version\x8c\x09pg_config"sv},
    {"torch-memory",
     "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x0d"
     "device_traces"sv},
    {"old-pickle", "(dp0\nVa\np1\nI1\ns."},
    {"old-pickle", "]q\0(K\x01K\x02"sv},
    {"old-pickle", "(dp0\nVversion\np1\nV2.4\np2\nsVpg_config\np3\n"},
    {"old-pickle", "}q\0(X\x07\0\0\0version q\x01 entries pg_config"sv},
    {"pickle", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94"sv},
    {"nccl-profile", "[{\"name\": \"Group\", \"cat\": \"GROUP\", \"ph\": \"b\", \"id\": 0}"},
    {"nccl-profile", "{\"traceEvents\":[{\"ph\":\"b\",\"cat\":\"COLL\"}"},
    {"xla-chrome", "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [{\"args\": {\"name\": \"/device:TPU:0\"}}"},
    {"xla-chrome", "{\"traceEvents\": [{\"ph\": \"X\", \"args\": {\"hlo_op\": \"fusion\"}}"},
    {"xplane", "\x0a\x20\x12\x09/host:CPU"},
    {"rocprof-json", "{\n \"rocprofiler-sdk-tool\": [ { \"metadata\": {"},
    {"nsys-sqlite", "SQLite format 3\0 CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL"sv},
    {"rocpd-sqlite", "SQLite format 3\0 CREATE TABLE rocpd_info_process_0"sv},
    {"sqlite", "SQLite format 3\0"sv},
    {"goal", "// made by schedgen\nnum_ranks 4\n\nrank 0 {"},
    {"tit", "0 init\n0 compute 1e6\n0 send 1 0 1000\n"},
    {"tit", "p1 compute 100\n"},
    {"infragraph", "{\"name\": \"x\", \"devices\": [{\"components\": []}], \"instances\": []}"},
    {"infragraph", "name: x\ndevices:\n- name: dgx\ninstances:\n- name: host\n"},
    {"hlo", "HloModule jit_step, entry_computation_layout={()}"},
    {"hlo-proto", "\x0a\xd3\xa0\x08\x0a\x08jit_step\x12\x04main\x1a\x12\x09parameter"},
    {"mlir", "module @jit_step {\n func.func public @main"},
    {"zip", "PK\3\4"},
    {"result", "{\n  \"mode\": \"native\","},
    {"kineto", "{\"schemaVersion\": 1, \"distributedInfo\": {\"pg_config\": [], \"nccl_version\": \"2\"}"},
    {"kineto", "{\"deviceProperties\": [], \"traceEvents\": [{\"cat\": \"COLL\"}"},
    {"", "0 init of something\n"},
    {"", "0 send it away\n"},
    {"", "num_ranks: 4\n"},
    {"", ""},
    {"", "hello"},
    {"", "DATA\nx\n"},
    {"", "DATA"},
    {"", "digraph {}"},
    {"", "<svg/>"},
    {"", "{\"nodes\": []}"},
    {"", "[1, 2]"}};

TEST(Kinds, AreToldByTheirBeginning) {
  for (const auto& [name, head] : kSamples) {
    const Row* const row = recognise(head, kAllGroups);
    EXPECT_EQ(name_of(row), name) << head;
    if (row) EXPECT_EQ(recognise(head, row->group), row) << head;
  }
}

TEST(Kinds, OfAFileThenByItsName) {
  chakra::testing::TemporaryFolder folder;
  for (const auto& [name, head] : kSamples) {
    const auto row = recognise(folder.write("some.file", head));
    ASSERT_TRUE(row);
    EXPECT_EQ(name_of(*row), name) << head;
  }
  EXPECT_EQ(name_of(*recognise(folder.write("ranks.json", "{}"))), "ranks");
  EXPECT_EQ(name_of(*recognise(folder.write("other.json", "{}"))), "");
  EXPECT_EQ(chakra::testing::tag_of(recognise(folder.path("absent"))), "base.file.open");
}

TEST(Kinds, NoBeginningHarmsThem) {
  Prng random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string head(random.below(40), '\0');
    for (char& c : head)
      c = random.chance(0.5) ? "{\"\n <\x08\x0a\x12"[random.below(8)] : static_cast<char>(random.next());
    (void)recognise(head, kAllGroups);
  }
}

}  // namespace
}  // namespace chakra::filetype
