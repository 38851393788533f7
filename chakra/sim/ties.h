// The relations between the ranks of a job, as numbers: the groups of each rank and the
// peers of its messages. fold() distinguishes ranks by these relations. Inside sim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/match/match.h"
#include "chakra/sim/fold.h"
#include "chakra/sim/prices.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

class EqualLinks;

/// A group that nodes of a class name: the group in a slot, or the group of that name.
struct Port {
  StringId name = 0;  ///< in the class's trace
  uint32_t slot = kNobody;
  bool by_place = false;                  ///< a member's action depends on its place: shares are uneven
  std::vector<const trace::Comm*> calls;  ///< distinct operations of its nodes
};

/// A group of the job.
struct Members {
  std::string name;
  std::vector<int64_t> ranks;
  std::vector<uint32_t> index;  ///< parallel to ranks: into ClassJob::ranks, kNobody for a rank that is not in the job
  std::vector<uint32_t> port;   ///< parallel to ranks: the port of the member, or kNobody
  uint32_t shape = 0;
  uint32_t costs = 0;  ///< find_equal_costs()
  uint64_t flow = 0;
  bool late_start = false;  ///< collectives begin when the last member arrives (start_late)
};

struct Ties {
  std::vector<std::vector<Port>> ports;  ///< per class
  std::vector<Members> groups;
  std::vector<uint32_t> first_port;              ///< per rank: into the two below, one entry per port
  std::vector<uint32_t> port_group, port_place;  ///< into groups, and the member's place
  /// Parallel to ClassJob::peer_of: the partner, into ClassJob::ranks; the first slot with
  /// the same partner; the partner's first slot for this rank. kNobody: no rank or slot.
  std::vector<uint32_t> end_of, first, back;
};

/// Find the ties of a job, which must outlive the ties. `table` gives the members of the
/// groups, else the job does. Cost: O(nodes of the classes + members of groups + peers).
Ties find_ties(const trace::ClassJob& job, const match::GroupTable& table, Prices& prices);

/// Set Members::late_start of each group: whether the group has more than `exact_members` members, and no member acts
/// by its place. Roots, uneven shares and missing ranks act by place. Return the sizes of the groups that start late,
/// largest first, each once.
std::vector<uint32_t> start_late(const trace::ClassJob& job, Ties& ties, uint32_t exact_members);

/// Return the place of a root: a node names a rank, or a place in the group.
uint32_t root_place(const Members& group, int64_t root);

/// Return a key of a group's places, and of its members by port: groups with equal keys behave identically.
/// The members are in the order of places, or, in groups that start late, in ascending order.
std::vector<int64_t> key_of(const Members& group, const std::vector<uint32_t>& colors);

/// Return a colour per rank: equal for equivalent ranks. Colours are numbered by first rank. `mates`: node_mates().
/// The refinement stops early, unfinished, when the traces of all colours together have more than `most_nodes` nodes.
/// `links`: their classes, which are refined, too, if transfers share links; else null.
std::vector<uint32_t> refine(const trace::ClassJob& job, const Ties& ties,
                             const std::vector<std::vector<uint32_t>>& mates, const device::System& system,
                             Prices& prices, const net::Fabric& fabric, double most_nodes, EqualLinks* links);

/// Return the job with one actor per colour.
Folded make_actors(trace::ClassJob&& job, const Ties& ties, std::vector<uint32_t>&& colors);

}  // namespace chakra::sim
