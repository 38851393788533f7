// What ties the ranks of a job to each other, by numbers: the groups in which they take part and the ranks with which
// they exchange messages. fold() tells ranks apart by it. Inside sim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/match/match.h"
#include "chakra/sim/fold.h"
#include "chakra/sim/prices.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// A group that nodes of a class name: what stands in a slot, or the group of that name itself.
struct Port {
  StringId name = 0;  ///< in the class's trace
  uint32_t slot = kNobody;
  bool by_place = false;                  ///< what a member does depends on its place: it sends uneven shares
  std::vector<const trace::Comm*> calls;  ///< what its nodes do, each differing one once
};

/// A group of the job.
struct Members {
  std::string name;
  std::vector<int64_t> ranks;
  std::vector<uint32_t> index;  ///< parallel to ranks: into ClassJob::ranks, kNobody for one that is not there
  std::vector<uint32_t> port;   ///< parallel to ranks: the port by which the member takes part, or kNobody
  uint32_t shape = 0;
  uint64_t flow = 0;
};

struct Ties {
  std::vector<std::vector<Port>> ports;  ///< per class
  std::vector<Members> groups;
  std::vector<uint32_t> first_port;              ///< per rank: into the two below, one entry per port
  std::vector<uint32_t> port_group, port_place;  ///< into groups, and which member
  /// Parallel to ClassJob::peer_of: the rank at the other end, into ClassJob::ranks; the first slot in which it stands;
  /// its first slot for this rank. kNobody: none.
  std::vector<uint32_t> end_of, first, back;
};

/// Members of the groups are those of `table`, else those of the job. The job must outlive the ties.
/// Cost: O(nodes of the classes + members of groups + peers).
Ties find_ties(const trace::ClassJob& job, const match::GroupTable& table, Prices& prices);

/// The rank that a node names as root, or the place in the group that it names, as a place.
uint32_t root_place(const Members& group, int64_t root);

/// Where a group stands, and who is in it by which port: equal keys, groups that behave alike.
std::vector<int64_t> key_of(const Members& group, const std::vector<uint32_t>& colors);

/// A colour for each rank: equal ones cannot be told apart. Numbered by their first ranks. `mates`: node_mates().
std::vector<uint32_t> refine(const trace::ClassJob& job, const Ties& ties,
                             const std::vector<std::vector<uint32_t>>& mates, const device::System& system,
                             Prices& prices, const net::Fabric& fabric);

/// The job with an actor for each colour.
Folded make_actors(trace::ClassJob&& job, const Ties& ties, std::vector<uint32_t>&& colors);

}  // namespace chakra::sim
