// The call that links a job, on the recorded example.
#include "chakra/linking/linking.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "chakra/base/testing/testing.h"

namespace chakra::linking {
namespace {

using chakra::testing::TemporaryFolder;

TEST(LinkedJob, IsComparedAndWrittenTogether) {
  const TemporaryFolder folder;
  auto linked = link_job({.inputs = {"examples/traces/ddp_gloo_2ranks"},
                          .output = folder.path("traces"),
                          .link = {},
                          .explain = {},
                          .max_error = {}});
  ASSERT_TRUE(linked) << linked.error().message();
  ASSERT_EQ(linked->ranks.size(), 2u);
  EXPECT_EQ(linked->ranks[1].rank, 1);
  EXPECT_TRUE(linked->mismatches.empty());
  ASSERT_TRUE(linked->replay);
  EXPECT_EQ(linked->replays.size(), 3u);  // each rank, and the job
  EXPECT_FALSE(is_file(linked->ranks[0].output));
  ASSERT_TRUE(linked->commit());
  EXPECT_TRUE(is_file(linked->ranks[0].output));
  EXPECT_TRUE(is_file(linked->ranks[1].output));
}

/// A host trace of one iteration, and a Kineto trace without ids of as many as there are durations.
void write_rank(const TemporaryFolder& folder, int rank, const std::vector<int>& durations_us) {
  std::string nodes = R"({"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1, "attrs": []})",
              events;
  for (int id = 2; id < 4; ++id)
    nodes += fmt::format(R"(, {{"id": {}, "name": "op{}", "ctrl_deps": 1, "attrs": []}})", id, id);
  for (size_t i = 0; i < durations_us.size(); ++i)
    for (int op = 2; op < 4; ++op)
      events +=
          fmt::format(R"({}{{"ph": "X", "cat": "cpu_op", "name": "op{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}}})",
                      events.empty() ? "" : ", ", op, 1000 * i + (op - 2) * 400u, op == 3 ? durations_us[i] : 10);
  std::ofstream(folder.path(fmt::format("host.{}.json", rank)))
      << fmt::format(R"({{"schema": "1.0.1", "rank": {}, "nodes": [{}]}})", rank, nodes);
  std::ofstream(folder.path(fmt::format("device.{}.json", rank)))
      << fmt::format(R"({{"traceEvents": [{}], "distributedInfo": {{"rank": {}, "world_size": 2}}}})", events, rank);
}

/// Alone, rank 0 would take iteration 2 (20 us) and rank 1 iteration 1 (20 us); together, iteration 1 is in the middle.
TEST(LinkedJob, LinksTheSameIterationOfAllRanks) {
  const TemporaryFolder folder;
  const auto link = [&](std::optional<int64_t> iteration) {
    link::LinkOptions options;
    options.iteration = iteration;
    return link_job({.inputs = {folder.path("")},
                     .output = folder.path("traces"),
                     .link = options,
                     .explain = {},
                     .max_error = {}});
  };
  const auto has = [](const Findings& findings, std::string_view tag) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.tag == tag; });
  };
  const auto iterations = [](const LinkedJob& job) {
    return std::vector<int64_t>{job.ranks[0].report.iteration, job.ranks[1].report.iteration};
  };
  write_rank(folder, 0, {10, 30, 20});
  write_rank(folder, 1, {10, 20, 35});
  auto linked = link({});
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(iterations(*linked), (std::vector<int64_t>{1, 1}));
  EXPECT_FALSE(has(linked->findings, "recorded.iterations"));
  linked = link(2);
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(iterations(*linked), (std::vector<int64_t>{2, 2}));

  write_rank(folder, 1, {20, 35});  // other numbers of iterations: nobody knows which are the same
  linked = link({});
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(iterations(*linked), (std::vector<int64_t>{2, 0}));
  EXPECT_TRUE(has(linked->findings, "recorded.iterations"));
}

/// Of one rank nothing is said about several; of several what they say together.
TEST(LinkedJob, AnswersForARankAndForSeveral) {
  LinkedJob linked;
  linked.ranks.resize(1);
  EXPECT_FALSE(contains(to_json_text(answer_of(linked)), "\"job\""));
  linked.ranks.resize(2);
  linked.times.clocks = {{.rank = 1, .known = false}};
  linked.mismatches = {{"check.comm.order", Severity::error, 1, 2, "differs", {{"index", int64_t{3}}}}};
  const std::string text = to_json_text(answer_of(linked));
  EXPECT_TRUE(contains(text, "\"job\": {\n    \"mismatches\": [")) << text;
  EXPECT_TRUE(contains(text, "\"index\": 3")) << text;
  EXPECT_TRUE(contains(text, "\"offset_ns\": null")) << text;
  EXPECT_FALSE(contains(text, "\"measured\"")) << text;
}

}  // namespace
}  // namespace chakra::linking
