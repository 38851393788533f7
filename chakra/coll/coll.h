// Collectives: (operation, number of members, bytes) -> Plan. A Plan is what the members send each
// other, in rounds; a member begins a round when it has finished the one before. Prices come from the
// Plan, and so do the tests: each algorithm also says which blocks of data move, and executing that
// must leave every member with what the operation promises.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/net/net.h"
#include "chakra/trace/trace.h"

namespace chakra::coll {

struct Transfer {
  uint32_t from = 0, to = 0;  ///< members, 0 .. n-1
  uint64_t bytes = 0;
};

/// Either every member i sends `bytes` to member (i + shift) mod n, or what the list says.
struct Round {
  uint32_t shift = 0;
  uint64_t bytes = 0;
  std::vector<Transfer> list;
};

struct Plan {
  uint32_t members = 0;
  std::vector<Round> rounds;
};

/// A block of data that moves in a round; `reduce`: it is combined with what the receiver has.
struct Move {
  uint32_t from = 0, to = 0;
  uint32_t block = 0;
  bool reduce = false;
};

/// One algorithm of one operation. `bytes` is comm_size: for all-gather and gather what one member puts
/// in, otherwise the whole buffer. `root` is a member. Requires members >= 1.
struct AlgorithmRow {
  trace::CommType type;
  std::string_view name;
  std::string_view description;  ///< with the cost: n members, S bytes, latency L and rate B of a link
  Plan (*plan)(uint32_t members, uint64_t bytes, uint32_t root);
  /// Blocks: all-to-all numbers them origin * n + destination, broadcast and reduce by chunk, the
  /// others by owner.
  std::vector<Move> (*moves)(uint32_t members, uint64_t bytes, uint32_t root, uint32_t round);
};
extern const std::array<AlgorithmRow, 10> kAlgorithms;

/// The algorithm for an operation.
const AlgorithmRow& algorithm(trace::CommType type);

/// When each member has finished the plan, on a network without contention: a transfer of m bytes
/// takes the path's latency and m / B; a member ends a round when what it sent has left and what it
/// receives has arrived. ready[i]: when member i begins; overwritten with when it ends.
/// `ranks`: the member's places in the fabric. Cost: O(rounds x members).
void run_closed(const Plan& plan, const net::Fabric& fabric, std::span<const int64_t> ranks,
                std::span<Picoseconds> ready);

/// What nccl-tests calls bus bandwidth, as a multiple of S / time: the rate of the links.
double bus_factor(trace::CommType type, uint32_t members);

}  // namespace chakra::coll
