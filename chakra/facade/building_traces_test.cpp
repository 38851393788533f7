// The example of docs/how-to/building_traces.md: it compiles, its job is sound, and the page shows exactly this code.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/chakra.h"
#include "chakra/trace.h"

namespace {

// page
chakra::Result<chakra::Trace> build_rank(int64_t rank) {
  chakra::Builder builder(rank);
  builder.group("dp", {0, 1});

  // A computation of 25 us on stream 7 of device 0.
  const uint32_t forward = builder.compute("forward", 25'000'000);
  builder.on_stream(0, 7).attribute("layer", 0);  // of the node made last

  // A collective of the group, once the computation is done: 1 MiB from each rank.
  const uint32_t reduce =
      builder.communicate("gradients", {.type = chakra::CommType::all_reduce, .bytes = 1 << 20, .group = "dp"});
  builder.wait(reduce, forward);

  // A message from rank 0 to rank 1: a node on each, with the same tag. It starts 2 us after the collective.
  const uint32_t message = rank == 0 ? builder.send("hello", 1, 4096, 7) : builder.receive("hello", 0, 4096, 7);
  builder.wait(message, reduce, chakra::EdgeKind::program, 2'000'000);
  return builder.finish();
}

chakra::Result<void> build_job(const std::string& prefix) {
  std::vector<chakra::Trace> ranks;
  for (int64_t rank = 0; rank < 2; ++rank) {
    CHAKRA_ASSIGN(chakra::Trace trace, build_rank(rank));
    ranks.push_back(trace);
  }
  CHAKRA_ASSIGN(const chakra::Job job, chakra::Job::from(ranks));
  CHAKRA_TRY(job.write(prefix));
  return {};
}
// end

TEST(BuildingTraces, TheExampleMakesASoundJob) {
  chakra::testing::TemporaryFolder folder;
  const auto built = build_job(folder.path("job"));
  ASSERT_TRUE(built) << built.error().message();
  const auto job = chakra::open(folder.path("job"));
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(*job->ranks(), (std::vector<int64_t>{0, 1}));
  const auto trace = job->trace(1);
  ASSERT_TRUE(trace) << trace.error().message();
  EXPECT_EQ(trace->size(), 3U);
  EXPECT_EQ(trace->dur_ps()[0], 25'000'000);
  EXPECT_EQ(trace->attribute(0, "layer"), "0");
  EXPECT_EQ(trace->communication(1)->group, "dp");
  EXPECT_EQ(trace->edge_lag_ps(2, 0), 2'000'000);
  const auto checked = job->check();
  ASSERT_TRUE(checked) << checked.error().message();
  for (const chakra::Finding& finding : checked->findings()) ADD_FAILURE() << finding.text;
}

TEST(BuildingTraces, ThePageShowsThisCode) {
  const std::string page = chakra::testing::must_read("docs/how-to/building_traces.md");
  const std::string source = chakra::testing::must_read("chakra/facade/building_traces_test.cpp");
  const std::string begin = "\n// page\n", end = "// end\n";
  const size_t at = source.find(begin) + begin.size();
  const std::string shown = source.substr(at, source.find(end, at) - at);
  EXPECT_NE(page.find("#include <chakra/trace.h>\n\n" + shown + "```"), std::string::npos);
}

}  // namespace
