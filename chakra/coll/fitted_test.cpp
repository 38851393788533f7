#include <gtest/gtest.h>

#include "chakra/coll/coll.h"

namespace chakra::coll {
namespace {

using trace::CommType;

Operation op(CommType type, uint64_t bytes) {
  Operation made;
  made.type = type;
  made.bytes = bytes;
  return made;
}

/// Two nodes of four; fits for members of a node. An operation of S bytes takes S ns.
net::Fabric fabric() {
  net::Fabric f{{{net::TopologyKind::switch_, 4, 100, 500}, {net::TopologyKind::switch_, 2, 10, 500}}};
  for (const char* operation : {"all_gather", "reduce_scatter"}) {
    net::CollectiveFit fit;
    fit.form = net::find_collective_form(operation, "ring");
    fit.ranks = {4};
    fit.to_bytes = UINT64_MAX;
    fit.protocols.push_back({"all", 0, 0, 1e9 / 1073741824.0, 1e9 / 1073741824.0, {}});
    f.fits.push_back(fit);
  }
  return f;
}

TEST(Fitted, CountsTheWholeBuffer) {
  const net::Fabric f = fabric();
  const std::vector<int64_t> node{4, 5, 6, 7};
  const Place place{&f, node};
  EXPECT_NEAR(fitted_time(op(CommType::all_gather, 1000), place)->ns, 4000, 1e-6);  // comm_size is one member's part
  EXPECT_NEAR(fitted_time(op(CommType::reduce_scatter, 4000), place)->ns, 4000, 1e-6);
  EXPECT_NEAR(fitted_time(op(CommType::reduce_scatter_block, 4000), place)->ns, 4000, 1e-6);
  EXPECT_TRUE(fitted_time(op(CommType::all_gather, UINT64_MAX), place));  // does not wrap round
  EXPECT_GT(fitted_time(op(CommType::all_gather, UINT64_MAX), place)->ns, 1e19);
}

TEST(Fitted, IsForMembersThatDifferInTheDimensionAlone) {
  const net::Fabric f = fabric();
  const auto known = [&](std::vector<int64_t> ranks) {
    return fitted_time(op(CommType::all_gather, 1000), {&f, ranks}).has_value();
  };
  EXPECT_TRUE(known({0, 1, 2, 3}));
  EXPECT_TRUE(known({1, 3}));
  EXPECT_FALSE(known({0, 4}));        // the other dimension
  EXPECT_FALSE(known({0, 1, 4, 5}));  // both
  EXPECT_FALSE(known({2}));
  const std::vector<int64_t> node{0, 1, 2, 3};
  EXPECT_FALSE(fitted_time(op(CommType::all_reduce, 1000), {&f, node}));
  EXPECT_FALSE(fitted_time(op(CommType::barrier, 0), {&f, node}));
}

TEST(Fitted, AcrossNodesIsForAsManyMembersOfEach) {
  net::Fabric f = fabric();
  f.fits[0].across = true;
  f.fits[0].protocols[0].rail_gib_per_s = 1e9 / 1073741824.0;
  const auto known = [&](std::vector<int64_t> ranks) {
    return fitted_time(op(CommType::all_gather, 1000), {&f, ranks});
  };
  ASSERT_TRUE(known({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_NEAR(known({0, 1, 2, 3, 4, 5, 6, 7})->ns, 7000 + 1000, 1e-6);  // the node's links, and a part copied
  EXPECT_TRUE(known({1, 3, 5, 6}));
  EXPECT_FALSE(known({1, 3, 5}));     // uneven
  EXPECT_FALSE(known({0, 1, 2, 3}));  // one node
  ASSERT_TRUE(known({2, 6}));         // one of each node: its rail
  EXPECT_NEAR(known({2, 6})->ns, 1000 + 1000, 1e-6);
}

}  // namespace
}  // namespace chakra::coll
