// Which ranks and links are equivalent where transfers share links. Rates on shared links are max-min fair, and so
// unique (net/fluid_solver.h). Ranks, transfers and links are therefore equivalent if they fall into classes such that
//
//   - ranks of a class run the same trace, and send and receive transfers of the same classes,
//   - transfers of a class join ranks of the same classes over links of the same classes,
//   - links of a class have one rate and latency, and carry equally many transfers of each class.
//
// Equal classes begin their transfers at the same times and give them the same rates, so that one of each class stands
// for all. fold() finds the coarsest such classes: it splits the classes of ranks (refine.cpp) and of links (here)
// until nothing changes. Inside sim.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <vector>

#include "chakra/sim/course.h"
#include "chakra/sim/ties.h"

namespace chakra::sim {

class EqualLinks {
 public:
  /// List the transfers of each group and peer, once for each pattern. All must outlive this object.
  /// Cost: O(transfers x links of a route).
  EqualLinks(const trace::ClassJob& job, const Ties& ties, Prices& prices, const net::Fabric& fabric);
  /// List the transfers of one plan of the only group of `ties`. `order` as in coll::Choice.
  EqualLinks(const trace::ClassJob& job, const Ties& ties, const coll::Plan& plan, std::span<const uint32_t> order,
             const net::Fabric& fabric, size_t most);

  /// Return whether the classes can be found. They cannot if shares are uneven, if a rank of a group or a peer is
  /// missing, if routes depend on other traffic, or if there are more than 2^24 transfers, or `most`.
  bool usable() const { return usable_; }
  size_t listed() const { return transfers_.size(); }
  /// Split the classes of links by the colours of the ranks. Return a number per rank, equal for ranks whose transfers
  /// are of the same classes.
  std::vector<uint32_t> split(const std::vector<uint32_t>& colors);
  size_t count() const { return trunks_.count; }  ///< of classes
  LinkClasses classes() const;

 private:
  struct Transfer {
    uint32_t from = 0, to = 0;  ///< ranks, into ClassJob::ranks
    uint32_t group = kNobody;   ///< kNobody: a message
    uint32_t pattern = 0;       ///< of the group; of a message the slot
    uint32_t size = 0;          ///< number of smaller sizes in the pattern
    Picoseconds latency = 0;
    size_t first_use = 0;
  };
  struct Use {
    uint32_t link;  ///< number of the trunk
    double share;
  };
  /// Trunks that carry something, numbered by first use.
  struct Trunks {
    absl::flat_hash_map<net::TrunkId, uint32_t> number_of;
    std::vector<net::TrunkId> ids;
    std::vector<uint32_t> classes;
    size_t count = 0;  ///< of classes
  };
  /// Members of a group that begin a round together.
  struct Row {
    uint32_t group = 0, pattern = 0;
    std::vector<uint32_t> ranks;
  };

  /// Of a group: orders of members, and rounds.
  struct Patterns {
    Numbering orders, rounds;
  };

  EqualLinks(const trace::ClassJob& job, const Ties& ties, const net::Fabric& fabric, size_t most);
  void list_group(uint32_t group, Prices& prices);
  void list_plan(uint32_t group, const coll::Plan& plan, std::span<const uint32_t> order, Patterns& known);
  void number_links();
  void list_message(uint32_t rank, uint32_t slot);
  void add(const Transfer& transfer, uint64_t flow);
  uint32_t number_of(net::TrunkId trunk);
  std::span<const Use> uses_of(size_t transfer) const;

  const trace::ClassJob& job_;
  const Ties& ties_;
  const net::Fabric& fabric_;
  const size_t most_;  ///< transfers
  bool usable_ = true;
  std::vector<Transfer> transfers_;
  std::vector<Use> uses_;
  std::vector<Row> rows_;
  std::vector<uint64_t> roots_;  ///< by group: a hash of the roots of its collectives
  Trunks trunks_;
  std::vector<net::Use> route_;
};

}  // namespace chakra::sim
