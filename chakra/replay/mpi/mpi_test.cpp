// The back end `mpi`: this program starts itself with mpirun, and each rank runs the tests of MpiRank.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "chakra/base/testing/testing.h"
#include "chakra/replay/testing/every_collective.h"
#include "chakra/replay/testing/whole_job.h"
#include "chakra/replay/wire.h"
#include "chakra/trace/testing/random_job.h"

namespace chakra::replay {
namespace {

using namespace testing;

// ---- here ----------------------------------------------------------------------------------------------------------

/// Why it cannot run, or "".
std::string why_not() {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0) return "mpirun is not here";
  return std::string(kMpi.missing());
}

/// Runs a test of MpiRank in a process for each rank.
void with_mpirun(int ranks, const std::string& test, const std::string& variables = "") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  // As root, in containers, with fewer cores than ranks.
  const std::string command = fmt::format(
      "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
      "OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader,tcp LSAN_OPTIONS=detect_leaks=0 {} "
      "mpirun -np {} {} --gtest_color=no --gtest_also_run_disabled_tests --gtest_filter=MpiRank.DISABLED_{} 2>&1",
      variables, ranks, self, test);
  FILE* const run = ::popen(command.c_str(), "r");
  ASSERT_NE(run, nullptr);
  std::string said;
  std::array<char, 4096> part{};
  while (const size_t got = std::fread(part.data(), 1, part.size(), run)) said.append(part.data(), got);
  const int status = ::pclose(run);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << said;
  size_t passed = 0;
  for (size_t at = said.find("[  PASSED  ] 1 test"); at != said.npos; at = said.find("[  PASSED  ] 1 test", at + 1))
    ++passed;
  EXPECT_EQ(passed, static_cast<size_t>(ranks)) << said;
}

TEST(Mpi, RandomJobsRunInOrderAndMeetTheirPartners) {
  if (const std::string why = why_not(); !why.empty()) GTEST_SKIP() << why;
  for (int ranks = 2; ranks <= 8; ++ranks)
    with_mpirun(ranks, "RandomJobs", fmt::format("CHAKRA_TEST_JOBS={}", (jobs_to_try() + 6) / 7));
}

TEST(Mpi, EveryCollective) {
  if (const std::string why = why_not(); !why.empty()) GTEST_SKIP() << why;
  with_mpirun(kCollectiveRanks, "EveryCollective");
}

// ---- there ---------------------------------------------------------------------------------------------------------

World world_here() {
  World world;
  const Result<bool> launched = world_from_launcher(world);
  EXPECT_TRUE(launched && *launched);
  world.timeout = std::chrono::seconds(60);
  return world;
}

/// Runs this rank of the job, and gives all ranks' times to rank 0.
void run_rank_of(const Whole& whole, World world, const JobOptions& options, uint64_t number) {
  const std::string place = world.rendezvous;
  world.rendezvous = fmt::format("{}.{}", place, number);  // of its own: the one before may still be closing
  const auto run = run_one(whole.plans[static_cast<size_t>(world.rank)], world, options);
  ASSERT_TRUE(run) << "rank " << world.rank << ": " << run.error().message();
  BodyWriter mine;
  for (const NodeTimes& times : run->times) {
    for (const Picoseconds start : times.start) mine.number(start);
    for (const Picoseconds end : times.end) mine.number(end);
  }
  world.rendezvous += ".times";
  const auto rendezvous = Rendezvous::join(world);
  ASSERT_TRUE(rendezvous) << rendezvous.error().message();
  const auto all = (*rendezvous)->exchange(mine.body);
  ASSERT_TRUE(all) << all.error().message();
  (*rendezvous)->leave();
  if (world.rank != 0) return;
  std::vector<std::vector<NodeTimes>> runs;
  for (size_t r = 0; r < all->size(); ++r) {
    BodyReader read((*all)[r]);
    NodeTimes times;
    times.start.resize(whole.job.ranks[r].size());
    times.end = times.start;
    runs.emplace_back();
    for (uint32_t i = 0; i < options.run.repetitions; ++i) {
      for (Picoseconds& start : times.start) start = read.number();
      for (Picoseconds& end : times.end) end = read.number();
      runs.back().push_back(times);
    }
  }
  expect_well_run(whole, runs, false);  // MPI need not wait where nothing is sent
}

TEST(MpiRank, DISABLED_RandomJobs) {
  const World world = world_here();
  Prng random(20261123 + static_cast<uint64_t>(world.ranks));
  for (uint64_t i = 0; i < jobs_to_try(); ++i) {
    SCOPED_TRACE("job " + std::to_string(i));
    const trace::testing::RandomJob job =
        trace::testing::random_job(random, static_cast<size_t>(world.ranks), static_cast<size_t>(world.ranks), 20);
    const Whole whole(job.build(), {job.groups.begin(), job.groups.end()});
    ASSERT_EQ(whole.plans.size(), whole.job.ranks.size());
    run_rank_of(whole, world, random_options(kMpi, i), i);
    if (HasFatalFailure()) return;
  }
}

TEST(MpiRank, DISABLED_EveryCollective) {
  const World world = world_here();
  EveryCollective every(every_collective(asks_for_all()), true);
  const Whole whole(every.finish(), every.groups());
  ASSERT_EQ(whole.plans.size(), kCollectiveRanks);
  JobOptions options = options_for(kMpi, kNone);
  options.run.verify = true;
  run_rank_of(whole, world, options, 0);
}

}  // namespace
}  // namespace chakra::replay
