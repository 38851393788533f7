// The example of docs/how-to/building_traces.md: it compiles, its job is sound, and the page shows exactly this code.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/check/check.h"
// page
#include "chakra/io/io.h"
#include "chakra/trace/trace.h"
// end

namespace {

// page
chakra::trace::Trace build_rank(int64_t rank) {
  using namespace chakra;
  trace::Builder builder;
  trace::Trace& t = builder.trace;  // columns without edges may be filled in directly
  t.rank = rank;
  t.says_rank = true;
  t.groups.push_back({"1", "everybody", "", {0, 1}, 2});

  // A computation of 25 us on the device.
  const trace::NodeId compute = builder.add(0, t.strings.intern("forward"), trace::NodeType::comp);
  t.flags.edit(compute) |= trace::kSaysCpuOrNot | trace::kHasDuration;  // says: not on the CPU
  t.dur_ps.edit(compute) = 25 * kPsPerUs;
  builder.attr({t.strings.intern("layer"), int64_t{0}});  // of the node added last

  // A collective of the group, once the computation is done.
  const trace::NodeId reduce = builder.add(1, t.strings.intern("gradients"), trace::NodeType::coll);
  trace::Comm& collective = builder.comm(reduce);
  collective.type = trace::CommType::all_reduce;
  collective.bytes = 1 << 20;  // what this rank puts in
  collective.group = t.strings.intern("1");
  builder.dep(reduce, compute, static_cast<uint8_t>(trace::EdgeKind::data));

  // A message from rank 0 to rank 1: a node on each, with the same tag.
  const trace::NodeId message =
      builder.add(2, t.strings.intern("hello"), rank == 0 ? trace::NodeType::send : trace::NodeType::recv);
  trace::Comm& end = builder.comm(message);
  end.bytes = 4096;
  end.src = 0;
  end.dst = 1;
  end.tag = 7;
  // At the earliest 2 us after the collective.
  builder.dep(message, reduce, static_cast<uint8_t>(trace::EdgeKind::program), 2 * kPsPerUs);

  return std::move(builder).finish();
}

chakra::Result<void> build_job(const std::string& prefix) {
  for (int64_t rank = 0; rank < 2; ++rank)
    CHAKRA_TRY(chakra::io::write_et(build_rank(rank), prefix + "." + std::to_string(rank) + ".et"));
  return {};
}
// end

TEST(BuildingTraces, TheExampleMakesASoundJob) {
  chakra::testing::TemporaryFolder folder;
  const auto built = build_job(folder.path("job"));
  ASSERT_TRUE(built) << built.error().message();
  const auto job = chakra::io::read_job(folder.path("job"));
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->ranks.size(), 2U);
  EXPECT_EQ(job->ranks[1].size(), 3U);
  for (const chakra::Finding& finding : chakra::check::check(*job)) ADD_FAILURE() << finding.text;
}

TEST(BuildingTraces, ThePageShowsThisCode) {
  const std::string page = chakra::testing::must_read("docs/how-to/building_traces.md");
  const std::string source = chakra::testing::must_read("chakra/cli/building_traces_test.cpp");
  const std::string begin = "// page\n", end = "// end\n";
  std::string shown;
  for (size_t at = source.find("\n" + begin); at != std::string::npos; at = source.find("\n" + begin, at)) {
    at += begin.size() + 1;
    if (!shown.empty()) shown += "\n";
    shown += source.substr(at, source.find(end, at) - at);
  }
  EXPECT_NE(page.find("```cpp\n" + shown + "```"), std::string::npos);
}

}  // namespace
