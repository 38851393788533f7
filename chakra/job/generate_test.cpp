// Generated jobs among other files: nothing that is there becomes a part of the job, and nothing is lost.
#include "chakra/job/generate.h"

#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/gen/gen.h"
#include "chakra/io/io.h"

namespace chakra::job {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

trace::ClassJob two_ranks() {
  gen::StepOptions o;
  o.model.layers.resize(1);
  o.dp = 2;
  return gen::step(o).value();
}

TEST(Generate, WritesEitherFormAndOnlyReplacesTheSame) {
  const TemporaryFolder folder;
  const trace::ClassJob job = two_ranks();
  const auto write = [&](const std::string& to, bool all_ranks, const std::string& report = {}) {
    return generate_job(job, {.output = folder.path(to), .name = "step", .all_ranks = all_ranks, .report = report});
  };
  const auto classes = write("classes", false), all = write("all", true), none = generate_job(job, {{}, "step"});
  ASSERT_TRUE(classes && all && none);
  EXPECT_EQ(classes->ranks, 2U);
  EXPECT_EQ(classes->classes, 1U);
  EXPECT_EQ(classes->most_nodes, job.classes[0].size());
  EXPECT_EQ(io::read_job(folder.path("classes"))->ranks.size(), 2U);
  EXPECT_TRUE(is_file(folder.path("all") + "/step.1.et"));
  EXPECT_EQ(to_text(*none, "dp 2").substr(0, 24), "step: 2 ranks (dp 2) in ");
  EXPECT_TRUE(write("classes", false));
  EXPECT_TRUE(write("all", true));
  EXPECT_EQ(tag_of(write("classes", true)), "cli.usage");
  EXPECT_EQ(tag_of(write("all", false)), "cli.usage");
  EXPECT_EQ(tag_of(write("new", false, folder.path("new") + "/ranks.json")), "cli.usage");
  EXPECT_EQ(tag_of(write("new", true, folder.path("new") + "/step.0.et")), "cli.usage");
  EXPECT_TRUE(write("new", true, folder.path("new") + "/report.json"));
}

}  // namespace
}  // namespace chakra::job
