// Rounds of messages for tests, and their times if each link carries its load at its rate.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "chakra/net/net.h"

namespace chakra::net::testing {

using Round = std::vector<std::pair<int64_t, int64_t>>;  ///< sender and receiver

/// Return when the busiest link has carried a round in which each message has one byte, in seconds.
inline double round_time(const Fabric& fabric, const Round& round) {
  std::vector<double> bytes(fabric.trunk_count());
  std::vector<Use> uses;
  for (const auto& [from, to] : round) {
    uses.clear();
    fabric.uses(from, to, 0, uses);
    for (const Use& use : uses) bytes[use.trunk] += use.share;
  }
  double longest = 0;
  for (TrunkId t = 0; t < fabric.trunk_count(); ++t)
    longest = std::max(longest, bytes[t] / fabric.trunk(t).bytes_per_s);
  return longest;
}

inline Round shift(int64_t ranks, int64_t by) {
  Round round;
  for (int64_t r = 0; r < ranks; ++r) round.emplace_back(r, (r + by) % ranks);
  return round;
}
inline Round everybody(int64_t ranks) {
  Round round;
  for (int64_t a = 0; a < ranks; ++a)
    for (int64_t b = 0; b < ranks; ++b)
      if (a != b) round.emplace_back(a, b);
  return round;
}

}  // namespace chakra::net::testing
