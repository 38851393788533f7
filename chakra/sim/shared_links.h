// What all collectives of a job put on each link together. In closed form collectives do not meet each other: where a
// link would have to carry more than the job's time allows, the prices are too low, and the result says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"

namespace chakra::sim {

class SharedLinks {
 public:
  /// The fabric must outlive it.
  explicit SharedLinks(const net::Fabric& fabric) : fabric_(fabric) {}

  /// `times` runs of a plan by each of the groups, whose members stand alike; `order` as in coll::Choice. Groups beyond
  /// what can be looked at count like the first one, evenly over the links of its kinds.
  void add(const coll::Plan& plan, std::span<const uint32_t> order, std::span<const std::vector<int64_t>> groups,
           uint64_t flow, int64_t times);

  struct Busiest {
    double seconds = 0;  ///< that it would take for its bytes at its full rate
    std::string link;    ///< "the link leaf0 -> spine1", or of which kind where only means are known
  };
  Busiest busiest() const;

 private:
  const net::Fabric& fabric_;
  std::vector<double> bytes_;    ///< by trunk
  std::vector<double> by_kind_;  ///< bytes, by kind of link, of groups not looked at one by one
  uint64_t looked_at_ = 0;       ///< transfers
};

}  // namespace chakra::sim
