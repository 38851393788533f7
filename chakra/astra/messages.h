// Messages: matching (docs/reference/compat.md, 5) and travel time (1).
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/base/pool.h"
#include "chakra/net/net.h"
#include "chakra/trace/trace.h"

namespace chakra::astra {

struct Run;

constexpr int64_t kMessageTags = 500'000'000;

/// Messages match by (tag, sender, receiver, size) and order.
struct Channel {
  int64_t tag = 0;
  uint32_t from = 0, to = 0;
  uint64_t bytes = 0;
  bool request = false;  ///< for a message of this tag, in the other direction
  bool operator==(const Channel&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const Channel& c) {
    return H::combine(std::move(h), c.tag, c.from, c.to, c.bytes, c.request);
  }
};

/// Recipient of the end of a send or receive.
struct Party {
  enum class Kind : uint8_t { nobody, workload, phase, custom, receiver, sender } kind = Kind::nobody;
  uint32_t rank = 0;
  trace::NodeId node{0};  ///< of the workload or of the custom collective
  uint32_t stream = 0;    ///< of the phase or of the custom collective
  uint64_t number = 0;    ///< rendezvous: into askers, the arrived request; or into flights, the message to release
};

struct Traffic {
  absl::InlinedVector<Party, 1> receives;  ///< posted, before the arrival
  uint64_t arrived = 0;                    ///< arrived, before the receive was posted
};

struct Flight {
  Channel channel;
  Party sender;
  uint32_t at = 0;  ///< current device: a rank, or the switch, numbered after the ranks
};

struct Link {
  bool busy = false;
  size_t next = 0;                ///< of waiting: earlier entries have left
  std::vector<uint64_t> waiting;  ///< flights
};

struct Messages {
  absl::flat_hash_map<Channel, Traffic> traffic;
  Pool<Flight> flights;
  Pool<Party> parties;  ///< notified at once
  Pool<std::pair<Channel, Party>> askers;
  std::vector<Link> links;                           ///< two per rank, on a ring or a switch
  absl::flat_hash_map<uint64_t, Link> sparse_links;  ///< over all pairs of ranks: links in use
};

double bytes_per_ns(const net::Dimension& d);
/// Return the travel time without congestion. Between ranks that differ in several dimensions, only the lowest counts.
Picoseconds travel(Run& run, uint32_t from, uint32_t to, uint64_t bytes);

void send(Run& run, const Channel& channel, const Party& sender);
void receive(Run& run, const Channel& channel, const Party& receiver);
/// Start a send or receive of the workload or a custom collective. Errors: sim.compat.peer.
Result<void> start_peer_to_peer(Run& run, const trace::Trace& t, trace::NodeId n, uint32_t r, int64_t tag,
                                const Party& party);
Result<void> start_message(Run& run, uint32_t r, trace::NodeId n);

void tell(Run& run, const Party& party);
void arrival(Run& run, uint64_t flight);
/// With congestion.
void hop_done(Run& run, uint64_t flight);
void link_free(Run& run, uint64_t link);

}  // namespace chakra::astra
