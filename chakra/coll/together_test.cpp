// Members whose costs repeat: the first of them stand for all, to the last bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "chakra/coll/closed.h"
#include "chakra/coll/coll.h"
#include "chakra/coll/testing/plans.h"

namespace chakra::coll {
namespace {

using testing::first_ranks;
using trace::CommType;

TEST(Together, MembersThatRepeatStandForAll) {
  const char* const networks[] = {
      "topology: FatTree\ndown: [4, 6]\nup: [1, 2]\nbandwidth: [50, 30]\nlatency: [500, 700]\n",
      "topology: FatTree\ndown: [2, 3, 4]\nup: [1, 2, 1]\nbandwidth: 50\nlatency: 500\n",
      "topology: Rails\nranks_per_node: 4\nnodes: 3\npods: 2\nspines: 2\nbandwidth: [450, 50, 50]\nlatency: 500\n",
      "topology: Dragonfly\nranks_per_router: 2\nrouters: 3\nglobal: 1\ngroups: 4\nbandwidth: [50, 40, 30]\n"
      "latency: [100, 200, 900]\n",
      "topology: [Switch, Ring]\nnpus_count: [4, 6]\nbandwidth: [450, 50]\nlatency: [500, 2000]\n",
      "topology: [Mesh, Switch]\nnpus_count: [3, 8]\nbandwidth: [450, 50]\nlatency: [500, 2000]\n"};
  int differ = 0;  // plans whose members do not all cost the same
  int near = 0;    // of which the bound is more than half of the time
  for (const char* network : networks) {
    const net::Fabric fabric = *net::parse_fabric(*parse_spec(network, "net.yml"));
    for (const uint32_t members : {24u, 23u, 20u, 12u, 7u}) {
      const std::vector<int64_t> ranks = first_ranks(members);
      const Place place{&fabric, ranks};
      for (const AlgorithmRow& row : kAlgorithms)
        for (const CommType type : {CommType::all_reduce, CommType::all_gather, CommType::all_to_all})
          for (const uint64_t bytes : {uint64_t{1}, uint64_t{99'991}, uint64_t{1} << 26}) {
            const Operation op{type, bytes, 0, {}};
            if (!row.can(op, place)) continue;
            const Plan plan = row.plan(op, place);
            const PricedPlan priced = price(plan, place);
            if (priced.alike) continue;
            ++differ;
            const auto ends = ends_together(priced, std::numeric_limits<double>::infinity());
            ASSERT_TRUE(ends);
            EXPECT_EQ(*ends, ends_after(priced, std::vector<Picoseconds>(ranks.size(), 0)))
                << network << row.name << " of " << members << ", " << bytes << " bytes";
            const double last = *std::max_element(ends->begin(), ends->end()), least = not_before(priced);
            EXPECT_LE(least, last * (1 + 1e-12)) << network << row.name;
            near += least > 0.5 * last;
          }
    }
  }
  EXPECT_GT(differ, 500);
  EXPECT_GT(near, 200);
}

}  // namespace
}  // namespace chakra::coll
