// The storage tiers of a run: each is one server, or one per node or rank, which all its users share.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/sim/engine/processor_sharing.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

class Tiers {
 public:
  /// The run must outlive this object.
  explicit Tiers(Run& run) : run_(run) {}

  /// Must be called once, when the run's actors are known.
  void prepare();
  /// Begin a node: the bytes move at the rate of the server;
  /// the tier's latency and the caller's delay follow.
  void begin(ActorId a, trace::NodeId n, const TierUse& use);
  /// Handle an Event::Kind::tier: some nodes may have ended.
  void advance(uint32_t server, uint32_t turn);

  /// Fill the report's tiers.
  void summarize() const;

 private:
  using Node = std::pair<ActorId, trace::NodeId>;  ///< of an actor
  struct Server {
    uint32_t tier;
    int64_t stands_for = 0;  ///< number of equal servers
    uint32_t turn = 0;       ///< of the last requested event; earlier events are obsolete
    Picoseconds busy = 0;
    ProcessorSharing<Node> sharing;
  };
  /// The servers of an actor's ranks for a tier: `weight` ranks on each of the servers that this one stands for.
  struct Place {
    uint32_t tier, server;
    uint64_t weight;
  };

  void add_shared(uint32_t tier);
  void add_per_node(uint32_t tier);
  void add_per_rank(uint32_t tier);
  uint32_t add_server(uint32_t tier, int64_t stands_for);
  bool uses(ActorId a, uint32_t tier) const;
  const Place& place(ActorId a, uint32_t tier) const;
  Picoseconds alone(const TierUse& use) const;
  void expect_end(uint32_t server);
  void count(const Node& node, const TierUse& use, Picoseconds end);

  Run& run_;
  std::vector<std::vector<uint32_t>> used_;  ///< per class: tiers
  std::vector<Server> servers_;
  std::vector<std::vector<Place>> places_;                            ///< per actor, by tier
  std::map<std::pair<uint32_t, uint32_t>, TierReport::Kind> totals_;  ///< by tier and kind
  std::vector<Node> done_;                                            ///< of advance()
};

}  // namespace chakra::sim
