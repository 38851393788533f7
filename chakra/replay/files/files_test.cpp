// Loads and stores in files: what is moved, by tier; nothing stays; errors before the clock runs.
#include <gtest/gtest.h>

#include <filesystem>

#include "chakra/base/testing/testing.h"
#include "chakra/replay/compute.h"
#include "chakra/replay/testing/whole_job.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::replay {
namespace {

using namespace testing;
using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;
using trace::NodeType;
using trace::testing::Job;

/// Of a node that says its bytes by an attribute, or else tensor_size.
NodeId add_memory(Job& job, NodeType type, const char* tier, int64_t bytes, uint64_t tensors = 0) {
  trace::Builder& b = job.builders[0];
  const NodeId n = job.add(0, type, {});
  b.trace.dur_ps.edit(n) = 3'000'000'000;  // 3 ms
  b.trace.tensor_bytes.resize(n + 1);
  b.trace.tensor_bytes.edit(n) = tensors;
  if (*tier) b.attr({b.trace.strings.intern("storage_tier"), std::string_view(tier)});
  if (bytes != 0) b.attr({b.trace.strings.intern("bytes"), bytes});
  return n;
}

Job storing_job() {
  Job job(1);
  add_memory(job, NodeType::mem_store, "pfs", 9'000'000);
  add_memory(job, NodeType::mem_load, "pfs", 10'000'001);
  add_memory(job, NodeType::mem_load, "", 0, 5000);
  add_memory(job, NodeType::mem_store, "pfs", 1, 77);
  add_memory(job, NodeType::mem_load, "pfs", -4, 77);  // the attribute counts, and is not a size
  add_memory(job, NodeType::mem_store, "pfs", 0);
  return job;
}

TEST(Files, MoveTheBytesOfLoadsAndStores) {
  Job job = storing_job();
  const Whole whole(job.finish());
  for (const FileCacheRow& cache : kFileCaches)
    for (const ComputeRow& compute : {kNone, kSleep}) {
      SCOPED_TRACE(std::string(cache.name));
      const TemporaryFolder folder;
      JobOptions options = options_for(kNull, compute);
      options.run.files = folder.path();
      options.run.file_cache = &cache;
      options.run.repetitions = 2;
      const auto runs = run_all(whole.plans, within(milliseconds(20'000)), options);
      if (cache.cache == FileCache::direct && tag_of(runs) == "replay.files.direct") continue;  // a folder in memory
      ASSERT_TRUE(runs) << runs.error().message();
      ASSERT_TRUE((*runs)[0].computed.files);
      const FilesMoved& moved = *(*runs)[0].computed.files;
      const bool blocks = cache.cache == FileCache::direct;
      ASSERT_EQ(moved.tiers.size(), 2);
      EXPECT_EQ(moved.untold, 2);
      EXPECT_EQ(moved.tiers[0].name, "pfs");
      EXPECT_EQ(moved.tiers[0].stores, 2);
      EXPECT_EQ(moved.tiers[0].written_bytes, blocks ? 9'003'008 + 4096 : 9'000'001);
      EXPECT_EQ(moved.tiers[0].loads, 1);
      EXPECT_EQ(moved.tiers[0].read_bytes, blocks ? 10'002'432 : 10'000'001);
      EXPECT_GT(moved.tiers[0].write_ps, 0);
      EXPECT_GT(moved.tiers[0].read_ps, 0);
      EXPECT_EQ(moved.tiers[1].name, "");
      EXPECT_EQ(moved.tiers[1].read_bytes, blocks ? 8192 : 5000);
      EXPECT_EQ(moved.tiers[1].stores, 0);
      const NodeTimes& times = (*runs)[0].times[1];
      EXPECT_EQ(times.end[4] - times.start[4],
                !compute.takes_time ? 0 : 3'000'000'000);  // by the clock
      EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    }
}

TEST(Files, ErrorsNameTheFolder) {
  const auto run = [](Job job, const std::string& folder) {
    const Whole whole(job.finish());
    JobOptions options = options_for(kNull);
    options.run.files = folder;
    return run_all(whole.plans, within(milliseconds(5000)), options);
  };
  const TemporaryFolder folder;
  const auto missing = run(storing_job(), folder.path("missing"));
  ASSERT_EQ(tag_of(missing), "replay.files.create");
  EXPECT_EQ(missing.error().code, Code::io);
  EXPECT_EQ(missing.error().place.file, folder.path("missing"));
  EXPECT_EQ(tag_of(run(storing_job(), folder.write("file", "text"))), "replay.files.create");
  for (const int64_t bytes : {int64_t{1} << 60, INT64_MAX}) {  // more than any disk has
    Job large(1);
    add_memory(large, NodeType::mem_load, "pfs", bytes);
    EXPECT_EQ(tag_of(run(std::move(large), folder.path())), "replay.files.create");
  }
}

TEST(Files, OfALoadOrAStoreThatIsNotSelectedThereAreNone) {
  Job job = storing_job();
  const Whole whole(job.finish());
  JobOptions options = options_for(kNull);
  const TemporaryFolder folder;
  options.run.files = folder.path();
  options.selected = {{false, false, true, false, false, false}};
  const auto runs = run_all(whole.plans, within(milliseconds(5000)), options);
  ASSERT_TRUE(runs);
  ASSERT_EQ((*runs)[0].computed.files->tiers.size(), 1);
  EXPECT_EQ((*runs)[0].computed.files->tiers[0].loads, 1);
  EXPECT_EQ((*runs)[0].computed.files->untold, 0);
}

}  // namespace
}  // namespace chakra::replay
