// The calls that change the form of files, on the recorded example job and a text workload.
#include "chakra/convert/convert.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"
#include "chakra/linking/linking.h"
#include "chakra/view/testing/shown.h"

namespace chakra::convert {
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
    auto linked =
        linking::link_job({.inputs = {kRecordings}, .output = traces(), .link = {}, .explain = {}, .max_error = {}});
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
  EXPECT_EQ(view::testing::shown(*back),
            folder_.path("back.1.et") + ": 1 rank, " + show_count(*back->nodes) + " nodes\n");
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
  EXPECT_TRUE(view::testing::shown(*added).ends_with(" added\n"));
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
  EXPECT_TRUE(contains(view::testing::shown(*imported), "2 ranks"));
  EXPECT_TRUE(contains(to_json_text(answer_of(*imported)), "\"outputs\""));
  o.report = imported->outputs[0];
  EXPECT_EQ(tag_of(import_job(o)), "cli.usage");
  o.report = "";
  o.read.coll_bytes = 4096;
  EXPECT_EQ(tag_of(import_job(o)), "cli.usage");
}

}  // namespace
}  // namespace chakra::convert
