// The calls that change the form of files or say what is in them: on the recorded example job and a text workload.
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"
#include "chakra/job/testing/shown.h"

namespace chakra::job {
namespace {

using chakra::testing::must_read;
using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

constexpr const char* kRecordings = "examples/traces/ddp_gloo_2ranks";
constexpr const char* kWorkload =
    "MICRO\n"
    "2\n"
    "conv1 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1024 10\n"
    "conv2 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 2048 10\n";

/// The example job, linked once.
class Files : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new TemporaryFolder;
    auto linked = link_job({.inputs = {kRecordings}, .output = traces(), .link = {}, .explain = {}, .max_error = {}});
    ASSERT_TRUE(linked) << linked.error().message();
    ASSERT_TRUE(linked->commit());
  }
  static void TearDownTestSuite() { delete shared_; }

  static std::string traces() { return shared_->path("traces"); }
  static std::string trace(int rank) { return traces() + "/trace." + std::to_string(rank) + ".et"; }
  TemporaryFolder folder_;

 private:
  static TemporaryFolder* shared_;
};
TemporaryFolder* Files::shared_ = nullptr;

TEST_F(Files, AreConvertedThereAndBack) {
  const auto json = convert_job({.paths = {traces()}, .output = folder_.path("json/"), .to = "jsonl"});
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ(json->ranks, 2u);
  EXPECT_EQ(json->outputs,
            (std::vector<std::string>{folder_.path("json/trace.0.jsonl"), folder_.path("json/trace.1.jsonl")}));
  const auto back = convert_job({.paths = {json->outputs[1]}, .output = folder_.path("back.1.et")});
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(must_read(back->outputs[0]), must_read(trace(1)));
  EXPECT_EQ(shown(*back), folder_.path("back.1.et") + ": 1 rank, " + show_count(*back->nodes) + " nodes\n");
}

TEST_F(Files, AreNotConvertedOntoThemselvesNorFromRecordings) {
  EXPECT_EQ(tag_of(convert_job({.paths = {trace(0)}, .output = trace(0)})), "cli.usage");
  EXPECT_EQ(tag_of(convert_job({.paths = {trace(0)}, .output = folder_.path("x"), .to = "eg"})), "cli.usage");
  EXPECT_EQ(tag_of(convert_job({.paths = {trace(0), trace(0)}, .output = folder_.path("x.et")})), "io.job.rank_twice");
  const std::string recording = folder_.write("kineto.json", "\n {\"schemaVersion\": 1, \"traceEvents\": []}");
  EXPECT_EQ(tag_of(convert_job({.paths = {recording}, .output = folder_.path("x.et")})), "cli.convert.recording");
  EXPECT_FALSE(is_file(folder_.path("x.et")));
}

TEST_F(Files, ArePackedAndUnpacked) {
  const std::string container = folder_.path("job.chakra");
  const auto packed = pack_job({.paths = {trace(0)}, .output = container});
  ASSERT_TRUE(packed) << packed.error().message();
  const auto added = pack_job({.paths = {trace(1)}, .output = container, .append = true});
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_TRUE(shown(*added).ends_with(" added\n"));
  EXPECT_EQ(tag_of(pack_job({.paths = {trace(0)}, .output = container, .report = container})), "cli.usage");

  const auto stats = container_stats(container);
  ASSERT_TRUE(stats) << stats.error().message();
  ASSERT_EQ(stats->ranks.size(), 2u);
  EXPECT_EQ(stats->nodes, packed->nodes + added->nodes);
  EXPECT_EQ(stats->bytes, static_cast<int64_t>(file_size(container)));
  EXPECT_LT(stats->ranks[1].touched_window, stats->ranks[1].touched);
  EXPECT_TRUE(contains(to_json_text(answer_of(*stats)), "\"touched_bytes_100_nodes\""));

  const auto unpacked = unpack_job({.path = container, .output = folder_.path("out"), .ranks = {1}});
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  ASSERT_EQ(unpacked->outputs.size(), 1u);
  EXPECT_EQ(must_read(unpacked->outputs[0]), must_read(trace(1)));
  const auto window =
      unpack_job({.path = container, .output = folder_.path("some"), .nodes = "100:7", .to = "json.gz"});
  ASSERT_TRUE(window) << window.error().message();
  EXPECT_EQ(window->nodes, 14);
  EXPECT_EQ(tag_of(unpack_job({.path = container, .output = "x", .nodes = "7:"})), "cli.usage");
  EXPECT_EQ(tag_of(unpack_job({.path = container, .output = "x", .to = "et.xz"})), "cli.usage");
}

