// Which recordings belong together: every host trace with every Kineto trace of the recordings that we have.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "chakra/base/testing/testing.h"
#include "chakra/link/link.h"
#include "chakra/link/matching.h"

namespace chakra::link {
namespace {

using chakra::testing::TemporaryFolder;

TEST(NamesAgree, AsKinetoWritesThem) {
  EXPECT_TRUE(names_agree("aten::mm", "aten::mm"));
  EXPECT_TRUE(names_agree("two\nlines\n", "twolines"));
  EXPECT_TRUE(names_agree("back\\slash \"x\"", "back/slash 'x'"));
  EXPECT_TRUE(names_agree("back\\slash \"x\"", "back/slash \"x\""));
  EXPECT_TRUE(names_agree("f\xc3\xbcr", "unknown"));
  EXPECT_TRUE(names_agree("tab\tx", "unknown"));
  EXPECT_TRUE(names_agree("", ""));
  EXPECT_FALSE(names_agree("plain", "unknown"));
  EXPECT_FALSE(names_agree("aten::mm", "aten::mm_"));
  EXPECT_FALSE(names_agree("aten::mm_", "aten::mm"));
  EXPECT_FALSE(names_agree("a/b", "a\\b"));
  EXPECT_FALSE(names_agree("a", ""));
}

struct Recorded {
  std::string job;
  int rank;
};

/// Ranks of jobs of several kinds, and two runs of one script.
const std::vector<Recorded>& recorded() {
  static const std::vector<Recorded> all{{"Pasync_base-2.6.0", 0}, {"Pasync_base-2.6.0", 1}, {"Pasync_delay1-2.6.0", 0},
                                         {"async-2.6.0", 0},       {"batchp2p-2.6.0", 1},    {"funcol-2.6.0", 0},
                                         {"mesh-2.6.0", 0},        {"mesh-2.6.0", 3},        {"moe-2.6.0", 2},
                                         {"threads-2.6.0", 0}};
  return all;
}

RankInput input_of(const Recorded& host, const Recorded& device) {
  const std::string folder = chakra::testing::data_folder() + "/recorded/";
  RankInput input;  // whose names say nothing about ranks
  input.host = fmt::format("{}{}/host.{}.json.gz", folder, host.job, host.rank);
  input.device = fmt::format("{}{}/device.{}.json.gz", folder, device.job, device.rank);
  return input;
}

bool has(const LinkingReport& report, std::string_view tag) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) { return f.tag == tag; });
}

TEST(WrongPairs, AreRefusedOrNamed) {
  CHAKRA_NEEDS_DATA();
  int refused = 0, named = 0;
  for (const Recorded& host : recorded())
    for (const Recorded& device : recorded()) {
      const std::string which = fmt::format("{} {} with {} {}", host.job, host.rank, device.job, device.rank);
      const Result<Linked> linked = link_rank(input_of(host, device));
      if (host.job == device.job && host.rank == device.rank) {
        EXPECT_TRUE(linked) << which << ": " << linked.error().message();
        continue;
      }
      if (!linked) {
        const std::string& tag = linked.error().tag;
        EXPECT_TRUE(tag == "pytorch.match.low" || tag == "pytorch.pair.process" || tag == "pytorch.pair.rank")
            << which << ": " << linked.error().message();
        ++refused;
        continue;
      }
      // Another run of the same program, at another time: all operators match.
      EXPECT_TRUE(host.job != device.job && host.job.starts_with("Pasync") && device.job.starts_with("Pasync"))
          << which;
      EXPECT_TRUE(has(linked->report, "pytorch.pair.other_process")) << which;
      ++named;
    }
  EXPECT_EQ(refused + named, 10 * 9);
  EXPECT_LE(named, 4);
}

