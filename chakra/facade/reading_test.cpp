// Ranks that are read side by side: the job, its shared memory and its errors are those of reading one by one.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/convert/convert.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/generate.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/trace/share.h"

namespace chakra::facade {
namespace {

using chakra::testing::must_read;
using chakra::testing::TemporaryFolder;

class Reading : public ::testing::Test {
 protected:
  Reading() {
    gen::StepOptions o;
    o.model.layers.resize(2);
    o.dp = 4, o.tp = 2;
    EXPECT_TRUE(generate::generate_job(gen::step(o).value(),
                                       {.output = folder_.path("job"), .name = "step", .all_ranks = true}));
  }
  ~Reading() override { limit_cores(0); }

  std::string bytes_with(int64_t cores, const std::string& path) {
    limit_cores(cores);
    const auto job = job::read_job(path, {}, {.texts = true});
    if (!job) return job.error().message();
    std::string all;
    for (const trace::Trace& t : job->ranks) all += fmt::format("{} {}\n{}", t.file, t.rank, io::to_et(t));
    return all;
  }
  TemporaryFolder folder_;
};

TEST_F(Reading, IsTheSameForAnyNumberOfCores) {
  limit_cores(1);
  const auto one = io::read_job(folder_.path("job"), {.texts = true});
  ASSERT_TRUE(one);
  std::string expected;
  for (const trace::Trace& t : one->ranks) expected += fmt::format("{} {}\n{}", t.file, t.rank, io::to_et(t));
  for (const int64_t cores : {1, 2, 16}) EXPECT_EQ(bytes_with(cores, folder_.path("job")), expected) << cores;
}

/// A trace without a rank: 100 computations of that many microseconds.
std::string trace_of(char micros) {
  std::string bytes(1, '\0');  // metadata without fields
  for (char id = 1; id <= 100; ++id)
    bytes += std::string{9, 0x08, id, 0x12, 0x01, 'n', 0x18, 0x04, 0x38, micros};  // id, name, type, duration
  return bytes;
}

TEST_F(Reading, ReadsEqualFilesOnceAndSharesEqualColumns) {
  for (int rank = 0; rank < 9; ++rank) folder_.write(fmt::format("equal/t.{}.et", rank), trace_of(rank < 5 ? 1 : 2));
  limit_cores(3);
  const auto job = job::read_job(folder_.path("equal"), {}, {});
  ASSERT_TRUE(job) << job.error().message();
  for (size_t r = 0; r < job->ranks.size(); ++r) {
    const trace::Trace& t = job->ranks[r];
    EXPECT_EQ(t.size(), 100U);
    EXPECT_EQ(t.dur_ps[99], (r < 5 ? 1 : 2) * int64_t{1'000'000});
    EXPECT_EQ(t.rank, static_cast<int64_t>(r));
    EXPECT_EQ(t.file, folder_.path(fmt::format("equal/t.{}.et", r)));
    EXPECT_EQ(t.type.data(), job->ranks[0].type.data());
    EXPECT_TRUE(trace::share_all(t, job->ranks[r < 5 ? 0 : 5]));
  }
}

TEST_F(Reading, OfAContainerIsTheSameForAnyNumberOfCores) {
  const std::string path = folder_.path("job.chakra");
  ASSERT_TRUE(convert::pack_job({.paths = {folder_.path("job")}, .output = path, .group_nodes = 16}));
  const std::string expected = bytes_with(1, path);
  EXPECT_GT(expected.size(), 10'000U);
  for (int round = 0; round < 20; ++round) EXPECT_EQ(bytes_with(16, path), expected);
}

TEST_F(Reading, ReportsTheErrorOfTheLowestRank) {
  const auto files = io::find_ranks(folder_.path("job"));
  ASSERT_TRUE(files);
  for (const size_t rank : {2, 5}) {
    const std::string path = (*files)[rank].path;
    ASSERT_TRUE(write_file(path, must_read(path).substr(0, 100)));
  }
  limit_cores(1);
  const auto one = io::read_job(folder_.path("job"), {.texts = true});
  ASSERT_FALSE(one);
  for (const int64_t cores : {1, 2, 16}) EXPECT_EQ(bytes_with(cores, folder_.path("job")), one.error().message());
}

}  // namespace
}  // namespace chakra::facade
