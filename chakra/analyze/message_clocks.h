// Clocks of ranks without common collectives, from messages: no receive ends before the matching send begins.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace chakra::analyze {

class MessageClocks {
 public:
  /// Add a bound of the difference of two clocks. `later_ns`: end of a receive on the clock of the receiver, minus
  /// begin of the send on the clock of the sender.
  void add(uint32_t sender, uint32_t receiver, double later_ns);
  bool empty() const { return to_.empty(); }

  /// Difference between a clock and the reference.
  struct Offset {
    bool known = false, this_tree = false;  ///< known at all; known relative to the current reference
    double ns = 0;
  };
  struct Told {
    uint32_t rank = 0;
    uint32_t like = 0, other = 0;  ///< known ranks that bound the clock: the rank taken as equal, and the other rank
    double offset_ns = 0, uncertainty_ns = 0;  ///< without the uncertainty of both clocks: the caller adds the larger
    int64_t messages = 0;                      ///< with other ranks
  };
  /// Return the rank without a known offset that messages bound best from both sides. `offsets` has all ranks. A bound
  /// may pass through other ranks, as in a ring. Clocks that may be equal are taken as equal, others as in the middle.
  /// Cost: O(pairs of ranks that sent), more where clocks differ.
  std::optional<Told> next(std::span<const Offset> offsets) const;

 private:
  struct Bound {
    double least_ns = 0;
    int64_t messages = 0;
  };
  using Bounds = std::map<std::pair<uint32_t, uint32_t>, Bound>;
  struct Reached {
    double ns;
    uint32_t from;  ///< a rank with a known offset
    int visits = 0;
  };
  static std::vector<Reached> reach(const Bounds& bounds, std::span<const Offset> offsets, double sign);

  Bounds to_, from_;  ///< by sender and receiver; by receiver and sender
};

}  // namespace chakra::analyze
