// The work of one rank in one phase of one chunk, by ASTRA-sim's rules (docs/reference/compat.md, 4): state
// machines that turn events into actions. The machines know places in a line of ranks, but neither ranks nor time.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "chakra/trace/trace.h"

namespace chakra::astra {

enum class AlgorithmKind : uint8_t { packets, halving_doubling, tree };

/// A name in the lists of the system file.
struct Algorithm {
  AlgorithmKind kind = AlgorithmKind::packets;
  bool one_line = false;  ///< "oneRing", ...: all ranks in one line, regardless of dimensions
  bool direct = false;    ///< packets go to all other places in turn, not only to the next
  int64_t window = 0;     ///< of direct; 0: the number of other places
};
/// Return the algorithm, or no value for a name unknown to ASTRA-sim.
std::optional<Algorithm> algorithm_named(std::string_view name);

/// Return the next or the previous place of a line that is closed to a ring.
uint32_t neighbour(uint32_t place, uint32_t places, bool forward);
/// Return the bytes of each message if `bytes` enter a phase of n places, of a ring or direct.
uint64_t message_bytes(trace::CommType type, uint32_t n, uint64_t bytes);
/// Return the steps of a ring of n places; and whether data received in a step (from 1) is reduced.
int64_t ring_steps(trace::CommType type, uint32_t n);
bool ring_reduces(trace::CommType type, uint32_t n, int64_t step);

struct Action {
  enum class Kind : uint8_t {
    bundle,   ///< wait for the endpoint, and for the reduction of `bytes` if data is reduced
    send,     ///< to `peer`
    receive,  ///< from `peer`
    end,      ///< of the phase
  } kind;
  uint32_t peer = 0;
  uint64_t bytes = 0;
  bool reduces = false;
};
using Actions = absl::InlinedVector<Action, 4>;

/// Call start() once, then bundle_done() and received() for each requested
/// bundle and message, until an end is returned. All functions append to `out`.
class Phase {
 public:
  /// The place `self` of a line of `places` (two or more; a power of two for halving
  /// doubling and trees); `bytes` of data enter. `whole`: the line is all ranks of a
  /// dimension, not a group of the file. `max_root`: selects one of the two trees.
  Phase(const Algorithm& algorithm, trace::CommType type, uint32_t self, uint32_t places, uint64_t bytes,
        bool clockwise, bool whole, bool max_root);

  void start(Actions& out);
  void bundle_done(Actions& out);
  void received(Actions& out);

  /// For rings: return whether no message was sent yet.
  bool untouched() const { return sends_left_ == ring_steps(type_, places_); }

 private:
  // Packets: ring, direct, halving doubling.
  void insert(Actions& out);
  void send_one(Actions& out);
  void next_peer();

  // The tree.
  void tree_start(Actions& out);
  void tree_bundle_done(Actions& out);
  void tree_received(Actions& out);
  void find_tree_neighbours(bool max_root);

  struct Packet {
    uint32_t to, from;
    uint64_t bytes;
  };
  static constexpr uint32_t kNobody = UINT32_MAX;

  Algorithm algorithm_;
  trace::CommType type_;
  uint32_t self_, places_;
  bool clockwise_;
  uint64_t message_ = 0;
  int64_t sends_left_ = 0, received_ = 0;
  int64_t parallel_ = 1;           ///< bundles in progress at a time
  int64_t reducing_length_ = 0;    ///< packets after the first `parallel_`, per cycle
  int64_t plain_ = 0, later_ = 0;  ///< left in the cycle: packets without reduction, packets that may reduce
  bool odd_cycle_ = false;
  int64_t free_ = 0;  ///< bundles that are done and have not sent yet
  uint32_t to_ = 0, from_ = 0;
  absl::InlinedVector<Packet, 2> packets_;  ///< in order; packets before next_ are sent
  size_t next_ = 0;
  uint64_t distance_ = 1;  ///< halving doubling
  bool growing_ = false;

  uint32_t parent_ = kNobody, left_ = kNobody, right_ = kNobody;
  int64_t bundles_ = 0;  ///< tree: done so far
};

}  // namespace chakra::astra
