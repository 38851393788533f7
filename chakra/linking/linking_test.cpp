// The call that links a job, on the recorded example.
#include "chakra/linking/linking.h"

#include <gtest/gtest.h>

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
