// Places, operations and the transfers of a round, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

#include "chakra/coll/coll.h"

namespace chakra::coll::testing {

inline constexpr uint64_t kBytes = 12'252'240;  // divisible by 2 .. 18
inline constexpr uint64_t kManyBytes = 64 * kBytes;

inline net::Fabric fabric(net::TopologyKind kind, int64_t ranks) { return {{{kind, ranks, 50, 500}}}; }

inline std::vector<int64_t> first_ranks(uint32_t n) {
  std::vector<int64_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

inline std::vector<trace::CommType> types_of(const AlgorithmRow& row) {
  std::vector<trace::CommType> types;
  for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t)
    if (row.does(static_cast<trace::CommType>(t))) types.push_back(static_cast<trace::CommType>(t));
  return types;
}

/// A round's transfers straight from the definition of Round, as bytes per pair.
using Pairs = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;
inline Pairs expand(const Plan& plan, const Round& round) {
  Pairs pairs;
  const auto add = [&](uint32_t from, uint32_t to, uint64_t bytes) {
    EXPECT_LT(from, plan.members);
    EXPECT_LT(to, plan.members);
    EXPECT_NE(from, to);
    EXPECT_TRUE(pairs.emplace(std::pair(from, to), bytes).second) << from << " sends to " << to << " twice";
  };
  if (!round.list.empty()) {
    for (const Transfer& t : round.list) add(t.from, t.to, t.bytes);
  } else if (round.shift > 0) {
    const uint32_t extent = round.extent ? round.extent : plan.members;
    for (uint32_t i = 0; i < plan.members; ++i) {
      const uint32_t low = i % round.stride, c = i / round.stride % extent, high = i / (round.stride * extent);
      for (uint64_t q = 0; q < round.shifts; ++q) {
        const uint64_t to = (c + round.shift + q * round.apart) % extent;
        add(i, static_cast<uint32_t>((high * extent + to) * round.stride + low), round.bytes);
      }
    }
  }
  return pairs;
}

inline net::Fabric random_fabric(Prng& random, int64_t most) {
  constexpr std::array<net::TopologyKind, 3> kKinds{net::TopologyKind::ring, net::TopologyKind::switch_,
                                                    net::TopologyKind::fully_connected};
  net::Fabric net;
  const int64_t dimensions = random.between(1, 3);
  int64_t size = 1;
  for (int64_t d = 0; d < dimensions; ++d) {
    const int64_t extent = random.between(1, std::max<int64_t>(1, std::min<int64_t>(6, most / size)));
    size *= extent;
    net.dimensions.push_back({kKinds[random.below(3)], extent, static_cast<double>(random.between(1, 400)) / 4,
                              static_cast<double>(random.between(0, 2000))});
  }
  return net;
}

}  // namespace chakra::coll::testing