/// A pair of twenty operators each, of which the last `fewer` are missing in the Kineto trace.
Result<Linked> link_small(const TemporaryFolder& folder, const char* host_members, int64_t device_pid, int fewer) {
  std::string nodes = "{\"id\": 1, \"name\": \"[pytorch|profiler|execution_trace|process]\", \"ctrl_deps\": 1}", events;
  for (int i = 0; i < 20; ++i) {
    nodes += fmt::format(
        ", {{\"id\": {}, \"name\": \"op{}\", \"ctrl_deps\": 1, \"attrs\": [{{\"name\": \"rf_id\", \"type\": "
        "\"uint64\", \"value\": {}}}]}}",
        i + 2, i % 7, i + 1);
    if (i < 20 - fewer)
      events += fmt::format(
          "{}{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op{}\", \"pid\": {}, \"tid\": 1, \"ts\": {}, "
          "\"dur\": 5, \"args\": {{\"Record function id\": {}}}}}",
          i == 0 ? "" : ", ", i % 7, device_pid, 10 * i, i + 1);
  }
  const RankInput input{0, false, folder.path("host.json"), folder.path("device.json")};
  EXPECT_TRUE(write_file(
      input.host, fmt::format("{{\"schema\": \"1.1.1-chakra.0.0.4\", {}\"nodes\": [{}]}}", host_members, nodes)));
  // 2023-11-14 22:13:20 UTC
  EXPECT_TRUE(write_file(
      input.device, fmt::format("{{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": [{}]}}", events)));
  return link_rank(input);
}

TEST(Processes, TellRunsApart) {
  const TemporaryFolder folder;
  struct Row {
    const char* host;
    int64_t device_pid;
    int fewer;
    const char* tag;      ///< of the error
    const char* finding;  ///< where there is none
  };
  constexpr const char* kNone = "";
  const std::vector<Row> rows{
      {"", 7, 0, kNone, kNone},  // not said
      {"\"pid\": 7, ", 7, 0, kNone, kNone},
      {"\"pid\": 7, ", 7, 5, kNone, "pytorch.match.part"},
      {"\"pid\": 8, ", 7, 0, kNone, "pytorch.pair.other_process"},
      {"\"pid\": 8, ", 7, 5, "pytorch.pair.process", kNone},
      // at the same time, in three zones; two hours and a minute earlier
      {"\"pid\": 8, \"time\": \"2023-11-14 22:13:19\", \"start_ts\": 5, \"finish_ts\": 3005, ", 7, 0,
       "pytorch.pair.process", kNone},
      {"\"pid\": 8, \"time\": \"2023-11-15 03:43:18\", \"start_ts\": 5, \"finish_ts\": 3005, ", 7, 0,
       "pytorch.pair.process", kNone},
      {"\"pid\": 8, \"time\": \"2023-11-14 14:13:20\", \"start_ts\": 5, \"finish_ts\": 3005, ", 7, 0,
       "pytorch.pair.process", kNone},
      {"\"pid\": 8, \"time\": \"2023-11-14 20:12:20\", \"start_ts\": 5, \"finish_ts\": 3005, ", 7, 0, kNone,
       "pytorch.pair.other_process"},
      // times that are none
      {"\"pid\": 8, \"time\": \"2023-13-44 22:13:20\", \"start_ts\": 9, \"finish_ts\": 1, ", 7, 0, kNone,
       "pytorch.pair.other_process"},
      {"\"pid\": 8, \"time\": \"9999999999999999999\", ", 7, 0, kNone, "pytorch.pair.other_process"},
  };
  for (const Row& row : rows) {
    const Result<Linked> linked = link_small(folder, row.host, row.device_pid, row.fewer);
    EXPECT_EQ(chakra::testing::tag_of(linked), row.tag) << row.host;
    if (linked && row.finding[0] != '\0') EXPECT_TRUE(has(linked->report, row.finding)) << row.host;
    if (linked && row.finding[0] == '\0') EXPECT_FALSE(has(linked->report, "pytorch.pair.other_process")) << row.host;
  }
}

/// One step of a host trace: two matrix multiplications of `host` rows. The Kineto trace, without ids, repeats the step
/// with the numbers of rows in `kineto`, each time 10 us longer.
Result<Linked> link_steps(const TemporaryFolder& folder, int host, const std::vector<int>& kineto,
                          const LinkOptions& options = {}) {
  std::string nodes = "{\"id\": 1, \"name\": \"[pytorch|profiler|execution_trace|process]\", \"ctrl_deps\": 1}", events;
  for (int i = 0; i < 2; ++i)
    nodes += fmt::format(
        ", {{\"id\": {}, \"name\": \"aten::mm\", \"ctrl_deps\": 1, \"inputs\": {{\"values\": [[{}, 8, 0, 6, 4, "
        "\"cpu\"], [9, 9, 0, 6, 4, \"cpu\"]], \"shapes\": [[{}, 3], [3, 5]], \"types\": [\"Tensor(float)\", "
        "\"Tensor(float)\"]}}, \"outputs\": {{\"values\": [], \"shapes\": [], \"types\": []}}}}",
        i + 2, i + 10, host);
  for (size_t step = 0; step < kineto.size(); ++step)
    for (int i = 0; i < 2; ++i)
      events += fmt::format(
          "{}{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 7, \"tid\": 1, \"ts\": {}, "
          "\"dur\": {}, \"args\": {{\"Input Dims\": [[{}, 3], [3, 5]], \"Input type\": [\"float\", \"float\"]}}}}",
          events.empty() ? "" : ", ", 1000 * step + 500 * static_cast<size_t>(i), 10 * (step + 1), kineto[step]);
  const RankInput input{0, false, folder.path("host.json"), folder.path("device.json")};
  EXPECT_TRUE(write_file(input.host, fmt::format("{{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [{}]}}", nodes)));
  EXPECT_TRUE(write_file(input.device, fmt::format("{{\"traceEvents\": [{}]}}", events)));
  return link_rank(input, options);
}

TEST(OtherSteps, OfEqualShapesAreLinked) {
  const TemporaryFolder folder;
  struct Row {
    int host;
    std::vector<int> kineto;
    int64_t iteration, operations;  ///< 2 x rows x 3 x 5 operations each
    bool warns;
  };
  const std::vector<Row> rows{
      {4, {4, 4, 4}, 1, 2 * 4 * 30, false}, {4, {4, 8, 8}, 0, 2 * 4 * 30, false}, {4, {8, 8, 4}, 2, 2 * 4 * 30, false},
      {4, {8}, -1, 2 * 8 * 30, true},       {4, {16, 8, 2}, 1, 2 * 8 * 30, true},
  };
  for (const Row& row : rows) {
    const Result<Linked> linked = link_steps(folder, row.host, row.kineto);
    ASSERT_TRUE(linked) << linked.error().message();
    EXPECT_EQ(linked->report.iteration, row.iteration);
    EXPECT_EQ(static_cast<int64_t>(linked->report.work.operations), row.operations);
    EXPECT_EQ(has(linked->report, "pytorch.match.shapes"), row.warns);
  }
  LinkOptions second;
  second.iteration = 1;
  const Result<Linked> linked = link_steps(folder, 4, {4, 8}, second);
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_TRUE(has(linked->report, "pytorch.match.shapes"));
  EXPECT_EQ(linked->report.work.operations, 2U * 8 * 30);
}

TEST(EmptyHostTrace, IsRefused) {
  const TemporaryFolder folder;
  const RankInput input{0, false, folder.path("host.json"), ""};
  ASSERT_TRUE(write_file(input.host,
                         "{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [{\"id\": 1, \"name\": "
                         "\"[pytorch|profiler|execution_trace|process]\", \"ctrl_deps\": 1}]}"));
  EXPECT_EQ(chakra::testing::tag_of(link_rank(input)), "pytorch.host.nothing");
}

/// Ranks of one job may be named in a way that nobody understands: what is in the files has to do.
TEST(WrongPairs, RankThatTheUserNames) {
  CHAKRA_NEEDS_DATA();
  const RankInput input = input_of({"Pasync_base-2.6.0", 0}, {"Pasync_base-2.6.0", 1});
  EXPECT_EQ(chakra::testing::tag_of(link_rank(input)), "pytorch.pair.process");
  LinkOptions options;
  options.rank = 0;
  const Result<Linked> linked = link_rank(input, options);
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_TRUE(has(linked->report, "pytorch.pair.other_process"));
}

}  // namespace
}  // namespace chakra::link
