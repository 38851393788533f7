// The back end `fabric` over random jobs, and over every collective by every algorithm.
#include <gtest/gtest.h>

#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/replay/testing/every_collective.h"
#include "chakra/replay/testing/whole_job.h"
#include "chakra/replay_fabric/replay_fabric.h"

namespace chakra::replay_fabric {
namespace {

using namespace replay::testing;
using trace::CommType;

TEST(Fabric, RandomJobsRunInOrderAndMeetTheirPartners) { expect_random_jobs_run(kFabric); }

TEST(Fabric, ASenderDoesNotWaitForItsReceiver) { expect_free_senders(kFabric); }

/// Each of our algorithms, for what it can do. Halves of elements are refused, and parts of different sizes with bruck.
TEST(Fabric, EveryCollectiveByEveryAlgorithm) {
  for (const coll::AlgorithmRow& algorithm : coll::kAlgorithms) {
    SCOPED_TRACE(std::string(algorithm.name));
    std::vector<Collective> all = every_collective(asks_for_all());
    std::erase_if(all, [&](const Collective& c) {
      const auto type = static_cast<CommType>(c[kType]);
      return !algorithm.does(type) || (type == CommType::all_to_all && c[kUneven] == 1 && algorithm.name == "bruck");
    });
    EveryCollective every(all, asks_for_all(), true);
    const Whole whole(every.finish(), every.groups());
    ASSERT_EQ(whole.plans.size(), kCollectiveRanks);
    replay::JobOptions options = replay::testing::options_for(kFabric, replay::kNone);
    options.settings["collectives"] = algorithm.name;
    options.run.verify = true;
    const auto runs = run_all(whole.plans, within(milliseconds(60'000)), options);
    EXPECT_TRUE(runs) << runs.error().message();
  }
}

}  // namespace
}  // namespace chakra::replay_fabric
