// The tiers of storage of a run: each is one server, or one for each node or rank, that all its users share.
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
  /// The run must outlive it.
  explicit Tiers(Run& run) : run_(run) {}

  /// To be called once, when the run's actors are known.
  void prepare();
  /// A node begins, whose bytes then move at the rate that its server has for it; afterwards it takes the tier's
  /// latency and what the caller delays it by.
  void begin(ActorId a, trace::NodeId n, const TierUse& use);
  /// An Event::Kind::tier: something may have ended.
  void advance(uint32_t server, uint32_t turn);

  /// Fills the report's tiers.
  void summarize() const;

 private:
  using Node = std::pair<ActorId, trace::NodeId>;  ///< of an actor
  struct Server {
    uint32_t tier;
    int64_t stands_for = 0;  ///< equal ones
    uint32_t turn = 0;       ///< of the last event that was asked for; earlier ones say nothing
    Picoseconds busy = 0;
    ProcessorSharing<Node> sharing;
  };
  /// Where an actor's ranks go for a tier: `weight` of them to each of the servers that this one stands for.
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
