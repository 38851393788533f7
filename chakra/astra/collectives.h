// Collectives of the workload: chunks that wait in the queues of the dimensions (docs/reference/compat.md, 2).
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chakra/astra/algorithms.h"
#include "chakra/astra/recipes.h"
#include "chakra/base/pool.h"
#include "chakra/feed/feed.h"
#include "chakra/trace/trace.h"

namespace chakra::astra {

struct Run;

/// State that alternates from chunk to chunk.
struct Turn {
  uint32_t queue = 0;  ///< of RankQueues::queues
  bool clockwise = true;
  bool max_root = true;
};

/// A collective given as traces, on one rank.
struct Custom {
  explicit Custom(const trace::Trace& t) : trace(t), feeder(t, true) {}
  const trace::Trace& trace;
  feed::Feeder feeder;
};

/// One rank's part in a collective under way.
struct Call {
  uint32_t rank = 0;
  trace::NodeId node{0};
  uint64_t chunks_left = 0;
};

/// One rank's part in one chunk of a collective.
struct Stream {
  uint32_t rank = 0;
  uint32_t call = 0;  ///< into Collectives::calls
  int64_t id = 0;     ///< equal on all ranks for the same chunk
  int64_t priority = 0;
  const Recipe* recipe = nullptr;
  size_t current = 0;                  ///< into the recipe's plans
  absl::InlinedVector<Turn, 2> turns;  ///< parallel to the plans
  std::unique_ptr<Phase> phase;        ///< if every message is an event
  std::unique_ptr<Custom> custom;      ///< instead of a phase
  const Plan& plan() const { return recipe->plans[current]; }
  const Turn& turn() const { return turns[current]; }

  /// Return whether the messages between this stream and the other match.
  bool same_messages(const Stream& other) const {
    const Plan &a = plan(), &b = other.plan();
    // With two places each is the other's neighbour in both directions.
    const bool same_way = turn().clockwise == other.turn().clockwise || a.line.places == 2;
    return a.type == b.type && a.bytes == b.bytes && same_way && a.line.places == b.line.places;
  }
};

/// Streams in one queue of a dimension.
struct PhaseQueue {
  struct Waiting {
    int64_t priority;
    uint64_t order;
    uint32_t stream;
    /// The largest is on top of a heap: the highest priority, then the first.
    bool operator<(const Waiting& other) const {
      return priority != other.priority ? priority < other.priority : order > other.order;
    }
  };
  std::vector<Waiting> waiting;  ///< a heap
  int64_t running = 0;
};

/// State of a rank's collectives.
struct RankQueues {
  struct QueueTurn {
    size_t all = 0, first = 0, second = 0;
  };
  std::vector<PhaseQueue> queues;                               ///< per dimension, --num-queues-per-dim
  std::vector<QueueTurn> turns;                                 ///< per dimension: the next queue
  std::map<std::pair<trace::CommType, size_t>, bool> max_root;  ///< per type and dimension: the next tree
  std::vector<Recipe> recipes;
  int64_t next_stream = 0;
  int64_t next_priority = 0;
  absl::flat_hash_map<StringId, int64_t> next_group_stream;
};

struct Collectives {
  Members everyone;
  std::map<std::string, Members, std::less<>> groups;  ///< groups in use
  std::vector<RankQueues> ranks;
  Pool<Call> calls;
  Pool<Stream> streams;
  uint64_t next_order = 0;
  size_t queues_per_dim = 1;
  int64_t most_running = 1;  ///< per queue
  Picoseconds endpoint_delay = 0;
};

/// Must be called before the first rank is added.
void prepare_collectives(Run& run, uint32_t ranks);
/// Start a collective. Errors: those of find_recipe, sim.compat.custom, sim.compat.peer.
Result<void> start_collective(Run& run, uint32_t r, trace::NodeId n);
/// End the stream's phase: continue in the next dimension, or end the stream.
void end_phase(Run& run, uint32_t stream);

}  // namespace chakra::astra