TEST_F(Files, AreImported) {
  ImportOptions o{.input = folder_.write("work.txt", kWorkload), .output = folder_.path("work/")};
  o.read.num_npus = 2;
  auto imported = import_job(o);
  ASSERT_TRUE(imported) << imported.error().message();
  EXPECT_EQ(imported->ranks, 2u);
  ASSERT_EQ(imported->outputs.size(), 2u);
  EXPECT_FALSE(is_file(imported->outputs[0]));
  ASSERT_TRUE(imported->commit());
  const auto trace = io::read_et(imported->outputs[1]);
  ASSERT_TRUE(trace) << trace.error().message();
  EXPECT_EQ(2 * trace->size(), imported->nodes);
  EXPECT_TRUE(contains(shown(*imported), "2 ranks"));
  EXPECT_TRUE(contains(to_json_text(answer_of(*imported)), "\"outputs\""));
  o.report = imported->outputs[0];
  EXPECT_EQ(tag_of(import_job(o)), "cli.usage");
  o.report = "";
  o.read.coll_bytes = 4096;
  EXPECT_EQ(tag_of(import_job(o)), "cli.usage");
}

TEST_F(Files, AreSummarized) {
  const auto summary = summarize_job(traces());
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_EQ(summary->traces.size(), 2u);
  const analyze::TraceSummary& one = summary->traces[1];
  EXPECT_EQ(one.rank, 1);
  int64_t nodes = 0;
  for (const auto& [type, count] : one.types) nodes += count;
  EXPECT_EQ(nodes, one.nodes);
  EXPECT_FALSE(one.communication.empty());
  ASSERT_TRUE(one.replay);
  EXPECT_GT(one.replay->measured_ps, 0);
  EXPECT_TRUE(contains(shown(*summary), "trace.1.et: rank 1\n  nodes          "));
  EXPECT_TRUE(contains(to_json_text(answer_of(*summary)), "\"replayed_ns\""));
}

TEST_F(Files, AreCompared) {
  const auto same = diff_jobs({.a = trace(0), .b = trace(0), .threshold = 5});
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_TRUE(same->exceeding.empty());
  EXPECT_FALSE(same->diff.rows.empty());
  EXPECT_TRUE(contains(shown(*same), "no kind of node differs"));
  const auto diff = diff_jobs({.a = traces(), .b = trace(0), .threshold = 5});
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_EQ(diff->ranks_a, 2u);
  EXPECT_GT(diff->diff.removed, 0);
  EXPECT_FALSE(diff->exceeding.empty());
  EXPECT_TRUE(contains(to_json_text(answer_of(*diff)), "\"threshold_percent\": 5"));
}

TEST(Kinds, AreTablesOfTextsByName) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const result::Table table = kKinds[i].table();
    EXPECT_TRUE(i == 0 || kKinds[i - 1].name < kKinds[i].name);
    ASSERT_FALSE(table.rows.empty()) << kKinds[i].name;
    for (const auto& row : table.rows) {
      ASSERT_EQ(row.size(), table.columns.size());
      for (const result::Table::Cell& cell : row) EXPECT_TRUE(std::holds_alternative<std::string>(cell));
    }
  }
}

/// A name of metadata that comes twice is one member, whatever it is called; numbers are exact.
TEST(Answers, MetadataIsOneObject) {
  JobSummary job{"a", false, 1, 0, {}};
  job.traces.emplace_back().metadata = {
      {"a.b", int64_t{1}}, {"most", UINT64_MAX}, {"a.b", std::string("two")}, {"", true}};
  EXPECT_TRUE(contains(to_json_text(answer_of(job)), R"("metadata": {
        "a.b": "two",
        "most": 18446744073709551615,
        "": true
      },)"))
      << to_json_text(answer_of(job));
}

/// Of one rank nothing is said about several; of several what they say together.
TEST(Answers, OfARankAndOfSeveral) {
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

/// Clauses, as --help has them: without a capital letter that begins them and without a full stop.
TEST(Kinds, ResultsSayTheirMeaning) {
  const result::Table table = find_row(kKinds, "results")->table();
  const auto text = [&](size_t row, size_t column) { return std::get<std::string>(table.rows[row][column]); };
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const std::string key = text(row, 0) + " " + text(row, 1), meaning = text(row, 5);
    ASSERT_FALSE(meaning.empty()) << key;
    EXPECT_FALSE(meaning.ends_with('.')) << key;
    EXPECT_FALSE(meaning[0] >= 'A' && meaning[0] <= 'Z' && meaning[1] >= 'a' && meaning[1] <= 'z') << key;
    if (key.ends_with("_ns") && row + 1 < table.rows.size() && text(row + 1, 2) == "ps") {
      EXPECT_EQ(text(row, 0) + " " + answer::key_of_ns(text(row + 1, 1)), key);
    }
  }
}

}  // namespace
}  // namespace chakra::job
