// Clocks of ranks that no collective connects, told by messages: no receive ends before its send begins.
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
  /// By how much the receiver's clock shows the end of a receive later than the sender's shows the begin of its send:
  /// the clocks differ by no more.
  void add(uint32_t sender, uint32_t receiver, double later_ns);
  bool empty() const { return to_.empty(); }

  /// What one clock shows more than the reference.
  struct Offset {
    bool known = false, this_tree = false;  ///< whether it is known, and against the reference that is asked about
    double ns = 0;
  };
  struct Told {
    uint32_t rank = 0;
    uint32_t like = 0, other = 0;  ///< known ranks whose clocks bound it: the one it is taken to be like, the other one
    double offset_ns = 0, uncertainty_ns = 0;  ///< more by what the worse of those two clocks is uncertain by
    int64_t messages = 0;                      ///< with other ranks
  };
  /// Of the ranks whose offset is not known, the one that messages bound best from both sides, where `offsets` has all
  /// ranks. A bound may go by way of other ranks, as in a ring. Clocks that may be equal are taken as equal, else
  /// the middle is taken. Cost: O(pairs of ranks that sent), more where clocks differ.
  std::optional<Told> next(std::span<const Offset> offsets) const;

 private:
  struct Bound {
    double least_ns = 0;
    int64_t messages = 0;
  };
  using Bounds = std::map<std::pair<uint32_t, uint32_t>, Bound>;
  struct Reached {
    double ns;
    uint32_t from;  ///< a rank whose offset is known
    int visits = 0;
  };
  static std::vector<Reached> reach(const Bounds& bounds, std::span<const Offset> offsets, double sign);

  Bounds to_, from_;  ///< by sender and receiver; by receiver and sender
};

}  // namespace chakra::analyze
