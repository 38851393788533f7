// Collectives and messages on a network with shared links: runs plans as messages over
// net::FluidNetwork or net::PacketNetwork. A member begins a round when it has finished the
// previous round of its lane and the round that this one waits for. A member has finished a round
// when all its sends have left and all its receives have arrived. Members begin on arrival.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"
#include "chakra/sim/course.h"

namespace chakra::sim {

/// automatic: closed if no links are shared at the same time, else fluid unless that takes too long.
enum class Congestion : uint8_t { closed, fluid, packet, automatic };
inline constexpr std::array<std::string_view, 4> kCongestionNames{"closed", "fluid", "packet", "auto"};

class Traffic {
 public:
  /// An event: a member of a collective has finished its plan, or a message has left or arrived.
  struct Done {
    enum class Kind : uint8_t { member, left, arrived } kind;
    uint32_t id;      ///< of the collective or message, by the caller's numbers
    uint32_t member;  ///< of a collective
  };

  /// The fabric and the links must outlive this object. Requires fluid or packet. `links`: equivalent links, which
  /// stand for each other (fluid only), or null.
  Traffic(const net::Fabric& fabric, Congestion congestion, net::PacketOptions options,
          const LinkClasses* links = nullptr);

  /// Add a collective without starting it. `ranks`: places of its members; `flow`: net::Message::flow. Members
  /// are identified by their places in `ranks`; `order` maps places to members of the plan (coll::Choice).
  void add(uint32_t collective, const coll::Plan& plan, std::span<const uint32_t> order, std::span<const int64_t> ranks,
           uint64_t flow);
  /// Add a collective of which parts stand for all members. Members are the parts.
  void add(uint32_t collective, const coll::Plan& plan, std::shared_ptr<const Course> course);
  void begin(Picoseconds now, uint32_t collective, uint32_t member, std::vector<Done>& done);
  /// `count`: equivalent messages for which this one stands, where links stand for each other.
  void send(Picoseconds now, uint32_t message, int64_t from, int64_t to, uint64_t bytes, int64_t count = 1);

  Picoseconds next_event_time() const;
  /// Advance as the networks' advance_to; a message that arrives later than it leaves is reported on arrival.
  Picoseconds advance_to(Picoseconds time, std::vector<Done>& done);

  /// Return whether no message is under way and every collective that has begun is over.
  bool idle() const;
  std::vector<net::LinkTotal> totals() const;
  void keep_history();  ///< as of the networks
  net::LinkHistory history() const;
  uint64_t events() const;

 private:
  struct Run {
    std::vector<int64_t> ranks;   ///< by member of the plan
    std::vector<uint32_t> order;  ///< member of the plan -> member of the group; empty: identity
    std::vector<uint32_t> place;  ///< the inverse
    uint64_t flow = 0;
    coll::Plan plan;
    std::shared_ptr<const Course> course;               ///< of parts; null: each member for itself
    uint32_t members = 0;                               ///< or parts
    std::vector<int32_t> before;                        ///< per round: the previous one in its lane, or -1
    std::vector<std::vector<uint32_t>> behind;          ///< per round: the rounds that wait for it
    std::vector<std::vector<uint32_t>> first_transfer;  ///< per round with a list: by sender, members + 1 entries
    std::vector<std::vector<uint32_t>> missing;  ///< per round of members that begin together: by row, members missing
    std::vector<uint32_t> open;         ///< per round and member: conditions still to be met, the begin included
    std::vector<uint32_t> rounds_left;  ///< per member
    uint32_t members_left = 0;
  };
  /// A message under way: of a round of a collective, or single.
  struct Flight {
    uint32_t run = 0, round = 0, from = 0, to = 0;
    uint32_t sent = 1, received = 1;  ///< by each member: equal transfers for which this one stands
    bool left = false;                ///< reported that its last byte has left
  };
  static constexpr uint32_t kSingle = UINT32_MAX;

  Run& new_run(uint32_t collective, const coll::Plan& plan, uint32_t members);
  void start_round(Picoseconds now, uint32_t id, uint32_t round, uint32_t member);
  void start_row_of_parts(Picoseconds now, uint32_t id, uint32_t round, uint32_t part);
  void launch(Picoseconds now, uint32_t id, uint32_t round, uint32_t member);
  Picoseconds latency_of(const Flight& flight) const;  ///< if the latency of its route is not longer
  void launch_parts(Picoseconds now, uint32_t id, uint32_t round, uint32_t part);
  uint32_t token_of(const Flight& flight);
  void put(Picoseconds now, const Flight& flight, int64_t from, int64_t to, uint64_t bytes, uint64_t flow);
  void settle(Picoseconds now, uint32_t id, uint32_t round, uint32_t member, uint32_t times, std::vector<Done>& done);
  void arrive(Picoseconds now, uint32_t token, std::vector<Done>& done);

  const net::Fabric& fabric_;
  std::variant<net::FluidNetwork, net::PacketNetwork> network_;
  const LinkClasses* links_;
  std::vector<std::unique_ptr<Run>> runs_;  ///< by collective; empty when over
  std::vector<Flight> flights_;
  std::vector<uint32_t> unused_;  ///< entries of flights_
  std::vector<uint32_t> work_;    ///< of settle()
  struct Later {
    Picoseconds time;
    uint64_t order;
    uint32_t token;
    bool operator<(const Later& other) const {  // the earliest on top of a heap
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  std::vector<Later> later_;  ///< heap of messages that have left and will arrive
  uint64_t order_ = 0;
  std::vector<net::Delivery> delivered_;
};

}  // namespace chakra::sim
