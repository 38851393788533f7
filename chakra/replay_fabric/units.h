// The units of a plan (coll.h, Move) in one member's memory: location of each
// unit, conversion of the operation's input to units and of units to its output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/replay/replay.h"

namespace chakra::replay_fabric {

/// Layout of a plan's units.
struct UnitLayout {
  uint64_t units = 0, unit_bytes = 0;
  /// Member p of the plan is member order[p] of the operation; empty: member p.
  std::vector<uint32_t> order;
  std::vector<uint64_t> splits;  ///< of all-to-all with uneven splits: bytes of each unit

  uint32_t member(uint32_t p) const { return order.empty() ? p : order[p]; }
  uint64_t bytes(uint64_t unit) const { return splits.empty() ? unit_bytes : splits[unit]; }
};

class Units {
 public:
  /// Copy the input into units. `operation` and `layout` must outlive the object.
  /// Requires a collective other than barrier. O(bytes + units of all-to-all).
  Units(const replay::Operation& operation, const UnitLayout& layout);

  /// Return the bytes of a unit; units of all-to-alls get separate memory at first use.
  std::span<std::byte> at(uint64_t unit);
  /// Append the bytes of the move's units; consecutive units form one piece.
  void pieces_of(const coll::Move& move, std::vector<std::span<std::byte>>& pieces);
  /// Copy the result of the operation to its output. Averages are divided.
  void deliver();

 private:
  uint32_t n() const { return static_cast<uint32_t>(operation_.members.size()); }
  bool all_to_all() const { return operation_.type == trace::CommType::all_to_all; }
  bool gathers() const;
  std::byte* block(uint32_t member) { return whole_.data() + uint64_t{member} * per_member_ * layout_.unit_bytes; }
  void work_in(uint64_t bytes);
  void exchange(bool from_input);

  const replay::Operation& operation_;
  const UnitLayout& layout_;
  uint64_t per_member_ = 0;     ///< units per member, for types with such units; of all-to-alls units per pair
  std::span<std::byte> whole_;  ///< all units except of all-to-alls: memory of the operation, or own_
  std::unique_ptr<std::byte[]> own_;
  std::vector<std::unique_ptr<std::byte[]>> parts_;  ///< of all-to-alls, by unit
};

}  // namespace chakra::replay_fabric
